/* The configuration file: what is right is read as it says, and every mistake is reported with its
 * line, its key, and what would be right. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "target/config.h"

static const char minimal[] = "targets:\n"
			      "- name: iqn.2026-01.org.example:disk\n"
			      "  luns:\n"
			      "  - {lun: 0, path: /srv/disk.img}\n";

static struct config *parse(const char *text)
{
	struct config_report report = {0};
	struct config *c = NULL;

	assert_int_equal(config_parse("f", NULL, text, strlen(text), &report, &c), 0);
	assert_int_equal(report.errors, 0);
	config_report_free(&report);
	return c;
}

/* Every line of `expected` (ended by NULL) is in the report, in that order, and no other. */
static void complains(const char *text, const char *const *expected)
{
	struct config_report report = {0};
	struct config *c = NULL;
	size_t i;

	assert_int_equal(config_parse("f", NULL, text, strlen(text), &report, &c), -EINVAL);
	assert_null(c);
	for (i = 0; expected[i] && i < report.count; i++)
		if (!strstr(report.lines[i], expected[i]))
			fail_msg("\"%s\" does not say \"%s\"", report.lines[i], expected[i]);
	if (expected[i])
		fail_msg("nobody says \"%s\"", expected[i]);
	if (i < report.count)
		fail_msg("unexpected: %s", report.lines[i]);
	config_report_free(&report);
}

#define COMPLAINS(text, ...) complains(text, (const char *const[]){__VA_ARGS__, NULL})

static void absent_keys_have_their_defaults(void **state)
{
	struct config *c = parse(minimal);
	const struct config_target *t = &config_item(c->targets, struct config_target, 0);
	const struct config_lun *l = &config_item(t->luns, struct config_lun, 0);

	(void)state;
	assert_int_equal(c->portals.count, 0);
	assert_int_equal(c->queue_depth, 128);
	assert_int_equal(c->login_timeout_ns, 15000000000ull);
	assert_int_equal(c->arena_size, 64 << 20);
	assert_int_equal(t->initiators.count, 0);
	assert_null(t->chap);
	assert_int_equal(l->backend, CONFIG_STORE_FILE);
	assert_string_equal(l->path, "/srv/disk.img");
	assert_true(l->write_cache);
	assert_false(l->readonly);
	config_release(c);
}

/* A line that a terminal shows is one line, and does not change its colours. */
static void complaints_have_no_control_characters(void **state)
{
	(void)state;
	COMPLAINS("\"a\\e[31m\\nb\": 1\n", "f:1: a?[31m?b: there is no such key");
}

static void every_kind_of_value_is_read(void **state)
{
	struct config *c =
		parse("portals: ['192.0.2.1', '[2001:db8::1]:3261', '*:0']\n"
		      "loops: 3\n"
		      "busy_poll: 50us\n"
		      "ping_interval: 5\n"
		      "log_level: debug\n"
		      "data_digest: crc32c\n"
		      "targets:\n"
		      "- name: iqn.2026-01.org.example:a\n"
		      "  alias: Disks of A\n"
		      "  chap: {name: joe, secret: 'twelve chars', algorithms: [sha256, md5],\n"
		      "         mutual: {name: target, secret: another twelve}}\n"
		      "  initiators:\n"
		      "  - iqn.1993-08.org.debian:01:*\n"
		      "  - name: iqn.2026-01.org.example:host\n"
		      "    luns: [7]\n"
		      "  luns:\n"
		      "  - {lun: 16383, backend: memory, size: 64M, block_size: 4K}\n"
		      "  - lun: 7\n"
		      "    backend: null\n"
		      "    size: 1T\n"
		      "    readonly: yes\n"
		      "    delay: {read: 5ms}\n"
		      "    fault: [{operation: write, from: 4K, to: 8K, error: ENOSPC}]\n");
	const struct config_target *t = &config_item(c->targets, struct config_target, 0);
	const struct config_lun *seven = &config_item(t->luns, struct config_lun, 0);
	const struct config_initiator *host =
		&config_item(t->initiators, struct config_initiator, 1);

	(void)state;
	assert_int_equal(c->portals.count, 3);
	assert_string_equal(
		config_item(c->portals, struct config_word, 1).word, "[2001:db8::1]:3261");
	assert_int_equal(c->loops, 3);
	assert_int_equal(c->busy_poll_ns, 50000);
	assert_int_equal(c->ping_interval_ns, 5000000000ull);
	assert_int_equal(c->data_digest, CONFIG_DIGEST_CRC32C);
	assert_string_equal(t->alias, "Disks of A");
	assert_string_equal(t->chap->secret, "twelve chars");
	assert_string_equal(t->chap->mutual->name, "target");
	assert_string_equal(config_item(t->chap->algorithms, struct config_word, 1).word, "md5");
	assert_string_equal(config_item(t->initiators, struct config_initiator, 0).name,
		"iqn.1993-08.org.debian:01:*");
	assert_int_equal(config_item(host->luns, struct config_number, 0).number, 7);
	/* LUNs are sorted. */
	assert_int_equal(seven->lun, 7);
	assert_int_equal(seven->backend, CONFIG_STORE_NULL);
	assert_int_equal(seven->size, 1ull << 40);
	assert_true(seven->readonly);
	assert_int_equal(seven->delay->read, 5000000);
	assert_int_equal(
		config_fault_errno(config_item(seven->faults, struct config_fault, 0).error),
		ENOSPC);
	assert_int_equal(config_item(t->luns, struct config_lun, 1).block_size, 4096);
	config_release(c);
}

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

