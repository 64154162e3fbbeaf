/* iseradm -m node: records in and out, and which logins, logouts and rescans are asked for. */
#include "tests/unit/initiator/cli/mode_kit.h"

#include "initiator/cli/value.c"

#include "initiator/cli/mode_node.c"

void print_session_statistics(struct json_object *session, FILE *out)
{
	fprintf(out, "statistics of %s\n", field_text(session, "target"));
}

#define NODES                                                                                      \
	"{\"nodes\": [{\"target\": \"iqn.x:a\", \"portal\": \"192.0.2.1:3260\", \"tpgt\": 1,"      \
	" \"transport\": \"iser\","                                                                \
	" \"settings\": {\"node.name\": \"iqn.x:a\", \"node.startup\": \"manual\"}},"              \
	" {\"target\": \"iqn.x:b\", \"portal\": \"192.0.2.1:3260\", \"tpgt\": 1,"                  \
	" \"transport\": \"tcp\","                                                                 \
	" \"settings\": {\"node.name\": \"iqn.x:b\", \"node.startup\": \"automatic\"}},"           \
	" {\"target\": \"iqn.x:c\", \"portal\": \"192.0.2.1:3260\", \"tpgt\": 1,"                  \
	" \"transport\": \"tcp\"}]}"

static void records_are_listed(void **state)
{
	const struct answer a[] = {{0, NODES, NULL}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_node, "", a));
	assert_string_equal("{\"verb\":\"node-list\"}", it.asked[0]);
	assert_string_equal("192.0.2.1:3260,1 iqn.x:a\n192.0.2.1:3260,1 iqn.x:b\n"
			    "192.0.2.1:3260,1 iqn.x:c\n",
		it.out);
	assert_int_equal(STATUS_OK, iseradm(mode_node, "-P 1", a));
	assert_memory_equal(
		"Target: iqn.x:a\n\tPortal: 192.0.2.1:3260,1\n\t\tIface Name: iser\n", it.out, 60);
}

static void a_record_is_shown_as_iscsiadm_writes_it(void **state)
{
	const struct answer a[] = {{0, NODES, NULL}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_node, "-T iqn.x:a -p 192.0.2.1 -I iser -S", a));
	assert_string_equal(
		"{\"verb\":\"node-list\",\"target\":\"iqn.x:a\",\"portal\":\"192.0.2.1\","
		"\"transport\":\"iser\",\"show_secrets\":true}",
		it.asked[0]);
	assert_memory_equal("# BEGIN RECORD ", it.out, 15);
	assert_non_null(
		strstr(it.out, "\nnode.name = iqn.x:a\nnode.startup = manual\n# END RECORD\n"));
	/* one of very many has no settings */
	assert_non_null(
		strstr(it.out, "# iqn.x:c at 192.0.2.1:3260 has more; -T and -p show it\n"));
}

static void a_record_that_cannot_be_read_is_told_beside_the_others(void **state)
{
	const struct answer a[] = {{0,
		"{\"nodes\": [{\"target\": \"iqn.x:a\", \"portal\": \"h:1\", \"tpgt\": 1}],"
		" \"warnings\": [\"/s/nodes/x:2: no setting\"]}",
		NULL}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_node, "", a));
	assert_string_equal("h:1,1 iqn.x:a\n", it.out);
	assert_string_equal(
		"iseradm: warning: /s/nodes/x:2: no setting; it is passed over\n", it.err);
}

static void no_record_is_not_found(void **state)
{
	const struct answer a[] = {{0, "{\"nodes\": []}", NULL}};

	(void)state;
	assert_int_equal(STATUS_NOT_FOUND, iseradm(mode_node, "-T iqn.x:z", a));
	assert_string_equal("iseradm: No records found\n", it.err);
	/* JSON says it itself */
	assert_int_equal(STATUS_OK, iseradm(mode_node, "--json", a));
}

static void a_new_record_is_told_in_iscsiadms_words(void **state)
{
	const struct answer a[] = {{0, NULL, NULL}};

	(void)state;
	assert_int_equal(
		STATUS_OK, iseradm(mode_node, "-o new -T iqn.x:n -p 192.0.2.1:3260 -I tcp", a));
	assert_string_equal("{\"verb\":\"node-new\",\"target\":\"iqn.x:n\",\"portal\":"
			    "\"192.0.2.1:3260\",\"transport\":\"tcp\"}",
		it.asked[0]);
	assert_string_equal("New iSCSI node [iface: default, target: iqn.x:n, portal: "
			    "192.0.2.1,3260] added\n",
		it.out);
	assert_int_equal(STATUS_USAGE, iseradm(mode_node, "-o new -T iqn.x:n", a));
	assert_int_equal(0, it.answered);
}

static void updates_name_their_setting(void **state)
{
	const struct answer a[] = {{0, NULL, NULL}};

	(void)state;
	assert_int_equal(STATUS_OK,
		iseradm(mode_node, "-T iqn.x:a -o update -n node.startup -v automatic", a));
	assert_string_equal(
		"{\"verb\":\"node-update\",\"target\":\"iqn.x:a\",\"settings\":{\"node.startup\":"
		"\"automatic\"}}",
		it.asked[0]);
	assert_int_equal(STATUS_USAGE, iseradm(mode_node, "-o update -n node.startup", a));
	assert_int_equal(STATUS_USAGE, iseradm(mode_node, "-l -n node.startup -v manual", a));
	assert_non_null(strstr(it.err, "-n and -v belong to -o update"));
	assert_int_equal(STATUS_OK, iseradm(mode_node, "-T iqn.x:a -o delete", a));
	assert_string_equal("{\"verb\":\"node-delete\",\"target\":\"iqn.x:a\"}", it.asked[0]);
}

