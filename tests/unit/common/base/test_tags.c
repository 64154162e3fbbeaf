/* Tag tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "common/base/alloc.h"
#include "common/base/tags.h"

static int objects[16];

static void tag_finds_its_object_until_it_is_removed(void **state)
{
	struct tags *t = tags_new(4, 8);
	uint32_t a = 0, b = 0;

	(void)state;
	assert_int_equal(0, tags_add(t, &objects[0], &a));
	assert_int_equal(0, tags_add(t, &objects[1], &b));
	assert_int_not_equal(a, b);
	assert_ptr_equal(&objects[0], tags_find(t, a));
	assert_ptr_equal(&objects[1], tags_find(t, b));
	assert_int_equal(2, tags_count(t));
	assert_ptr_equal(&objects[0], tags_remove(t, a));
	assert_null(tags_find(t, a));
	assert_null(tags_remove(t, a));
	assert_int_equal(1, tags_count(t));
	tags_free(t);
}

static void stale_tag_does_not_find_what_took_its_place(void **state)
{
	struct tags *t = tags_new(1, 4);
	uint32_t first, next;

	(void)state;
	assert_int_equal(0, tags_add(t, &objects[0], &first));
	tags_remove(t, first);
	for (int i = 0; i < 15; i++) {
		assert_int_equal(0, tags_add(t, &objects[1], &next));
		assert_int_not_equal(first, next);
		assert_null(tags_find(t, first));
		assert_ptr_equal(&objects[1], tags_remove(t, next));
	}
	tags_free(t);
}

static void places_are_reused_in_turn(void **state)
{
	struct tags *t = tags_new(3, 8);
	uint32_t a, b, c;

	(void)state;
	tags_add(t, &objects[0], &a);
	tags_remove(t, a);
	tags_add(t, &objects[0], &b);
	tags_remove(t, b);
	tags_add(t, &objects[0], &c);
	assert_int_not_equal(a >> 8, b >> 8);
	assert_int_not_equal(b >> 8, c >> 8);
	assert_int_not_equal(a >> 8, c >> 8);
	tags_free(t);
}

static void full_table_takes_no_more(void **state)
{
	struct tags *t = tags_new(2, 1);
	uint32_t a, b, c = 77;

	(void)state;
	assert_int_equal(0, tags_add(t, &objects[0], &a));
	assert_int_equal(0, tags_add(t, &objects[1], &b));
	assert_int_equal(-ENOSPC, tags_add(t, &objects[2], &c));
	assert_int_equal(77, c);
	tags_remove(t, a);
	assert_int_equal(0, tags_add(t, &objects[2], &c));
	assert_ptr_equal(&objects[1], tags_find(t, b));
	tags_free(t);
}

static void hostile_tags_find_nothing(void **state)
{
	struct tags *t = tags_new(65534, 16);
	uint32_t tag;

	(void)state;
	for (uint32_t i = 0; i < 65534; i++) {
		assert_int_equal(0, tags_add(t, &objects[0], &tag));
		assert_int_not_equal(0, tag);
		assert_int_not_equal(0xffffffff, tag);
	}
	assert_null(tags_find(t, 0));
	assert_null(tags_find(t, 0xffff));
	assert_null(tags_find(t, 0xffffffff));
	assert_null(tags_find(t, 0xffff0000));
	assert_null(tags_find(t, 0x00010000));
	assert_null(tags_find(t, 0x00010002));
	tags_free(t);
}

static void impossible_tables_are_refused(void **state)
{
	(void)state;
	assert_null(tags_new(0, 8));
	assert_null(tags_new(1, 0));
	assert_null(tags_new(1, 17));
	assert_null(tags_new(65535, 16));
	alloc_fail_nth(1);
	assert_null(tags_new(1, 8));
	tags_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tag_finds_its_object_until_it_is_removed),
		cmocka_unit_test(stale_tag_does_not_find_what_took_its_place),
		cmocka_unit_test(places_are_reused_in_turn),
		cmocka_unit_test(full_table_takes_no_more),
		cmocka_unit_test(hostile_tags_find_nothing),
		cmocka_unit_test(impossible_tables_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