static void two_of_the_same_are_refused(void **state)
{
	(void)state;
	COMPLAINS("loops: 1\nloops: 2\n", "f:2: loops: it is given twice");
	COMPLAINS("targets:\n"
		  "- name: iqn.2026-01.org.example:a\n"
		  "  luns:\n"
		  "  - {lun: 4, path: /a}\n"
		  "  - {lun: 4, path: /b}\n"
		  "- name: iqn.2026-01.org.example:a\n",
		"f:5: targets[0].luns: LUN 4 is there twice, the first in line 4",
		"f:6: targets: iqn.2026-01.org.example:a is there twice, the first in line 2");
	COMPLAINS("targets:\n"
		  "- name: iqn.2026-01.org.example:a\n"
		  "  luns: [{lun: 4, path: /a}, {lun: 5, path: /a}]\n",
		"f:3: targets: /a is LUN 4 of this target in line 3 too");
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

static void a_structure_that_holds_itself_is_refused(void **state)
{
	(void)state;
	COMPLAINS("targets: &t\n- name: iqn.2026-01.org.example:a\n  luns: *t\n",
		"targets[0].luns[0].lun: it is missing",
		"targets[0].luns[0].name: there is no such key",
		"targets[0].luns[0].luns: there is no such key; did you mean \"lun\"?",
		"targets[0].luns[0].path: it is missing");
}

static void secrets_are_checked(void **state)
{
	(void)state;
	COMPLAINS("discovery:\n  chap: {name: joe}\n",
		"f:2: discovery.chap.secret: it is missing; give secret or secret_file");
	COMPLAINS("discovery:\n  chap:\n    name: joe\n    secret: the same secret\n"
		  "    mutual: {name: me, secret: the same secret}\n",
		"f:5: discovery.chap.mutual: its secret is that of the initiator");
	COMPLAINS("discovery:\n  chap: {name: joe, secret_file: /nonexistent/x}\n",
		"f:2: discovery.chap.secret_file: cannot read /nonexistent/x");
}

static void a_lun_that_the_target_has_not_cannot_be_shown(void **state)
{
	(void)state;
	COMPLAINS("targets:\n"
		  "- name: iqn.2026-01.org.example:a\n"
		  "  initiators:\n"
		  "  - name: '*'\n"
		  "    luns: [1]\n"
		  "  luns: [{lun: 0, path: /a}]\n",
		"f:5: targets[0].initiators: LUN 1 is not among the target's luns");
}

static void an_empty_list_of_initiators_is_refused(void **state)
{
	(void)state;
	COMPLAINS("targets:\n- name: iqn.2026-01.org.example:a\n  initiators: []\n",
		"f:3: targets[0].initiators: an empty list lets nobody in");
}

static void a_secret_file_that_everyone_may_read_is_warned_about(void **state)
{
	char path[] = "/tmp/iseran-config-XXXXXX", text[256];
	struct config_report report = {0};
	struct config *c;
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, "a secret of mine\nnot this\n", 26), 26);
	fchmod(fd, 0644);
	close(fd);
	snprintf(text, sizeof(text), "discovery:\n  chap: {name: joe, secret_file: %s}\n", path);
	assert_int_equal(config_parse("f", NULL, text, strlen(text), &report, &c), 0);
	assert_string_equal(c->discovery->chap->secret, "a secret of mine");
	assert_int_equal(report.warnings, 1);
	assert_non_null(strstr(report.lines[0], "f:2: warning: discovery.chap.secret_file"));
	config_report_free(&report);
	config_release(c);
	unlink(path);
}

