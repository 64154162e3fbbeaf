/* Records as a whole: defaults, what is shown, what does not go together. */
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

static void keys_of_a_record_are_known(void **state)
{
	(void)state;
	assert_true(node_setting_is_key("node.name"));
	assert_true(node_setting_is_key("node.conn[0].address"));
	assert_false(node_setting_is_key("node.startup"));
	assert_false(node_setting_is_key("nothing"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_open_iscsis),
		cmocka_unit_test(every_default_passes_its_own_check),
		cmocka_unit_test(a_secret_is_neither_shown_nor_repeated),
		cmocka_unit_test(settings_that_do_not_go_together_are_told),
		cmocka_unit_test(keys_of_a_record_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
