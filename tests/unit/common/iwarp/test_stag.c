/* STags: who may reach what, and for how long. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/iwarp/stag.h"

static int mine, others;
static uint8_t memory[256];

static int setup(void **state)
{
	*state = stag_table_new(128);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	stag_table_free(*state);
	return alloc_live() ? -1 : 0;
}

static enum stag_verdict check(struct stag_table *t, uint32_t stag, uint64_t to, uint32_t length)
{
	uint8_t *data = NULL;

	return stag_check(t, &mine, stag, STAG_REMOTE_READ, to, length, &data);
}

static void bounds_are_kept(void **state)
{
	struct stag_table *t = *state;
	uint32_t stag;
	uint64_t to;
	uint8_t *data = NULL;

	assert_int_equal(stag_add(t, &mine, memory, 100, STAG_REMOTE_READ, &stag, &to), 0);
	assert_int_equal(stag_check(t, &mine, stag, STAG_REMOTE_READ, to + 10, 90, &data), STAG_OK);
	assert_ptr_equal(data, memory + 10);
	assert_int_equal(check(t, stag, to, 100), STAG_OK);
	assert_int_equal(check(t, stag, to + 100, 0), STAG_OK);
	assert_int_equal(check(t, stag, to, 101), STAG_OUT_OF_BOUNDS);
	assert_int_equal(check(t, stag, to + 99, 2), STAG_OUT_OF_BOUNDS);
	assert_int_equal(check(t, stag, to - 1, 1), STAG_OUT_OF_BOUNDS);
	assert_int_equal(check(t, stag, to + 101, 0), STAG_OUT_OF_BOUNDS);
	assert_int_equal(check(t, stag, UINT64_MAX, 2), STAG_WRAPS);
}

static void rights_and_domain_are_kept(void **state)
{
	struct stag_table *t = *state;
	uint32_t stag;
	uint64_t to;
	uint8_t *data;

	stag_add(t, &mine, memory, 100, STAG_REMOTE_READ, &stag, &to);
	assert_int_equal(
		stag_check(t, &mine, stag, STAG_REMOTE_WRITE, to, 1, &data), STAG_FORBIDDEN);
	assert_int_equal(
		stag_check(t, &others, stag, STAG_REMOTE_READ, to, 1, &data), STAG_FOREIGN);
	assert_int_equal(stag_remove(t, &others, stag), -ENOENT);
	assert_int_equal(check(t, stag, to, 1), STAG_OK);
}

static void revoked_tag_is_unknown_and_its_key_changes(void **state)
{
	struct stag_table *t = *state;
	uint32_t stag, first = 0;
	uint64_t to;

	for (int i = 0; i < 128 * 300; i++) {
		stag_add(t, &mine, memory, 100, STAG_REMOTE_READ, &stag, &to);
		assert_int_not_equal(stag, first);
		assert_int_not_equal(stag, 0);
		if (!i)
			first = stag;
		assert_int_equal(stag_remove(t, &mine, stag), 0);
		assert_int_equal(check(t, stag, to, 1), STAG_UNKNOWN);
		assert_int_equal(stag_remove(t, &mine, stag), -ENOENT);
		if (i == 64 * 200)
			break; /* an 8-bit key comes round once after 64 * 256 uses */
	}
}

/* iSER takes it for "none". An 8-bit key has come round by then, at 64 places and more. */
static void tag_0_is_never_given(void **state)
{
	struct stag_table *t = *state;
	uint32_t stag;
	uint64_t to;

	for (int i = 0; i < 65 * 257; i++) {
		assert_int_equal(stag_add(t, &mine, memory, 100, STAG_REMOTE_READ, &stag, &to), 0);
		assert_int_not_equal(stag, 0);
		assert_int_equal(check(t, stag, to, 1), STAG_OK);
		assert_int_equal(stag_remove(t, &mine, stag), 0);
	}
}

static void full_table_says_so(void **state)
{
	struct stag_table *t = *state;
	uint32_t stags[128], more;
	uint64_t to;

	for (int i = 0; i < 128; i++)
		assert_int_equal(
			stag_add(t, &mine, memory, 1, STAG_REMOTE_READ, &stags[i], &to), 0);
	assert_int_equal(stag_add(t, &mine, memory, 1, STAG_REMOTE_READ, &more, &to), -ENOSPC);
	assert_int_equal(stag_remove(t, &mine, stags[7]), 0);
	assert_int_equal(stag_add(t, &others, memory, 1, STAG_REMOTE_READ, &more, &to), 0);
	assert_int_equal(more >> 8, stags[7] >> 8);
	assert_int_equal(stag_table_count(t), 128);
	stag_remove_all(t, &mine);
	assert_int_equal(stag_table_count(t), 1);
	stag_remove_all(t, &others);
	assert_int_equal(stag_table_count(t), 0);
}

static void numbers_never_given_are_unknown(void **state)
{
	static const uint32_t guesses[] = {0, 1, 0x100, 0xffffffff, 0x80000000, 0x7fffff01};

	for (unsigned i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++)
		assert_int_equal(check(*state, guesses[i], 0, 1), STAG_UNKNOWN);
}

static void no_memory_for_a_table(void **state)
{
	(void)state;
	alloc_fail_nth(1);
	assert_null(stag_table_new(4));
	alloc_fail_nth(0);
	assert_null(stag_table_new(0));
	assert_null(stag_table_new(STAG_CAPACITY_MAX + 1));
	stag_table_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bounds_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(rights_and_domain_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(
			revoked_tag_is_unknown_and_its_key_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(tag_0_is_never_given, setup, teardown),
		cmocka_unit_test_setup_teardown(full_table_says_so, setup, teardown),
		cmocka_unit_test_setup_teardown(numbers_never_given_are_unknown, setup, teardown),
		cmocka_unit_test(no_memory_for_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
