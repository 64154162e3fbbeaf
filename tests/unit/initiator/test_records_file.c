/* Record files: reading with line numbers, writing as a whole, open-iscsi's form. */
#include "tests/unit/initiator/fake_database.h"

static void a_mistake_in_a_file_is_told_with_its_line(void **state)
{
	static const struct {
		const char *text, *line, *says;
	} cases[] = {
		{"# BEGIN\n\nnode.name = " TARGET "\nnode.foo = 1\n", ":4:", "node.foo"},
		{"node.name\n", ":1:", "="},
		{"node.tpgt = 1\nnode.tpgt = 1\n", ":2:", "second time"},
		{"node.startup = never\n", ":1:", "manual"},
		{"\n\nnode.session.cmds_max = 1\n", ":3:", "2 to 2048"},
		{"node.name = " TARGET "\nnode.conn[0].address = 192.0.2.9\n", "", "is another"},
	};
	struct database *d = *state;
	struct node_record r = record(TARGET, "192.0.2.1", 1);

	assert_int_equal(records_write(d->db, &r, why), 0);
	strcpy(r.address, "192.0.2.2");
	assert_int_equal(records_write(d->db, &r, why), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned counts[2] = {0};

		write_file(d, "nodes/" TARGET "/192.0.2.1,3260,1/default", cases[i].text);
		assert_int_equal(records_each(d->db, &any, count_each, counts), 0);
		assert_int_equal(counts[0], 1); /* it does not hide the other */
		assert_int_equal(counts[1], 1);
		assert_non_null(strstr(why, cases[i].line));
		assert_non_null(strstr(why, cases[i].says));
		assert_null(strchr(why, '\n'));
	}
}

static void what_open_iscsi_writes_is_read(void **state)
{
	static const char text[] = "# BEGIN RECORD 2.1.8\n"
				   "node.name = " TARGET "\n"
				   "node.tpgt = 1\n"
				   "node.startup = automatic\n"
				   "node.leading_login = No\n"
				   "iface.hwaddress = <empty>\n"
				   "iface.ipaddress = <empty>\n"
				   "iface.iscsi_ifacename = default\n"
				   "iface.net_ifacename = <empty>\n"
				   "iface.transport_name = tcp\n"
				   "node.discovery_address = 192.0.2.1\n"
				   "node.discovery_port = 3260\n"
				   "node.discovery_type = send_targets\n"
				   "node.session.initial_cmdsn = 0\n"
				   "node.session.xmit_thread_priority = -20\n"
				   "node.session.nr_sessions = 1\n"
				   "node.session.auth.authmethod = CHAP\n"
				   "node.session.auth.username = <empty>\n"
				   "node.session.scan = auto\n"
				   "node.session.iscsi.FastAbort = Yes\n"
				   "node.conn[0].address = 192.0.2.1\n"
				   "node.conn[0].port = 3260\n"
				   "node.conn[0].startup = manual\n"
				   "node.conn[0].tcp.window_size = 524288\n"
				   "node.conn[0].timeo.auth_timeout = 45\n"
				   "node.conn[0].iscsi.IFMarker = No\n"
				   "# END RECORD\n";
	struct database *d = *state;
	struct node_record r = record(TARGET, "192.0.2.1", 1);

	assert_int_equal(records_write(d->db, &r, why), 0);
	write_file(d, "nodes/" TARGET "/192.0.2.1,3260,1/default", text);
	assert_int_equal(records_read(d->db, &any, &r, why), 0);
	assert_int_equal(r.startup, NODE_STARTUP_AUTOMATIC);
	assert_string_equal(r.username, "");
	assert_int_equal(r.authmethod, NODE_AUTH_CHAP);
}

static void files_that_are_no_text_are_refused(void **state)
{
	struct database *d = *state;
	struct node_record r = record(TARGET, "192.0.2.1", 1);
	char path[512];
	FILE *f;

	assert_int_equal(records_write(d->db, &r, why), 0);
	snprintf(path, sizeof(path), "%s/nodes/" TARGET "/192.0.2.1,3260,1/default", d->directory);
	f = fopen(path, "w");
	for (int i = 0; i < 70000; i++)
		fputc('#', f);
	fclose(f);
	assert_int_equal(records_read(d->db, &any, &r, why), -EINVAL);
	f = fopen(path, "w");
	fwrite("node.name\0 = x", 1, 14, f);
	fclose(f);
	assert_int_equal(records_read(d->db, &any, &r, why), -EINVAL);
	unlink(path);
	mkdir(path, 0700);
	assert_int_equal(records_read(d->db, &any, &r, why), -EINVAL);
}

static void a_write_that_fails_leaves_the_old_record(void **state)
{
	struct database *d = *state;
	struct node_record r = record(TARGET, "192.0.2.1", 1);
	unsigned counts[2] = {0};

	assert_int_equal(records_write(d->db, &r, why), 0);
	r.queue_depth = 99;
	sys_fail_nth(1, ENOSPC);
	assert_int_equal(records_write(d->db, &r, why), -ENOSPC);
	sys_fail_nth(0, 0);
	assert_non_null(strstr(why, "No space"));
	assert_int_equal(records_read(d->db, &any, &r, why), 0);
	assert_int_equal(r.queue_depth, 32);
	assert_int_equal(records_each(d->db, &any, count_each, counts), 0);
	assert_int_equal(counts[0] + counts[1], 1); /* and nothing else */
}

static void running_out_of_memory_is_told(void **state)
{
	struct database *d = *state;
	struct node_record r = record(TARGET, "192.0.2.1", 1), back;
	int done = 0;

	for (unsigned long n = 1; !done; n++) {
		assert_true(n < 100);
		alloc_fail_nth(n);
		why[0] = 0;
		done = records_write(d->db, &r, why) == 0 &&
		       records_read(d->db, &any, &back, why) == 0;
		alloc_fail_nth(0);
		assert_true(done || *why);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_mistake_in_a_file_is_told_with_its_line),
		TEST(what_open_iscsi_writes_is_read),
		TEST(files_that_are_no_text_are_refused),
		TEST(a_write_that_fails_leaves_the_old_record),
		TEST(running_out_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
