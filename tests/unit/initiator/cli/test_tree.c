/* `-m session -P 0..3`: names of lines are those of iscsiadm. */
#include "tests/unit/initiator/cli/cli_kit.h"

#include "initiator/cli/targets.c"
#include "initiator/cli/tree.c"

static const char two_sessions[] =
	"{\"sessions\": ["
	"{\"session\": 1, \"target\": \"iqn.x:y\", \"portal\": \"127.0.0.1:3260\", \"tpgt\": 1,"
	" \"transport\": \"iser\", \"state\": \"LOGGED_IN\", \"initiator\": \"iqn.i:n\","
	" \"isid\": \"80aabbccdd00\", \"provider\": \"softiwarp\", \"recoveries\": 2,"
	" \"connected_to\": \"127.0.0.1:3260\","
	" \"timeouts\": {\"recovery\": -1, \"target_reset\": 30, \"lun_reset\": 31, \"abort\": 15},"
	" \"chap\": {\"username\": \"me\", \"username_in\": null},"
	" \"params\": {\"HeaderDigest\": \"None\", \"ImmediateData\": true, \"InitialR2T\": false,"
	" \"MaxBurstLength\": 262144},"
	" \"info\": {\"local\": \"127.0.0.1:40000\", \"detail\": \"MPA\"},"
	" \"stats\": {\"tasks_done\": 5},"
	" \"luns\": [{\"lun\": 0, \"device\": \"/dev/loop3\", \"link\": \"/run/l\", \"size\": "
	"1048576,"
	" \"block_size\": 512, \"vendor\": \"V\", \"product\": \"P\", \"revision\": \"1\","
	" \"serial\": \"s\", \"wwid\": \"naa.3\", \"state\": \"running\"},"
	" {\"lun\": 5, \"device\": null, \"why\": \"no /dev/fuse\", \"size\": 512,"
	" \"block_size\": 512, \"readonly\": true, \"state\": \"running\"}]},"
	"{\"session\": 2, \"target\": \"iqn.x:y\", \"portal\": \"192.0.2.1:3260\", \"tpgt\": 2,"
	" \"transport\": \"tcp\", \"state\": \"REOPEN\", \"info\": null, \"params\": null,"
	" \"luns\": []}]}";

static char *shown_at(unsigned long level)
{
	struct json_object *reply = json(two_sessions);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	print_sessions(reply, level, out);
	fclose(out);
	json_object_put(reply);
	return text;
}

static void level_0_is_a_line_per_session(void **state)
{
	char *text = shown_at(0);

	(void)state;
	assert_string_equal("iser: [1] 127.0.0.1:3260,1 iqn.x:y (non-flash)\n"
			    "tcp: [2] 192.0.2.1:3260,2 iqn.x:y (non-flash)\n",
		text);
	free(text);
}

static void level_1_is_a_tree_of_targets_and_portals(void **state)
{
	char *text = shown_at(1);

	(void)state;
	assert_non_null(strstr(text, "Target: iqn.x:y (non-flash)\n"
				     "\tCurrent Portal: 127.0.0.1:3260,1\n"
				     "\tPersistent Portal: 127.0.0.1:3260,1\n"
				     "\t\t**********\n"
				     "\t\tInterface:\n"
				     "\t\t**********\n"
				     "\t\tIface Name: iser\n"));
	assert_non_null(strstr(text, "\t\tIface IPaddress: 127.0.0.1\n"
				     "\t\tSID: 1\n"));
	assert_non_null(strstr(text, "\t\tiSCSI Connection State: LOGGED IN\n"
				     "\t\tiSCSI Session State: LOGGED_IN\n"));
	assert_non_null(strstr(text, "\tCurrent Portal: 192.0.2.1:3260,2\n"));
	assert_non_null(strstr(text, "\t\tiSCSI Connection State: TRANSPORT WAIT\n"
				     "\t\tiSCSI Session State: REOPEN\n"));
	/* the target's name stands once */
	assert_null(strstr(strstr(text, "Target:") + 1, "Target:"));
	assert_null(strstr(text, "Negotiated"));
	free(text);
}

static void level_2_has_what_was_negotiated(void **state)
{
	char *text = shown_at(2);

	(void)state;
	assert_non_null(strstr(text, "\t\t************************\n"
				     "\t\tNegotiated iSCSI params:\n"
				     "\t\t************************\n"
				     "\t\tHeaderDigest: None\n"
				     "\t\tImmediateData: Yes\n"
				     "\t\tInitialR2T: No\n"
				     "\t\tMaxBurstLength: 262144\n"));
	assert_null(strstr(text, "Attached"));
	free(text);
}

static void level_2_has_time_outs_and_names_without_secrets(void **state)
{
	char *text = shown_at(2);

	(void)state;
	assert_non_null(strstr(text, "\t\t*********\n"
				     "\t\tTimeouts:\n"
				     "\t\t*********\n"
				     "\t\tRecovery Timeout: -1\n"
				     "\t\tTarget Reset Timeout: 30\n"
				     "\t\tLUN Reset Timeout: 31\n"
				     "\t\tAbort Timeout: 15\n"
				     "\t\t*****\n"
				     "\t\tCHAP:\n"
				     "\t\t*****\n"
				     "\t\tusername: me\n"
				     "\t\tpassword: ********\n"
				     "\t\tusername_in: <empty>\n"
				     "\t\tpassword_in: ********\n"));
	free(text);
}

static void level_3_has_devices_and_why_there_is_none(void **state)
{
	char *text = shown_at(3);

	(void)state;
	assert_non_null(strstr(text, "\t\tAttached SCSI devices:\n"));
	assert_non_null(strstr(text, "\t\tLun: 0\n"
				     "\t\t\tAttached scsi disk loop3\t\tState: running\n"
				     "\t\t\tSize: 1.0 MiB (1048576 bytes), 512-byte blocks\n"));
	assert_non_null(strstr(text, "\t\tLun: 5\n"
				     "\t\t\tNo block device\t\tState: running\n"
				     "\t\t\tReason: no /dev/fuse\n"));
	assert_non_null(strstr(text, "512-byte blocks, read-only\n"));
	free(text);
}

static void statistics_are_told_by_session(void **state)
{
	struct json_object *reply = json(two_sessions);
	struct caught c;

	(void)state;
	catch_output(&c);
	print_session_statistics(field_item(reply, "sessions", 0), stdout);
	release_output(&c);
	assert_string_equal("Stats for session [sid: 1, target: iqn.x:y, portal: 127.0.0.1,3260]\n"
			    "Session:\n\ttasks_done: 5\n",
		c.text[0]);
	free_output(&c);
	json_object_put(reply);
}

static void empty_answer_shows_nothing(void **state)
{
	struct json_object *reply = json("{}");
	struct caught c;

	(void)state;
	catch_output(&c);
	for (unsigned long level = 0; level < 4; level++)
		print_sessions(reply, level, stdout);
	release_output(&c);
	assert_string_equal("", c.text[0]);
	free_output(&c);
	json_object_put(reply);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(level_0_is_a_line_per_session),
		cmocka_unit_test(level_1_is_a_tree_of_targets_and_portals),
		cmocka_unit_test(level_2_has_what_was_negotiated),
		cmocka_unit_test(level_2_has_time_outs_and_names_without_secrets),
		cmocka_unit_test(level_3_has_devices_and_why_there_is_none),
		cmocka_unit_test(statistics_are_told_by_session),
		cmocka_unit_test(empty_answer_shows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