static void a_relative_path_is_taken_from_the_files_directory(void **state)
{
	static const char text[] = "targets:\n- {name: iqn.2026-01.org.example:a, luns: [{lun: 0, "
				   "path: x.img}]}\n";
	struct config_report report = {0};
	struct config *c;
	const struct config_target *t;

	(void)state;
	assert_int_equal(config_parse("f", "/etc/iseran", text, strlen(text), &report, &c), 0);
	t = &config_item(c->targets, struct config_target, 0);
	assert_string_equal(config_item(t->luns, struct config_lun, 0).path, "/etc/iseran/x.img");
	config_release(c);
}

static void a_file_that_is_not_there_is_one_clear_line(void **state)
{
	struct config_report report = {0};
	struct config *c;

	(void)state;
	assert_int_equal(config_load("/nonexistent.yaml", &report, &c), -EINVAL);
	assert_int_equal(report.count, 1);
	assert_string_equal(
		report.lines[0], "/nonexistent.yaml: cannot read it: No such file or directory");
	config_report_free(&report);
}

static void a_lun_with_another_value_is_another_lun(void **state)
{
	struct config *a = parse(minimal), *b = parse(minimal);
	struct config_lun *x = config_item(a->targets, struct config_target, 0).luns.items;
	struct config_lun *y = config_item(b->targets, struct config_target, 0).luns.items;

	(void)state;
	assert_true(config_lun_equal(x, y));
	y->readonly = true;
	assert_false(config_lun_equal(x, y));
	config_release(a);
	config_release(b);
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

static void the_help_names_every_key(void **state)
{
	static const char *const some[] = {"portals: list", "max_sessions: number", "secret_file",
		"write_cache: true|false, default true", "first byte of the bad range",
		"what an initiator must prove to see the list of targets"};
	struct config_text help;

	(void)state;
	assert_int_equal(config_help(&help), 0);
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		if (!strstr(help.text, some[i]))
			fail_msg("no \"%s\"", some[i]);
	alloc_free(help.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_keys_have_their_defaults),
		cmocka_unit_test(every_kind_of_value_is_read),
		cmocka_unit_test(one_mistake_is_told_once),
		cmocka_unit_test(one_portal_may_stand_alone),
		cmocka_unit_test(every_mistake_is_reported_with_its_line),
		cmocka_unit_test(a_missing_key_names_what_would_be_right),
		cmocka_unit_test(two_of_the_same_are_refused),
		cmocka_unit_test(text_that_is_no_yaml_is_refused_with_its_line),
		cmocka_unit_test(a_structure_that_holds_itself_is_refused),
		cmocka_unit_test(secrets_are_checked),
		cmocka_unit_test(a_lun_that_the_target_has_not_cannot_be_shown),
		cmocka_unit_test(an_empty_list_of_initiators_is_refused),
		cmocka_unit_test(a_secret_file_that_everyone_may_read_is_warned_about),
		cmocka_unit_test(a_relative_path_is_taken_from_the_files_directory),
		cmocka_unit_test(a_file_that_is_not_there_is_one_clear_line),
		cmocka_unit_test(complaints_have_no_control_characters),
		cmocka_unit_test(a_lun_with_another_value_is_another_lun),
		cmocka_unit_test(the_failure_of_every_allocation_is_survived),
		cmocka_unit_test(the_help_names_every_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