static void logins_may_be_for_all_or_for_some(void **state)
{
	const struct answer a[] = {{0, "{\"logins\": [{\"ok\": true}]}", NULL}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_node, "-T iqn.x:a --login", a));
	assert_string_equal("{\"verb\":\"login\",\"target\":\"iqn.x:a\"}", it.asked[0]);
	assert_int_equal(STATUS_OK, iseradm(mode_node, "--login all", a));
	assert_string_equal("{\"verb\":\"login\",\"startup\":\"all\"}", it.asked[0]);
	assert_int_equal(STATUS_OK, iseradm(mode_node, "--loginall=automatic", a));
	assert_string_equal("{\"verb\":\"login\",\"startup\":\"automatic\"}", it.asked[0]);
	assert_int_equal(STATUS_OK, iseradm(mode_node, "-L manual -W", a));
	assert_string_equal(
		"{\"verb\":\"login\",\"startup\":\"manual\",\"wait\":false}", it.asked[0]);
}

static void what_waits_is_told_to_who_wants_to_know(void **state)
{
	const struct answer a[] = {{0, "{\"logins\": [{\"ok\": true}]}",
		"{\"waiting\": {\"target\": \"iqn.x:a\"}, \"why\": \"h:1: refused; attempt 2 of 8 "
		"follows\"}"}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_node, "-T iqn.x:a -l -d 1", a));
	assert_non_null(strstr(it.err, "asked for \"login\"\n"));
	assert_non_null(strstr(it.err, "iseradm: h:1: refused; attempt 2 of 8 follows\n"));
	assert_string_equal("", it.out);
}

static void changes_that_failed_are_told_one_by_one(void **state)
{
	const struct answer a[] = {{0,
		"{\"status\": 15, \"failures\": [\"x is used\", \"y is used\"], \"deleted\": 1}",
		NULL}};

	(void)state;
	assert_int_equal(STATUS_EXISTS, iseradm(mode_node, "-o delete", a));
	assert_string_equal("iseradm: x is used\niseradm: y is used\n", it.err);
}

static void statistics_are_those_of_the_sessions(void **state)
{
	const struct answer a[] = {{0, "{\"sessions\": [{\"target\": \"iqn.x:a\"}]}", NULL}};
	const struct answer none[] = {{0, "{\"sessions\": []}", NULL}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_node, "-T iqn.x:a -s", a));
	assert_string_equal("{\"verb\":\"sessions\",\"target\":\"iqn.x:a\"}", it.asked[0]);
	assert_string_equal("statistics of iqn.x:a\n", it.out);
	assert_int_equal(STATUS_NOT_FOUND, iseradm(mode_node, "--stats", none));
}

static void logins_are_told_as_they_come(void **state)
{
	const struct answer a[] = {{0, "{\"logins\": [{\"target\": \"iqn.x:a\", \"ok\": true}]}",
		"{\"begun\": {\"target\": \"iqn.x:a\", \"portal\": \"192.0.2.1:3260\", "
		"\"transport\": "
		"\"iser\"}}"}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_node, "-T iqn.x:a -l", a));
	assert_string_equal(
		"Logging in to [iface: iser, target: iqn.x:a, portal: 192.0.2.1,3260]\n", it.out);
}

static void logout_and_rescan_are_asked_for(void **state)
{
	const struct answer a[] = {{0, "{}", NULL}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_node, "-T iqn.x:a -u --force", a));
	assert_string_equal(
		"{\"verb\":\"logout\",\"target\":\"iqn.x:a\",\"force\":true}", it.asked[0]);
	assert_int_equal(STATUS_OK, iseradm(mode_node, "-U all", a));
	assert_string_equal("{\"verb\":\"logout\",\"startup\":\"all\"}", it.asked[0]);
	assert_int_equal(STATUS_OK, iseradm(mode_node, "--logoutall=manual", a));
	assert_string_equal("{\"verb\":\"logout\",\"startup\":\"manual\"}", it.asked[0]);
	assert_int_equal(STATUS_OK, iseradm(mode_node, "-R", a));
	assert_string_equal("{\"verb\":\"rescan\"}", it.asked[0]);
}

static void wrong_words_are_usage(void **state)
{
	static const char *const lines[] = {
		"-l -u",
		"-l -o delete",
		"--login some",
		"--logout some",
		"-U some",
		"all",
		"-o rename",
		"-I ethernet",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(STATUS_USAGE, iseradm(mode_node, lines[i], NULL));
		assert_memory_equal("iseradm", it.err, 7);
		assert_int_equal(0, it.answered);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODE_TEST(records_are_listed),
		MODE_TEST(a_record_is_shown_as_iscsiadm_writes_it),
		MODE_TEST(a_record_that_cannot_be_read_is_told_beside_the_others),
		MODE_TEST(no_record_is_not_found),
		MODE_TEST(a_new_record_is_told_in_iscsiadms_words),
		MODE_TEST(updates_name_their_setting),
		MODE_TEST(logins_may_be_for_all_or_for_some),
		MODE_TEST(what_waits_is_told_to_who_wants_to_know),
		MODE_TEST(changes_that_failed_are_told_one_by_one),
		MODE_TEST(statistics_are_those_of_the_sessions),
		MODE_TEST(logins_are_told_as_they_come),
		MODE_TEST(logout_and_rescan_are_asked_for),
		MODE_TEST(wrong_words_are_usage),
	};

	return cmocka_run_group_tests(tests, NULL, last_output_is_freed);
}
