/* The walk over a configuration file (target/config_read.c): every mistake is reported with its
 * line, its key, and what would be right. */
#include "tests/unit/target/config_kit.h"

static void one_mistake_is_told_once(void **state)
{
	struct config_report report = {0};
	struct config *c = NULL;
	static const char text[] = "targets:\n- name: iqn.2026-11.org.iseran:a\n  luns:\n"
				   "  - {lun: 0, backend: memory, size: 1X}\n";

	(void)state;
	assert_int_equal(-EINVAL, config_parse("f", NULL, text, strlen(text), &report, &c));
	assert_int_equal(1, report.errors);
	config_report_free(&report);
}

static void one_portal_may_stand_alone(void **state)
{
	struct config *c = parse("portals: 127.0.0.1:0\n");

	(void)state;
	assert_int_equal(c->portals.count, 1);
	config_release(c);
}

static void every_mistake_is_reported_with_its_line(void **state)
{
	(void)state;
	COMPLAINS("potals: '*:3260'\n"
		  "loops: many\n"
		  "targets:\n"
		  "- name: not a name\n"
		  "  luns:\n"
		  "  - {lun: 16384, path: /a}\n"
		  "  - lun: 1\n"
		  "    backend: memory\n",
		"f:1: potals: there is no such key; did you mean \"portals\"?",
		"f:2: loops: \"many\" is not right; a number from 0 to 256",
		"f:6: targets[0].luns[0].lun: \"16384\" is not right; a number from 0 to 16383",
		"f:7: targets[0].luns[1].size: this backend needs one", "f:4: targets[0].name: ");
}

static void a_missing_key_names_what_would_be_right(void **state)
{
	(void)state;
	COMPLAINS("targets:\n- luns: []\n", "f:2: targets[0].name: it is missing");
	COMPLAINS("targets:\n- name: iqn.2026-01.org.example:a\n  luns: [{lun: 0}]\n",
		"f:3: targets[0].luns[0].path: it is missing");
}

static void text_that_is_no_yaml_is_refused_with_its_line(void **state)
{
	(void)state;
	COMPLAINS("targets:\n  - name: [a\n", "f:3: column");
	COMPLAINS("\tloops: 1\n", "f:1: column");
	COMPLAINS("", "f: it is empty");
	COMPLAINS("[1, 2]\n", "f:1: a configuration must be a section");
	COMPLAINS("loops: [1]\n", "f:1: loops: a list or a section is here");
	COMPLAINS("? [a]\n: b\n", "f:1: a key must be a word");
}

static void a_second_document_is_refused_with_its_line(void **state)
{
	char text[300];

	(void)state;
	snprintf(text, sizeof(text), "%s---\nloops: 2\n", minimal);
	COMPLAINS(text, "f:5: a second document begins here");
	snprintf(text, sizeof(text), "%s---\n\tloops: 2\n", minimal);
	COMPLAINS(text, "f:6: column");
	/* one document may begin and end as YAML has it */
	snprintf(text, sizeof(text), "---\n%s...\n", minimal);
	config_release(parse(text));
}

static void a_structure_that_holds_itself_is_refused(void **state)
{
	(void)state;
	COMPLAINS("targets: &t\n- name: iqn.2026-01.org.example:a\n  luns: *t\n",
		"targets[0].luns[0].lun: it is missing",
		"targets[0].luns[0].name: there is no such key",
		"targets[0].luns[0].luns: there is no such key; did you mean \"lun\"?",
		"targets[0].luns[0].path: it is missing");
}

static void the_failure_of_every_allocation_is_survived(void **state)
{
	unsigned long live = alloc_live();
	int err = -1;

	(void)state;
	for (unsigned long n = 1; err != 0; n++) {
		struct config_report report = {0};
		struct config *c = NULL;

		alloc_fail_nth(n);
		err = config_parse("f", NULL, minimal, strlen(minimal), &report, &c);
		alloc_fail_nth(0);
		assert_true(err == 0 || err == -ENOMEM);
		config_report_free(&report);
		config_release(c);
		assert_int_equal(alloc_live(), live);
		assert_true(n < 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_mistake_is_told_once),
		cmocka_unit_test(one_portal_may_stand_alone),
		cmocka_unit_test(every_mistake_is_reported_with_its_line),
		cmocka_unit_test(a_missing_key_names_what_would_be_right),
		cmocka_unit_test(text_that_is_no_yaml_is_refused_with_its_line),
		cmocka_unit_test(a_second_document_is_refused_with_its_line),
		cmocka_unit_test(a_structure_that_holds_itself_is_refused),
		cmocka_unit_test(the_failure_of_every_allocation_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
