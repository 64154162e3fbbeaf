/* The set of targets: what a reload keeps, adds and removes, and that one which fails changes
 * nothing. */
#include "tests/unit/target/target_kit.h"

#include <errno.h>

static struct target_set *set;

static int open_or_fail(
	const struct config_lun *row, struct backend **ret, char *why, size_t why_size)
{
	if (row->product && !strcmp(row->product, "broken")) {
		snprintf(why, why_size, "it is broken");
		return -EIO;
	}
	/* A file has one writer: the store of a LUN that is exported already. */
	if (set && row->path) {
		snprintf(why, why_size, "%s: it is already in use", row->path);
		return -EBUSY;
	}
	return kit_open(row, ret, why, why_size);
}

static void start(const char *text)
{
	struct config_report report = {0};
	struct config *c = kit_config(text);

	assert_int_equal(target_set_new(c, 2, open_or_fail, &report, &set), 0);
	config_release(c);
}

static int reload(const char *text, struct config_report *report)
{
	struct config *c = kit_config(text);
	int err = target_set_reload(set, c, report);

	config_release(c);
	return err;
}

static int teardown(void **state)
{
	(void)state;
	target_set_free(set);
	set = NULL;
	return 0;
}

#define NAME "iqn.2026-01.org.example:"

static void a_target_is_found_by_its_name_in_any_case(void **state)
{
	struct tgt_target *t;

	(void)state;
	start("targets: [{name: '" NAME "a'}]\n");
	t = target_set_find(set, "IQN.2026-01.org.example:A");
	assert_non_null(t);
	assert_string_equal(t->name, NAME "a");
	tgt_target_release(t);
	assert_null(target_set_find(set, NAME "b"));
}

static void a_lun_that_did_not_change_is_kept(void **state)
{
	struct config_report report = {0};
	struct tgt_lun *zero, *one;
	struct tgt_target *t;

	(void)state;
	start("targets:\n- name: " NAME "a\n  luns:\n"
	      "  - {lun: 0, backend: memory, size: 1M}\n"
	      "  - {lun: 1, backend: memory, size: 1M}\n");
	t = target_set_find(set, NAME "a");
	zero = t->luns[0];
	one = tgt_lun_hold(t->luns[1]);
	assert_int_equal(reload("targets:\n- name: " NAME "a\n  luns:\n"
				"  - {lun: 0, backend: memory, size: 1M}\n"
				"  - {lun: 1, backend: memory, size: 2M}\n"
				"  - {lun: 2, backend: memory, size: 1M}\n",
				 &report),
		0);
	assert_int_equal(t->lun_count, 3);
	assert_ptr_equal(t->luns[0], zero);
	assert_ptr_not_equal(t->luns[1], one);
	assert_true(atomic_load(&one->removed));
	assert_false(atomic_load(&zero->removed));
	tgt_lun_release(one);
	tgt_target_release(t);
}

static void a_target_that_is_gone_stays_for_those_who_hold_it(void **state)
{
	struct config_report report = {0};
	struct tgt_target *t;

	(void)state;
	start("targets: [{name: '" NAME "a'}, {name: '" NAME "b'}]\n");
	t = target_set_find(set, NAME "a");
	assert_int_equal(reload("targets: [{name: '" NAME "b'}]\n", &report), 0);
	assert_true(atomic_load(&t->removed));
	assert_null(t->row);
	assert_null(target_set_find(set, NAME "a"));
	tgt_target_release(t);
}

static void a_reload_that_fails_reports_everything_and_changes_nothing(void **state)
{
	struct config_report report = {0};
	struct tgt_target *t;

	(void)state;
	start("targets:\n- name: " NAME "a\n  luns: [{lun: 0, backend: memory, size: 1M}]\n");
	assert_int_equal(reload("targets:\n- name: " NAME "b\n  luns:\n"
				"  - {lun: 0, backend: memory, size: 1M, product: broken}\n"
				"  - {lun: 1, backend: memory, size: 1M}\n"
				"  - {lun: 2, backend: memory, size: 1M, product: broken}\n",
				 &report),
		-EINVAL);
	assert_int_equal(report.count, 2);
	assert_string_equal(report.lines[0], "f:4: " NAME "b, LUN 0: it is broken");
	assert_string_equal(report.lines[1], "f:6: " NAME "b, LUN 2: it is broken");
	config_report_free(&report);
	t = target_set_find(set, NAME "a");
	assert_non_null(t);
	assert_int_equal(t->lun_count, 1);
	assert_false(atomic_load(&t->luns[0]->removed));
	tgt_target_release(t);
	assert_null(target_set_find(set, NAME "b"));
}

static void a_file_whose_other_keys_have_changed_is_told_apart(void **state)
{
	struct config_report report = {0};

	(void)state;
	start("targets:\n- name: " NAME "a\n  luns:\n"
	      "  - {lun: 0, path: /x, size: 1M}\n"
	      "  - {lun: 1, path: /y, size: 1M}\n");
	assert_int_equal(reload("targets:\n- name: " NAME "a\n  luns:\n"
				"  - {lun: 0, path: /x, size: 1M, write_cache: false}\n"
				"  - {lun: 1, path: /z, size: 1M}\n",
				 &report),
		-EINVAL);
	assert_int_equal(report.count, 2);
	assert_string_equal(report.lines[0],
		"f:4: " NAME "a, LUN 0: its keys cannot change while it is exported: take it out, "
		"reload, and put it in again");
	assert_string_equal(report.lines[1], "f:5: " NAME "a, LUN 1: /z: it is already in use");
	config_report_free(&report);
}

static void the_failure_of_every_allocation_is_survived(void **state)
{
	static const char text[] = "targets:\n- name: " NAME "a\n  luns:\n"
				   "  - {lun: 0, backend: memory, size: 1M}\n"
				   "  - {lun: 1, backend: memory, size: 2M}\n";
	unsigned long live;
	int err = -1;

	(void)state;
	start("targets:\n- name: " NAME "a\n  luns: [{lun: 0, backend: memory, size: 1M}]\n");
	live = alloc_live();
	for (unsigned long n = 1; err < 0; n++) {
		struct config_report report = {0};
		struct config *c = kit_config(text);

		alloc_fail_nth(n);
		err = target_set_reload(set, c, &report);
		alloc_fail_nth(0);
		config_release(c);
		config_report_free(&report);
		if (err < 0)
			assert_int_equal(alloc_live(), live);
		assert_true(n < 200);
	}
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_target_is_found_by_its_name_in_any_case),
		TEST(a_lun_that_did_not_change_is_kept),
		TEST(a_target_that_is_gone_stays_for_those_who_hold_it),
		TEST(a_reload_that_fails_reports_everything_and_changes_nothing),
		TEST(a_file_whose_other_keys_have_changed_is_told_apart),
		TEST(the_failure_of_every_allocation_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
