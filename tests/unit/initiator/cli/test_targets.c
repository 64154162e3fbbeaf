/* Lines that scripts look for, as iscsiadm prints them. */
#include "tests/unit/initiator/cli/cli_kit.h"

#include "initiator/cli/targets.c"

static void portal_is_written_with_a_comma(void **state)
{
	char out[128];

	(void)state;
	assert_string_equal("127.0.0.1,3260", portal_with_comma("127.0.0.1:3260", out));
	assert_string_equal("2001:db8::1,3260", portal_with_comma("[2001:db8::1]:3260", out));
	assert_string_equal("host.example,860", portal_with_comma("host.example:860", out));
	assert_string_equal("host,3260", portal_with_comma("host", out));
	assert_string_equal("2001:db8::1,3260", portal_with_comma("[2001:db8::1]", out));
	assert_string_equal("", portal_with_comma("", out));
	assert_string_equal("[,3260", portal_with_comma("[", out));
}

static void target_is_portal_group_and_name(void **state)
{
	struct json_object *t =
		json("{\"target\": \"iqn.x:y\", \"portal\": \"192.0.2.1:3260\", \"tpgt\": 3}");
	struct caught c;

	(void)state;
	catch_output(&c);
	print_target(t, stdout);
	release_output(&c);
	assert_string_equal("192.0.2.1:3260,3 iqn.x:y\n", c.text[0]);
	free_output(&c);
	json_object_put(t);
}

static void tree_names_each_target_once(void **state)
{
	struct json_object *t =
		json("[{\"target\": \"iqn.a:1\", \"portal\": \"192.0.2.1:3260\", \"tpgt\": 1, "
		     "\"transport\": \"iser\"},"
		     "{\"target\": \"iqn.b:1\", \"portal\": \"192.0.2.1:3260\", \"tpgt\": 1},"
		     "{\"target\": \"iqn.a:1\", \"portal\": \"192.0.2.2:3260\", \"tpgt\": 2, "
		     "\"transport\": \"tcp\"}]");
	struct caught c;

	(void)state;
	catch_output(&c);
	print_target_tree(t, stdout);
	release_output(&c);
	assert_string_equal("Target: iqn.a:1\n"
			    "\tPortal: 192.0.2.1:3260,1\n"
			    "\t\tIface Name: iser\n"
			    "\tPortal: 192.0.2.2:3260,2\n"
			    "\t\tIface Name: default\n"
			    "Target: iqn.b:1\n"
			    "\tPortal: 192.0.2.1:3260,1\n",
		c.text[0]);
	free_output(&c);
	json_object_put(t);
}

#define ENTRY                                                                                      \
	"\"target\": \"iqn.x:y\", \"portal\": \"127.0.0.1:3260\", \"tpgt\": 1, "                   \
	"\"transport\": \"iser\""

static struct caught run_caught(
	int (*act)(const struct tool_options *o, struct tool_call *c), int *ret_status)
{
	const struct tool_options o = {0};
	struct tool_call call = {.fd = -1};
	struct caught c;

	catch_output(&c);
	*ret_status = act(&o, &call);
	release_output(&c);
	return c;
}

static void login_tells_its_beginning_and_its_end(void **state)
{
	struct caught c;
	int status;

	(void)state;
	iserd.progress[0] = "{\"begun\": {" ENTRY "}}";
	iserd.progress[1] = "{\"ended\": {" ENTRY ", \"session\": 1, \"ok\": true}}";
	iserd.progress[2] = NULL;
	iserd.reply = "{\"ok\": true, \"logins\": [{" ENTRY ", \"session\": 1, \"ok\": true, "
		      "\"status\": 0, \"error\": null}]}";
	c = run_caught(run_logins, &status);
	assert_int_equal(STATUS_OK, status);
	assert_string_equal("Logging in to [iface: iser, target: iqn.x:y, portal: 127.0.0.1,3260]\n"
			    "Login to [iface: iser, target: iqn.x:y, portal: 127.0.0.1,3260] "
			    "successful.\n",
		c.text[0]);
	assert_string_equal("", c.text[1]);
	free_output(&c);
}

