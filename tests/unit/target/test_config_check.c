/* What a single row of the configuration cannot say (target/config_check.c): names, secrets, keys
 * that depend on each other. */
#include "tests/unit/target/config_kit.h"

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

static void portals_have_ports_that_are_ports(void **state)
{
	struct config *c = parse("portals: ['2001:db8::1', '[2001:db8::1]:0', host.example, "
				 "'192.0.2.1:65535']\n");

	(void)state;
	config_release(c);
	COMPLAINS("portals: ['192.0.2.1:65536', '192.0.2.1:', '[::1]:x']\n",
		"f:1: portals[0]: \"192.0.2.1:65536\" has no port from 0 to 65535",
		"f:1: portals[1]: \"192.0.2.1:\" has no port", "f:1: portals[2]: \"[::1]:x\"");
}

static void secrets_have_lengths(void **state)
{
	struct config_report report = {0};
	struct config *c;
	static const char text[] = "discovery:\n  chap: {name: joe, secret: short}\n";

	(void)state;
	COMPLAINS("discovery:\n  chap: {name: joe, secret: ''}\n",
		"discovery.chap.secret: \"\" is not right");
	COMPLAINS("discovery:\n  chap: {name: joe, secret: twelve chars, secret_file: /b}\n",
		"discovery.chap.secret_file: secret is there too; keep one");
	assert_int_equal(config_parse("f", NULL, text, strlen(text), &report, &c), 0);
	assert_int_equal(report.warnings, 1);
	assert_string_equal(report.lines[0],
		"f:2: warning: discovery.chap.secret: the secret has 5 characters; some "
		"initiators refuse less than 12");
	config_report_free(&report);
	config_release(c);
}

static void the_same_algorithm_twice_is_refused(void **state)
{
	(void)state;
	COMPLAINS("discovery:\n  chap:\n    name: joe\n    secret: twelve chars\n"
		  "    algorithms: [md5, sha256, md5]\n",
		"f:5: discovery.chap.algorithms: md5 is there twice");
}

static void keys_of_files_are_refused_for_other_backends(void **state)
{
	(void)state;
	COMPLAINS("targets:\n- name: iqn.2026-01.org.example:a\n"
		  "  luns: [{lun: 0, backend: memory, size: 1M, path: /a, threads: 2}]\n",
		"f:3: targets[0].luns[0].path: only backend file has it",
		"f:3: targets[0].luns[0].threads: only backend file has it");
}

static void sizes_are_whole_blocks(void **state)
{
	(void)state;
	COMPLAINS("targets:\n- name: iqn.2026-01.org.example:a\n"
		  "  luns:\n"
		  "  - {lun: 0, backend: memory, size: 1000}\n"
		  "  - {lun: 1, backend: memory, size: 6K, block_size: 4096}\n"
		  "  - {lun: 2, backend: memory, size: 6K, block_size: 1024}\n",
		"f:4: targets[0].luns[0].size: it is not a multiple of the block size 512",
		"f:5: targets[0].luns[1].size: it is not a multiple of the block size 4096",
		"f:6: targets[0].luns[2].block_size: 512 or 4096 would be right");
}

static void faults_have_a_range_and_a_number(void **state)
{
	char text[2048] = "targets:\n- name: iqn.2026-01.org.example:a\n"
			  "  luns:\n  - lun: 0\n    path: /a\n    fault:\n";

	(void)state;
	COMPLAINS("targets:\n- name: iqn.2026-01.org.example:a\n"
		  "  luns: [{lun: 0, path: /a, fault: {from: 8K, to: 8K}}]\n",
		"f:3: targets[0].luns[0].fault[0].to: it is not behind `from`");
	for (unsigned i = 0; i < 17; i++)
		strcat(text, "    - {operation: read}\n");
	COMPLAINS(text, "f:6: targets[0].luns[0].fault: more than 16 rules");
}

/* RFC 7143 section 4.2.7.2.2: the hexadecimal digits of an eui. name may be of either case. */
static void names_differ_in_more_than_case(void **state)
{
	(void)state;
	COMPLAINS("targets:\n- name: eui.02004567A425678D\n- name: eui.02004567a425678d\n",
		"f:3: targets: eui.02004567a425678d is there twice, the first in line 2");
}

