/* iseradm -m discovery: what is asked, what is shown, and the logins that may follow. */
#include "tests/unit/initiator/cli/mode_kit.h"

#include "initiator/cli/value.c"

#include "initiator/cli/mode_discovery.c"

#define TWO                                                                                        \
	"{\"targets\": [{\"target\": \"iqn.x:a\", \"portal\": \"192.0.2.1:3260\", \"tpgt\": 1},"   \
	" {\"target\": \"iqn.x:b\", \"portal\": \"192.0.2.1:3260\", \"tpgt\": 2}],"                \
	" \"truncated\": false}"

static void targets_are_listed_as_iscsiadm_does(void **state)
{
	const struct answer a[] = {{0, TWO, NULL}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_discovery, "-t st -p 192.0.2.1", a));
	assert_string_equal("{\"verb\":\"discovery\",\"portal\":\"192.0.2.1\"}", it.asked[0]);
	assert_string_equal("192.0.2.1:3260,1 iqn.x:a\n192.0.2.1:3260,2 iqn.x:b\n", it.out);
	assert_int_equal(STATUS_OK, iseradm(mode_discovery, "-p 192.0.2.1 -I default -P 1", a));
	assert_string_equal(
		"{\"verb\":\"discovery\",\"portal\":\"192.0.2.1\",\"transport\":\"tcp\"}",
		it.asked[0]);
	assert_string_equal("Target: iqn.x:a\n\tPortal: 192.0.2.1:3260,1\n"
			    "Target: iqn.x:b\n\tPortal: 192.0.2.1:3260,2\n",
		it.out);
}

static void a_list_that_was_cut_is_said_so(void **state)
{
	const struct answer a[] = {{0,
		"{\"targets\": [{\"target\": \"iqn.x:a\", \"portal\": \"192.0.2.1:3260\", "
		"\"tpgt\": 1}],"
		" \"truncated\": true}",
		NULL}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_discovery, "-p 192.0.2.1", a));
	assert_string_equal("iseradm: there are more targets than can be listed\n", it.err);
}

static void no_target_is_not_found(void **state)
{
	const struct answer a[] = {{0, "{\"targets\": []}", NULL}};

	(void)state;
	assert_int_equal(STATUS_NOT_FOUND, iseradm(mode_discovery, "-p 192.0.2.1", a));
	assert_string_equal("iseradm: 192.0.2.1 tells of no target that we may see\n", it.err);
}

static void a_refused_connection_is_told(void **state)
{
	const struct answer a[] = {
		{STATUS_NO_DAEMON, "{\"error\": \"192.0.2.1:3260: connection refused\"}", NULL}};

	(void)state;
	assert_int_equal(STATUS_NO_DAEMON, iseradm(mode_discovery, "-p 192.0.2.1 -l", a));
	assert_string_equal("iseradm: 192.0.2.1:3260: connection refused\n", it.err);
	assert_int_equal(1, it.answered);
}

static void login_follows_for_each_target(void **state)
{
	const struct answer a[] = {
		{0, TWO, NULL},
		{0,
			"{\"logins\": [{\"target\": \"iqn.x:a\", \"portal\": \"192.0.2.1:3260\","
			" \"transport\": \"iser\", \"ok\": false, \"status\": 4, \"error\": "
			"\"no\"}]}",
			NULL},
		{0, "{\"logins\": [{\"ok\": true}]}", NULL},
	};

	(void)state;
	/* the first failure is what the tool ends with; the others are tried all the same */
	assert_int_equal(
		STATUS_UNREACHABLE, iseradm(mode_discovery, "-p 192.0.2.1 -I iser --login", a));
	assert_int_equal(3, it.answered);
	assert_string_equal(
		"{\"verb\":\"login\",\"target\":\"iqn.x:a\",\"portal\":\"192.0.2.1:3260\","
		"\"transport\":\"iser\"}",
		it.asked[1]);
	assert_non_null(strstr(it.asked[2], "iqn.x:b"));
	assert_non_null(strstr(it.err, "Could not login to [iface: iser, target: iqn.x:a"));
}

static void chap_goes_along_under_the_names_of_the_settings(void **state)
{
	const struct answer a[] = {{0, TWO, NULL}};

	(void)state;
	assert_int_equal(
		STATUS_OK, iseradm(mode_discovery,
				   "-p 192.0.2.1 --username me --password secret --username-in it "
				   "--password-in other",
				   a));
	assert_string_equal("{\"verb\":\"discovery\",\"portal\":\"192.0.2.1\",\"auth\":{"
			    "\"username\":\"me\",\"password\":\"secret\",\"username_in\":\"it\","
			    "\"password_in\":\"other\"}}",
		it.asked[0]);
	assert_int_equal(STATUS_USAGE, iseradm(mode_discovery, "-p 192.0.2.1 --username me", a));
	assert_non_null(strstr(it.err, "--username needs --password"));
}

static void a_secret_whose_file_is_missing_asks_nothing(void **state)
{
	(void)state;
	assert_int_not_equal(
		STATUS_OK, iseradm(mode_discovery,
				   "-p h --username me --password @/nonexistent/secret", NULL));
	assert_non_null(strstr(it.err, "/nonexistent/secret"));
	assert_int_equal(0, it.answered);
}

