/* Settings of records: values, ranges, defaults and what is said of mistakes (open-iscsi's names;
 * ranges of RFC 7143 section 13). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/iscsi/login.h"
#include "initiator/session.h"
#include "initiator/settings.h"

static char why[RECORDS_WHY_SIZE];

static struct node_record record_of_defaults(void)
{
	struct node_record r;

	node_record_default(&r, NODE_TRANSPORT_ISER);
	return r;
}

static void values_out_of_range_name_the_range(void **state)
{
	struct node_record r = record_of_defaults();

	(void)state;
	assert_int_equal(node_record_set(&r, "node.session.queue_depth", "0", why), -ERANGE);
	assert_non_null(strstr(why, "1 to 1024"));
	assert_int_equal(node_record_set(&r, "node.session.queue_depth", "1025", why), -ERANGE);
	assert_int_equal(node_record_set(&r, "node.session.queue_depth", "1024", why), 0);
	assert_int_equal(r.queue_depth, 1024);
	assert_int_equal(
		node_record_set(&r, "node.session.timeo.replacement_timeout", "-1", why), 0);
	assert_int_equal(r.replacement_timeout, -1);
	assert_int_equal(
		node_record_set(&r, "node.session.iscsi.FirstBurstLength", "511", why), -ERANGE);
}

static void what_is_wrong_is_told_without_control_characters(void **state)
{
	struct node_record r = record_of_defaults();

	(void)state;
	assert_int_equal(node_record_set(&r, "node.\033[31m\nx", "1", why), -ENOENT);
	assert_non_null(strstr(why, "node.?[31m?x"));
}

static void what_is_no_number_is_refused(void **state)
{
	static const char *const values[] = {"", "x", "1x", " 1", "1 ", "0x10", "1.5",
		"99999999999999999999", "-99999999999999999999"};
	struct node_record r = record_of_defaults();

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		assert_true(node_record_set(&r, "node.conn[0].port", values[i], why) < 0);
	assert_int_equal(r.port, 3260);
}

static void words_are_told(void **state)
{
	struct node_record r = record_of_defaults();

	(void)state;
	assert_int_equal(node_record_set(&r, "node.startup", "always", why), -EINVAL);
	assert_non_null(strstr(why, "manual | automatic | onboot"));
	assert_int_equal(node_record_set(&r, "node.startup", "automatic", why), 0);
	assert_int_equal(r.startup, NODE_STARTUP_AUTOMATIC);
	assert_int_equal(node_record_set(&r, "node.session.iscsi.InitialR2T", "yes", why), 0);
	assert_true(r.initial_r2t);
	assert_int_equal(node_record_set(&r, "node.session.iscsi.InitialR2T", "1", why), -EINVAL);
	assert_int_equal(
		node_record_set(&r, "node.conn[0].iscsi.HeaderDigest", "CRC32C,None", why), 0);
	assert_int_equal(r.header_digest, NODE_DIGEST_CRC32C_NONE);
}

static void an_unknown_name_brings_the_nearest(void **state)
{
	struct node_record r = record_of_defaults();

	(void)state;
	assert_int_equal(node_record_set(&r, "node.session.queue_dept", "4", why), -ENOENT);
	assert_non_null(strstr(why, "node.session.queue_depth"));
	assert_int_equal(node_record_set(&r, "x", "4", why), -ENOENT);
}

static void text_that_would_break_the_file_is_refused(void **state)
{
	static const char *const values[] = {"two\nlines", "tab\there", " before", "behind "};
	struct node_record r = record_of_defaults();

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		assert_int_equal(
			node_record_set(&r, "node.session.auth.username", values[i], why), -EINVAL);
	assert_int_equal(node_record_set(&r, "node.conn[0].address", "../../etc", why), -EINVAL);
	assert_int_equal(node_record_set(&r, "node.conn[0].address", "a,b", why), -EINVAL);
	assert_int_equal(node_record_set(&r, "node.conn[0].address", "fe80::1%eth0", why), 0);
}

static void names_of_targets_are_checked(void **state)
{
	char longest[ISCSI_NAME_MAX + 2] = "iqn.";

	(void)state;
	assert_int_equal(records_check_name("iqn.2026-11.org.example:disk", why), 0);
	assert_int_equal(records_check_name("eui.02004567a425678d", why), 0);
	assert_int_equal(records_check_name("naa.52004567ba64678d", why), 0);
	assert_int_equal(records_check_name("disk", why), -EINVAL);
	assert_int_equal(records_check_name("iqn.", why), -EINVAL);
	assert_int_equal(records_check_name("iqn.a/b", why), -EINVAL);
	assert_int_equal(records_check_name("iqn.a b", why), -EINVAL);
	assert_int_equal(records_check_name("iqn.a:\xc3\xa4", why), 0);
	assert_int_equal(records_check_name("iqn.a:\xff", why), -EINVAL);
	memset(longest + 4, 'a', ISCSI_NAME_MAX - 4);
	assert_int_equal(records_check_name(longest, why), 0);
	longest[ISCSI_NAME_MAX] = 'a';
	assert_int_equal(records_check_name(longest, why), -EINVAL);
}

static void chap_algorithms_are_a_list_without_repetition(void **state)
{
	uint8_t list[5];

	(void)state;
	assert_int_equal(settings_parse_algorithms("SHA3-256,SHA256,SHA1,MD5", list), 0);
	assert_memory_equal(list, ((uint8_t[]){8, 7, 6, 5, 0}), 5);
	assert_int_equal(settings_parse_algorithms("md5", list), 0);
	assert_memory_equal(list, ((uint8_t[]){5, 0, 0, 0, 0}), 5);
	assert_int_equal(settings_parse_algorithms("", list), 0);
	assert_int_equal(settings_parse_algorithms("MD5,MD5", list), -EINVAL);
	assert_int_equal(settings_parse_algorithms("MD5,", list), -EINVAL);
	assert_int_equal(settings_parse_algorithms("SHA512", list), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_out_of_range_name_the_range),
		cmocka_unit_test(what_is_no_number_is_refused),
		cmocka_unit_test(words_are_told),
		cmocka_unit_test(an_unknown_name_brings_the_nearest),
		cmocka_unit_test(text_that_would_break_the_file_is_refused),
		cmocka_unit_test(what_is_wrong_is_told_without_control_characters),
		cmocka_unit_test(names_of_targets_are_checked),
		cmocka_unit_test(chap_algorithms_are_a_list_without_repetition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