static void login_without_block_devices_is_good_but_warned_of(void **state)
{
	struct caught c;
	int status;

	(void)state;
	iserd.progress[0] = "{\"ended\": {" ENTRY ", \"session\": 1, \"ok\": true, "
			    "\"without_device\": 3, \"without_device_first\": 5, "
			    "\"without_device_reason\": \"no FUSE\"}}";
	iserd.progress[1] = NULL;
	iserd.reply = "{\"ok\": true, \"logins\": [{" ENTRY ", \"session\": 1, \"ok\": true}]}";
	c = run_caught(run_logins, &status);
	assert_int_equal(STATUS_OK, status);
	assert_string_equal("iseradm: warning: LUN 5 (and 2 more) has no block device: no FUSE; "
			    "-m lun reads and writes it without\n",
		c.text[1]);
	free_output(&c);
}

static void logout_tells_the_session(void **state)
{
	struct caught c;
	int status;

	(void)state;
	iserd.progress[0] = "{\"begun\": {" ENTRY ", \"session\": 7}}";
	iserd.progress[1] = "{\"ended\": {" ENTRY ", \"session\": 7, \"ok\": true}}";
	iserd.progress[2] = NULL;
	iserd.reply = "{\"ok\": true, \"logouts\": [{" ENTRY ", \"session\": 7, \"ok\": true, "
		      "\"status\": 0}]}";
	c = run_caught(run_logouts, &status);
	assert_int_equal(STATUS_OK, status);
	assert_string_equal(
		"Logging out of session [sid: 7, target: iqn.x:y, portal: 127.0.0.1,3260]\n"
		"Logout of [sid: 7, target: iqn.x:y, portal: 127.0.0.1,3260] successful.\n",
		c.text[0]);
	free_output(&c);
}

static void failed_login_is_one_line_and_its_status(void **state)
{
	struct caught c;
	int status;

	(void)state;
	iserd.progress[0] = "{\"begun\": {" ENTRY "}}";
	iserd.progress[1] = "{\"ended\": {" ENTRY ", \"ok\": false}}";
	iserd.progress[2] = NULL;
	iserd.reply = "{\"ok\": true, \"logins\": [{" ENTRY ", \"ok\": false, \"status\": 24, "
		      "\"error\": \"wrong secret\"}, {" ENTRY ", \"ok\": true}]}";
	c = run_caught(run_logins, &status);
	assert_int_equal(STATUS_AUTH, status);
	assert_string_equal("iseradm: Could not login to [iface: iser, target: iqn.x:y, portal: "
			    "127.0.0.1,3260]: wrong secret\n",
		c.text[1]);
	free_output(&c);
}

static void record_that_cannot_be_read_has_no_target_to_tell(void **state)
{
	struct caught c;
	int status;

	(void)state;
	iserd.progress[0] = "{\"ended\": {\"target\": null, \"ok\": false}}";
	iserd.progress[1] = NULL;
	iserd.reply = "{\"ok\": true, \"logins\": [{\"target\": null, \"portal\": null, "
		      "\"ok\": false, \"status\": 6, \"error\": \"nodes/x: line 3\"}]}";
	c = run_caught(run_logins, &status);
	assert_int_equal(STATUS_DATABASE, status);
	assert_string_equal("", c.text[0]);
	assert_string_equal("iseradm: nodes/x: line 3\n", c.text[1]);
	free_output(&c);
}

static void interface_is_iser_tcp_or_iscsiadms_default(void **state)
{
	const char *transport = "x";
	struct caught c;

	(void)state;
	assert_true(take_interface(NULL, &transport));
	assert_null(transport);
	assert_true(take_interface("default", &transport));
	assert_string_equal("tcp", transport);
	assert_true(take_interface("iser", &transport));
	assert_string_equal("iser", transport);
	catch_output(&c);
	assert_false(take_interface("eth0", &transport));
	release_output(&c);
	assert_string_equal(
		"iseradm: -I eth0: iser and tcp (or default) are the interfaces\n", c.text[1]);
	free_output(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(portal_is_written_with_a_comma),
		cmocka_unit_test(target_is_portal_group_and_name),
		cmocka_unit_test(tree_names_each_target_once),
		cmocka_unit_test(login_tells_its_beginning_and_its_end),
		cmocka_unit_test(login_without_block_devices_is_good_but_warned_of),
		cmocka_unit_test(logout_tells_the_session),
		cmocka_unit_test(failed_login_is_one_line_and_its_status),
		cmocka_unit_test(record_that_cannot_be_read_has_no_target_to_tell),
		cmocka_unit_test(interface_is_iser_tcp_or_iscsiadms_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