static void earlier_discoveries_are_listed(void **state)
{
	const struct answer a[] = {{0,
		"{\"discoveries\": [{\"portal\": \"192.0.2.1:3260\", \"transport\": \"iser\","
		" \"targets\": [{\"target\": \"iqn.x:a\", \"portal\": \"192.0.2.1:3260\", "
		"\"tpgt\": 1}]}"
		"], \"warnings\": [\"/s/send_targets/x:3: no setting\"]}",
		NULL}};
	const struct answer none[] = {{0, "{\"discoveries\": []}", NULL}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_discovery, "", a));
	assert_string_equal("{\"verb\":\"discovery-list\"}", it.asked[0]);
	assert_string_equal("192.0.2.1:3260 via sendtargets over iser\n", it.out);
	assert_string_equal("iseradm: warning: /s/send_targets/x:3: no setting; it is passed "
			    "over\n",
		it.err);
	assert_int_equal(STATUS_OK, iseradm(mode_discovery, "-P 1", a));
	assert_memory_equal(
		"SENDTARGETS:\nDiscoveryAddress: 192.0.2.1,3260\nTarget: iqn.x:a\n", it.out, 62);
	assert_int_equal(STATUS_NOT_FOUND, iseradm(mode_discovery, "", none));
	assert_string_equal("iseradm: No records found\n", it.err);
}

static void records_are_shown_and_deleted_by_their_portal(void **state)
{
	const struct answer shown[] = {
		{0, "{\"settings\": {\"discovery.sendtargets.port\": \"3260\"}}", NULL}};
	const struct answer a[] = {{0, "{}", NULL}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_discovery, "-t st -p h -o show", shown));
	assert_string_equal("{\"verb\":\"discovery-show\",\"portal\":\"h\"}", it.asked[0]);
	assert_non_null(strstr(it.out, "\ndiscovery.sendtargets.port = 3260\n# END RECORD\n"));
	assert_int_equal(STATUS_OK, iseradm(mode_discoverydb, "-t st -p h", shown));
	assert_string_equal("{\"verb\":\"discovery-show\",\"portal\":\"h\"}", it.asked[0]);
	assert_int_equal(STATUS_OK, iseradm(mode_discovery, "-t st -p h -o delete", a));
	assert_string_equal("{\"verb\":\"discovery-delete\",\"portal\":\"h\"}", it.asked[0]);
	assert_int_equal(STATUS_OK, iseradm(mode_discoverydb, "-t st -p h -o delete", a));
	assert_string_equal("{\"verb\":\"discovery-delete\",\"portal\":\"h\"}", it.asked[0]);
}

static void discoverydb_asks_when_it_is_told_to(void **state)
{
	const struct answer a[] = {{0, TWO, NULL}};
	const struct answer none[] = {{0, "{}", NULL}};

	(void)state;
	assert_int_equal(STATUS_OK,
		iseradm(mode_discoverydb, "-t sendtargets -p h -I default --discover", a));
	assert_string_equal(
		"{\"verb\":\"discovery\",\"portal\":\"h\",\"transport\":\"tcp\"}", it.asked[0]);
	assert_int_equal(STATUS_OK, iseradm(mode_discovery, "-t st -p h -o nonpersistent", a));
	assert_string_equal(
		"{\"verb\":\"discovery\",\"portal\":\"h\",\"nonpersistent\":true}", it.asked[0]);
	assert_int_equal(STATUS_OK, iseradm(mode_discoverydb, "-t st -p h:1 -o new", none));
	assert_string_equal("{\"verb\":\"discovery-new\",\"portal\":\"h:1\"}", it.asked[0]);
	assert_string_equal("New discovery record for [h,1] added.\n", it.out);
	assert_int_equal(STATUS_OK,
		iseradm(mode_discoverydb, "-t st -p h -o update -n a -v 1 -n b -v 2", none));
	assert_string_equal("{\"verb\":\"discovery-update\",\"portal\":\"h\","
			    "\"settings\":{\"a\":\"1\",\"b\":\"2\"}}",
		it.asked[0]);
	assert_int_equal(
		STATUS_USAGE, iseradm(mode_discoverydb, "-t st -p h -o update -n a", none));
	assert_int_equal(STATUS_USAGE, iseradm(mode_discoverydb, "-t st -p h -l", none));
	assert_int_equal(STATUS_USAGE, iseradm(mode_discoverydb, "-o delete", none));
	assert_int_equal(0, it.answered);
}

static void wrong_words_are_usage(void **state)
{
	(void)state;
	assert_int_equal(STATUS_USAGE, iseradm(mode_discovery, "-p h -o update -n a -v b", NULL));
	assert_int_equal(STATUS_DISCOVERY_TYPE, iseradm(mode_discovery, "-t isns -p h", NULL));
	assert_non_null(strstr(it.err, "sendtargets (or st) is the only type"));
	assert_int_equal(STATUS_USAGE, iseradm(mode_discovery, "-t st", NULL));
	assert_non_null(strstr(it.err, "which portal?"));
	assert_int_equal(STATUS_USAGE, iseradm(mode_discovery, "-p h -I rds", NULL));
	assert_non_null(strstr(it.err, "-I rds"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODE_TEST(targets_are_listed_as_iscsiadm_does),
		MODE_TEST(a_list_that_was_cut_is_said_so),
		MODE_TEST(no_target_is_not_found),
		MODE_TEST(a_refused_connection_is_told),
		MODE_TEST(login_follows_for_each_target),
		MODE_TEST(chap_goes_along_under_the_names_of_the_settings),
		MODE_TEST(a_secret_whose_file_is_missing_asks_nothing),
		MODE_TEST(earlier_discoveries_are_listed),
		MODE_TEST(records_are_shown_and_deleted_by_their_portal),
		MODE_TEST(discoverydb_asks_when_it_is_told_to),
		MODE_TEST(wrong_words_are_usage),
	};

	return cmocka_run_group_tests(tests, NULL, last_output_is_freed);
}