static void an_image_may_be_exported_twice_when_both_only_read(void **state)
{
	struct config *c = parse("targets:\n- name: iqn.2026-01.org.example:a\n  luns:\n"
				 "  - {lun: 0, path: /a, readonly: true}\n"
				 "- name: iqn.2026-01.org.example:b\n  luns:\n"
				 "  - {lun: 0, path: /a, readonly: true}\n");

	(void)state;
	config_release(c);
	COMPLAINS("targets:\n- name: iqn.2026-01.org.example:a\n  luns:\n"
		  "  - {lun: 0, path: /a}\n"
		  "- name: iqn.2026-01.org.example:b\n  luns:\n"
		  "  - {lun: 0, path: /a, readonly: true}\n",
		"f:7: targets: /a is LUN 0 of iqn.2026-01.org.example:a in line 4 too");
}

static void bursts_fit_into_each_other(void **state)
{
	(void)state;
	COMPLAINS("first_burst: 128K\nmax_burst: 64K\n",
		"f:1: first_burst: it is larger than max_burst (65536 bytes)");
	/* the key that is in the file */
	COMPLAINS("crc: auto\nmax_burst: 64K\n",
		"f:2: max_burst: it is smaller than first_burst, which is 262144 bytes unless");
	COMPLAINS("max_fpdu: 127\n", "f:1: max_fpdu: 128 or more would be right, or 0");
}

/* A field that makes another disk of it must not be kept by a reload. */
static void every_field_of_a_lun_counts(void **state)
{
	static const char *const others[] = {"lun: 1", "path: /b", "size: 1M", "block_size: 4096",
		"direct: true", "readonly: true", "write_cache: false", "thin: false",
		"rotational: true", "engine: threads", "threads: 7", "vendor: v", "product: p",
		"revision: r", "serial: s", "delay: {read: 1s}", "delay: {write: 1s}",
		"delay: {flush: 1s}", "fault: {error: EROFS}", "fault: {to: 1K}",
		"fault: {after: 1}"};
	struct config *base = parse(minimal);
	const struct config_lun *b = config_item(base->targets, struct config_target, 0).luns.items;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const struct config_lun *l;
		char text[256];
		struct config *c;

		snprintf(text, sizeof(text),
			"targets:\n- name: iqn.2026-01.org.example:disk\n  luns:\n  - {%s%s%s}\n",
			strncmp(others[i], "lun", 3) ? "lun: 0, " : "",
			strncmp(others[i], "path", 4) ? "path: /srv/disk.img, " : "", others[i]);
		c = parse(text);
		l = config_item(c->targets, struct config_target, 0).luns.items;
		if (config_lun_equal(b, l))
			fail_msg("%s makes no difference", others[i]);
		assert_true(config_lun_equal(l, l));
		config_release(c);
	}
	config_release(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_of_the_same_are_refused),
		cmocka_unit_test(secrets_are_checked),
		cmocka_unit_test(a_lun_that_the_target_has_not_cannot_be_shown),
		cmocka_unit_test(an_empty_list_of_initiators_is_refused),
		cmocka_unit_test(a_lun_with_another_value_is_another_lun),
		cmocka_unit_test(a_secret_file_that_everyone_may_read_is_warned_about),
		cmocka_unit_test(portals_have_ports_that_are_ports),
		cmocka_unit_test(secrets_have_lengths),
		cmocka_unit_test(the_same_algorithm_twice_is_refused),
		cmocka_unit_test(keys_of_files_are_refused_for_other_backends),
		cmocka_unit_test(sizes_are_whole_blocks),
		cmocka_unit_test(faults_have_a_range_and_a_number),
		cmocka_unit_test(names_differ_in_more_than_case),
		cmocka_unit_test(an_image_may_be_exported_twice_when_both_only_read),
		cmocka_unit_test(bursts_fit_into_each_other),
		cmocka_unit_test(every_field_of_a_lun_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
