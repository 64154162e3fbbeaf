/* isertadm show: the daemon, its portals, targets and LUNs (target/cli/show.c). */
#define CLI_KIT_TOOL
#include "tests/unit/target/cli/cli_kit.h"

#include "target/cli/show.c"

static const char whole[] =
	"{\"version\":\"v1\",\"pid\":42,\"uptime_s\":9,\"loops\":2,\"sessions\":1,"
	"\"config\":\"/etc/iseran/isertd.yaml\",\"portals\":[\"0.0.0.0:3260\"],\"targets\":["
	"{\"name\":\"iqn.2026-01.org.example:a\",\"alias\":\"Disks\",\"chap\":true,\"chap_name\":"
	"\"joe\","
	"\"initiators\":[{\"name\":\"iqn.2026-01.org.example:h*\",\"chap\":true,"
	"\"chap_name\":\"ann\",\"chap_mutual_name\":\"disk\",\"luns\":[0,3]}],\"luns\":[{\"lun\":0,"
	"\"backend\":\"file\","
	"\"path\":\"/srv/a.img\",\"size\":1073741824,\"block_size\":4096,\"readonly\":true,"
	"\"write_cache\":true}]},"
	"{\"name\":\"iqn.2026-01.org.example:b\",\"alias\":null,\"chap\":false,\"initiators\":[],"
	"\"luns\":[{\"lun\":7,\"backend\":\"memory\",\"path\":null,\"size\":1048576,"
	"\"block_size\":512,\"readonly\":false,\"write_cache\":false,"
	"\"delay\":{\"read_ns\":5000000,\"write_ns\":1500,\"flush_ns\":0},\"faults\":["
	"{\"operation\":\"write\",\"from\":4096,\"to\":8192,\"after\":2,\"count\":1,"
	"\"error\":\"ENOSPC\"},{\"operation\":\"any\",\"error\":\"EIO\"}]}]}]}";

static void targets_are_shown_with_their_luns(void **state)
{
	(void)state;
	isertd.reply = whole;
	call(verb_show, 1, "show");
	assert_int_equal(ran.status, EXIT_OK);
	prints("isertd v1, pid 42, up 9 s, loops 2, sessions 1, configuration "
	       "/etc/iseran/isertd.yaml\n");
	prints("listening on 0.0.0.0:3260\n");
	prints("\niqn.2026-01.org.example:a  \"Disks\"\n    initiators, with CHAP as joe:\n"
	       "        iqn.2026-01.org.example:h*, with CHAP as ann, mutual as disk, LUNs 0 "
	       "3\n");
	prints("4096-byte blocks  file /srv/a.img, read-only\n");
	prints("\niqn.2026-01.org.example:b\n    open to every initiator\n");
	prints("512-byte blocks  memory, no write cache\n"
	       "        delay: read 5 ms, write 1500 ns, flush 0 s\n"
	       "        fault: write fails with ENOSPC in bytes 4096 to 8192, after 2 that "
	       "succeed, 1 times\n"
	       "        fault: any fails with EIO\n");
}

static void a_daemon_without_targets(void **state)
{
	(void)state;
	isertd.reply = "{\"version\":\"v1\",\"config\":\"command line\",\"targets\":[]}";
	call(verb_show, 1, "show");
	assert_int_equal(ran.status, EXIT_OK);
	prints("configuration command line\n");
}

static void a_word_too_much_is_refused(void **state)
{
	(void)state;
	call(verb_show, 2, "show", "me");
	assert_int_equal(ran.status, EXIT_USAGE);
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(targets_are_shown_with_their_luns),
		TEST(a_daemon_without_targets),
		TEST(a_word_too_much_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
