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

static void defaults_are_open_iscsis(void **state)
{
	struct node_record r = record_of_defaults();

	(void)state;
	assert_int_equal(r.port, 3260);
	assert_int_equal(r.replacement_timeout, 120);
	assert_int_equal(r.cmds_max, 128);
	assert_int_equal(r.queue_depth, 32);
	assert_int_equal(r.noop_out_interval, 5);
	assert_int_equal(r.login_timeout, 15);
	assert_int_equal(r.first_burst_length, 262144);
	assert_int_equal(r.max_burst_length, 16776192);
	assert_false(r.initial_r2t);
	assert_true(r.immediate_data);
	assert_string_equal(r.iface, "iser");
	node_record_default(&r, NODE_TRANSPORT_TCP);
	assert_string_equal(r.iface, "default");
}

static void every_default_passes_its_own_check(void **state)
{
	const struct settings_table *tables[] = {&node_settings, &discovery_settings};
	union {
		struct node_record node;
		struct discovery_record discovery;
	} r;

	(void)state;
	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; i < tables[t]->count; i++)
			assert_int_equal(setting_set(&tables[t]->rows[i], &r,
						 tables[t]->rows[i].initial, why),
				0);
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

static void a_secret_is_neither_shown_nor_repeated(void **state)
{
	struct node_record r = record_of_defaults();
	char value[300], longer[400];

	(void)state;
	memset(longer, 's', sizeof(longer));
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(node_record_set(&r, "node.session.auth.password", longer, why), -EINVAL);
	assert_null(strstr(why, "ssss"));
	assert_int_equal(node_record_set(&r, "node.session.auth.password", "top secret!!", why), 0);
	assert_int_equal(node_record_get(&r, "node.session.auth.password", false, value, 300), 0);
	assert_string_equal(value, "********");
	assert_int_equal(node_record_get(&r, "node.session.auth.password", true, value, 300), 0);
	assert_string_equal(value, "top secret!!");
	assert_int_equal(node_record_get(&r, "node.session.auth.username", false, value, 300), 0);
	assert_string_equal(value, "<empty>");
	assert_int_equal(node_record_get(&r, "node.name", false, value, 2), -ENOSPC);
	assert_int_equal(node_record_get(&r, "nothing", false, value, 300), -ENOENT);
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
	memset(longest + 4, 'a', ISCSI_NAME_MAX - 4);
	assert_int_equal(records_check_name(longest, why), 0);
	longest[ISCSI_NAME_MAX] = 'a';
	assert_int_equal(records_check_name(longest, why), -EINVAL);
}

static void settings_that_do_not_go_together_are_told(void **state)
{
	struct node_record r = record_of_defaults();

	(void)state;
	assert_int_equal(node_record_check(&r, why), -EINVAL); /* no name */
	strcpy(r.target_name, "iqn.2026-11.org.example:disk");
	strcpy(r.address, "192.0.2.1");
	assert_int_equal(node_record_check(&r, why), 0);
	r.authmethod = NODE_AUTH_CHAP;
	assert_int_equal(node_record_check(&r, why), -EINVAL);
	strcpy(r.username, "u");
	strcpy(r.password, "secret secret");
	assert_int_equal(node_record_check(&r, why), 0);
	strcpy(r.username_in, "t");
	assert_int_equal(node_record_check(&r, why), -EINVAL);
	strcpy(r.password_in, "secret secret");
	assert_int_equal(node_record_check(&r, why), -EINVAL);
	strcpy(r.password_in, "another secret");
	assert_int_equal(node_record_check(&r, why), 0);
	r.first_burst_length = r.max_burst_length + 1;
	assert_int_equal(node_record_check(&r, why), -EINVAL);
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

static void keys_of_a_record_are_known(void **state)
{
	(void)state;
	assert_true(node_setting_is_key("node.name"));
	assert_true(node_setting_is_key("node.conn[0].address"));
	assert_false(node_setting_is_key("node.startup"));
	assert_false(node_setting_is_key("nothing"));
}

static void a_record_becomes_a_sessions_configuration(void **state)
{
	struct node_record r = record_of_defaults();
	struct ini_session_config c;

	(void)state;
	strcpy(r.target_name, "iqn.2026-11.org.example:disk");
	r.replacement_timeout = -1;
	r.header_digest = NODE_DIGEST_CRC32C_NONE;
	assert_int_equal(ini_session_config_from_record(&r, &c), 0);
	assert_ptr_equal(c.target_name, r.target_name);
	assert_null(c.initiator_name);
	assert_true(c.replacement_timeout_ns == INI_FOREVER);
	assert_int_equal(c.header_digest, ISCSI_DIGEST_CRC32C | ISCSI_DIGEST_NONE);
	assert_int_equal(c.noop_interval_ns, 5000000000ull);
	assert_int_equal(c.offer.max_burst_length, 16776192);
	assert_false(c.auth.chap_required);
	assert_null(c.auth.name);
	r.authmethod = NODE_AUTH_CHAP;
	strcpy(r.username, "u");
	strcpy(r.password, "p");
	assert_int_equal(ini_session_config_from_record(&r, &c), 0);
	assert_true(c.auth.chap_required);
	assert_string_equal(c.auth.secret, "p");
	assert_null(c.auth.mutual_name);
	strcpy(r.chap_algs, "ROT13");
	assert_int_equal(ini_session_config_from_record(&r, &c), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_open_iscsis),
		cmocka_unit_test(every_default_passes_its_own_check),
		cmocka_unit_test(values_out_of_range_name_the_range),
		cmocka_unit_test(what_is_no_number_is_refused),
		cmocka_unit_test(words_are_told),
		cmocka_unit_test(an_unknown_name_brings_the_nearest),
		cmocka_unit_test(a_secret_is_neither_shown_nor_repeated),
		cmocka_unit_test(text_that_would_break_the_file_is_refused),
		cmocka_unit_test(names_of_targets_are_checked),
		cmocka_unit_test(settings_that_do_not_go_together_are_told),
		cmocka_unit_test(chap_algorithms_are_a_list_without_repetition),
		cmocka_unit_test(keys_of_a_record_are_known),
		cmocka_unit_test(a_record_becomes_a_sessions_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
