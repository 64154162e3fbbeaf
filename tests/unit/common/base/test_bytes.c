/* Fields, cursors and lists: what every decoder relies on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/base/list.h"

static void fields_are_big_endian(void **state)
{
	static const uint8_t wire[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	uint8_t out[8];

	(void)state;
	assert_int_equal(0x0102, get_be16(wire));
	assert_int_equal(0x010203, get_be24(wire));
	assert_int_equal(0x01020304, get_be32(wire));
	assert_int_equal(0x0102030405060708, get_be64(wire));
	assert_int_equal(0x04030201, get_le32(wire));
	put_be64(out, 0x0102030405060708);
	assert_memory_equal(wire, out, 8);
	put_be32(out, 0x01020304);
	put_be24(out + 4, 0x050607);
	assert_memory_equal(wire, out, 7);
	put_be16(out, 0x0102);
	assert_memory_equal(wire, out, 2);
	put_le32(out, 0x04030201);
	assert_memory_equal(wire, out, 4);
}

static void reading_past_the_end_moves_nothing_and_is_remembered(void **state)
{
	static const uint8_t wire[5] = {1, 2, 3, 4, 5};
	struct bytes_reader r = bytes_reader(wire, sizeof(wire));

	(void)state;
	assert_int_equal(0x01020304, bytes_read_be32(&r));
	assert_false(r.short_read);
	assert_int_equal(0, bytes_read_be16(&r));
	assert_true(r.short_read);
	assert_int_equal(1, r.left);
	assert_int_equal(5, bytes_read_u8(&r));
	assert_null(bytes_read(&r, SIZE_MAX));
	assert_int_equal(0, bytes_read_be64(&r));
}

static void writing_past_the_end_writes_nothing_and_is_remembered(void **state)
{
	uint8_t out[6] = {0};
	struct bytes_writer w = bytes_writer(out, 5);

	(void)state;
	bytes_write_be32(&w, 0x01020304);
	bytes_write_be16(&w, 0x0506);
	assert_true(w.overflow);
	assert_int_equal(4, w.used);
	bytes_write_u8(&w, 9);
	assert_memory_equal(((uint8_t[]){1, 2, 3, 4, 9, 0}), out, 6);
	assert_null(bytes_reserve(&w, SIZE_MAX));
	bytes_write_be64(&w, 1);
	assert_int_equal(5, w.used);
}

struct item {
	int value;
	struct list link;
};

static int sum(struct list *head)
{
	struct item *item;
	int digits = 0;

	list_for_each(item, head, link)
		digits = digits * 10 + item->value;
	return digits;
}

static void lists_keep_their_order(void **state)
{
	struct item items[5] = {
		{.value = 1}, {.value = 2}, {.value = 3}, {.value = 4}, {.value = 5}};
	struct list a, b;

	(void)state;
	list_init(&a);
	list_init(&b);
	assert_null(list_pop(&a));
	list_append(&a, &items[1].link);
	list_append(&a, &items[2].link);
	list_prepend(&a, &items[0].link);
	list_append(&b, &items[3].link);
	list_append(&b, &items[4].link);
	assert_int_equal(123, sum(&a));
	list_splice(&a, &b);
	assert_int_equal(12345, sum(&a));
	assert_true(list_empty(&b));
	list_splice(&a, &b);
	list_remove(&items[2].link);
	list_remove(&items[2].link);
	assert_int_equal(1245, sum(&a));
	assert_ptr_equal(&items[0].link, list_pop(&a));
	assert_int_equal(245, sum(&a));
}

static void list_may_be_emptied_while_it_is_walked(void **state)
{
	struct item items[3] = {{.value = 1}, {.value = 2}, {.value = 3}};
	struct item *item, *next;
	struct list a;
	int seen = 0;

	(void)state;
	list_init(&a);
	for (int i = 0; i < 3; i++)
		list_append(&a, &items[i].link);
	list_for_each_safe(item, next, &a, link) {
		seen = seen * 10 + item->value;
		list_remove(&item->link);
	}
	assert_int_equal(123, seen);
	assert_true(list_empty(&a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_big_endian),
		cmocka_unit_test(reading_past_the_end_moves_nothing_and_is_remembered),
		cmocka_unit_test(writing_past_the_end_writes_nothing_and_is_remembered),
		cmocka_unit_test(lists_keep_their_order),
		cmocka_unit_test(list_may_be_emptied_while_it_is_walked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
