/* The node database on disk: layout, reading with line numbers, atomic writing, filters
 * (open-iscsi's directory layout). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "initiator/records.h"

#define TARGET "iqn.2026-11.org.example:disk"

static char why[RECORDS_WHY_SIZE];

struct database {
	char directory[64];
	struct records *db;
};

static int database_setup(void **state)
{
	struct database *d = calloc(1, sizeof(*d));

	strcpy(d->directory, "/tmp/iseran-records-XXXXXX");
	assert_non_null(mkdtemp(d->directory));
	assert_int_equal(records_open(d->directory, &d->db, why), 0);
	*state = d;
	return 0;
}

static int database_teardown(void **state)
{
	struct database *d = *state;
	char command[128];
	int r;

	records_close(d->db);
	assert_int_equal(alloc_live(), 0);
	snprintf(command, sizeof(command), "rm -rf %s", d->directory);
	r = system(command);
	free(d);
	return r;
}

static struct node_record record(const char *target, const char *address, uint32_t tpgt)
{
	struct node_record r;

	node_record_default(&r, NODE_TRANSPORT_TCP);
	strcpy(r.target_name, target);
	strcpy(r.address, address);
	r.tpgt = tpgt;
	return r;
}

static void write_file(const struct database *d, const char *path, const char *text)
{
	char whole[512];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s/%s", d->directory, path);
	f = fopen(whole, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static const struct record_filter any = {.tpgt = -1};

static void a_record_that_was_written_is_read_again(void **state)
{
	struct database *d = *state;
	struct node_record r = record(TARGET, "192.0.2.1", 1), back;
	char path[512];
	struct stat st;

	r.queue_depth = 77;
	strcpy(r.username, "user");
	strcpy(r.password, "secret = with # signs");
	assert_int_equal(records_write(d->db, &r, why), 0);
	assert_int_equal(records_read(d->db, &any, &back, why), 0);
	assert_memory_equal(&r, &back, sizeof(r));
	snprintf(path, sizeof(path), "%s/nodes/" TARGET "/192.0.2.1,3260,1/default", d->directory);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void the_initiators_name_is_made_once(void **state)
{
	struct database *d = *state;
	char name[256];

	strcpy(name, records_initiator_name(d->db));
	assert_memory_equal(name, "iqn.2026-11.org.iseran:", 23);
	assert_int_equal(strlen(name), 23 + 12);
	assert_int_equal(records_check_name(name, why), 0);
	records_close(d->db);
	assert_int_equal(records_open(d->directory, &d->db, why), 0);
	assert_string_equal(records_initiator_name(d->db), name);
	records_close(d->db);
	write_file(d, "initiatorname", "# mine\nInitiatorName=iqn.1993-08.org.debian:01:abc \n");
	assert_int_equal(records_open(d->directory, &d->db, why), 0);
	assert_string_equal(records_initiator_name(d->db), "iqn.1993-08.org.debian:01:abc");
	records_close(d->db);
	write_file(d, "initiatorname", "InitiatorName=me\n");
	d->db = NULL;
	assert_int_equal(records_open(d->directory, &d->db, why), -EINVAL);
	assert_non_null(strstr(why, "initiatorname"));
	assert_null(d->db);
}

static int count_each(void *arg, const struct node_record *r, const char *reason)
{
	unsigned *counts = arg;

	counts[r ? 0 : 1]++;
	if (!r)
		snprintf(why, sizeof(why), "%s", reason);
	return 0;
}

static void filters_choose(void **state)
{
	struct database *d = *state;
	struct node_record all[] = {record(TARGET "1", "192.0.2.1", 1),
		record(TARGET "1", "192.0.2.2", 1), record(TARGET "2", "192.0.2.1", 2),
		record(TARGET "2", "fe80::1%eth0", 2)};
	static const struct {
		struct record_filter filter;
		unsigned count;
	} cases[] = {
		{{.tpgt = -1}, 4},
		{{.target_name = TARGET "1", .tpgt = -1}, 2},
		{{.address = "192.0.2.1", .tpgt = -1}, 2},
		{{.address = "fe80::1%eth0", .tpgt = -1}, 1},
		{{.tpgt = 2}, 2},
		{{.port = 3261, .tpgt = -1}, 0},
		{{.iface = "iser", .tpgt = -1}, 0},
		{{.iface = "default", .tpgt = -1}, 4},
	};

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(records_write(d->db, &all[i], why), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned counts[2] = {0};
		int r = records_each(d->db, &cases[i].filter, count_each, counts);

		assert_int_equal(counts[0], cases[i].count);
		assert_int_equal(r, cases[i].count ? 0 : -ENOENT);
	}
}

static void a_portal_that_was_renumbered_replaces_the_older(void **state)
{
	struct database *d = *state;
	struct node_record r = record(TARGET, "192.0.2.1", 1);
	unsigned counts[2] = {0};

	assert_int_equal(records_write(d->db, &r, why), 0);
	r.tpgt = 5;
	assert_int_equal(records_write(d->db, &r, why), 0);
	assert_int_equal(records_each(d->db, &any, count_each, counts), 0);
	assert_int_equal(counts[0], 1);
	assert_int_equal(records_read(d->db, &any, &r, why), 0);
	assert_int_equal(r.tpgt, 5);
}

static int delete_each(void *arg, const struct node_record *r, const char *reason)
{
	(void)reason;
	return records_delete(arg, r, why);
}

static void records_can_be_deleted_while_they_are_walked(void **state)
{
	struct database *d = *state;
	struct node_record r = record(TARGET, "192.0.2.1", 1);
	char path[512];

	assert_int_equal(records_write(d->db, &r, why), 0);
	strcpy(r.address, "192.0.2.2");
	assert_int_equal(records_write(d->db, &r, why), 0);
	assert_int_equal(records_each(d->db, &any, delete_each, d->db), 0);
	assert_int_equal(records_each(d->db, &any, delete_each, d->db), -ENOENT);
	snprintf(path, sizeof(path), "%s/nodes/" TARGET, d->directory);
	assert_int_equal(access(path, F_OK), -1); /* no empty directory is left */
	assert_int_equal(records_delete(d->db, &r, why), -ENOENT);
}

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

static int count_discovery(void *arg, const struct discovery_record *r, const char *reason)
{
	unsigned *counts = arg;

	(void)reason;
	counts[r ? 0 : 1]++;
	return 0;
}

static void discovery_records_are_kept_beside(void **state)
{
	struct database *d = *state;
	struct discovery_record r, back;
	unsigned counts[2] = {0};

	assert_int_equal(records_discovery_each(d->db, count_discovery, counts), -ENOENT);
	discovery_record_default(&r, NODE_TRANSPORT_ISER);
	assert_int_equal(records_discovery_write(d->db, &r, why), -EINVAL);
	strcpy(r.address, "192.0.2.1");
	assert_int_equal(records_discovery_write(d->db, &r, why), 0);
	assert_int_equal(records_discovery_read(d->db, "192.0.2.1", 3260, &back, why), 0);
	assert_memory_equal(&r, &back, sizeof(r));
	write_file(d, "send_targets/192.0.2.2,3260", "nonsense\n");
	assert_int_equal(records_discovery_each(d->db, count_discovery, counts), 0);
	assert_int_equal(counts[0], 1);
	assert_int_equal(counts[1], 1);
	assert_int_equal(records_discovery_delete(d->db, "192.0.2.1", 3260, why), 0);
	assert_int_equal(records_discovery_read(d->db, "192.0.2.1", 3260, &back, why), -ENOENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_record_that_was_written_is_read_again),
		TEST(the_initiators_name_is_made_once),
		TEST(filters_choose),
		TEST(a_portal_that_was_renumbered_replaces_the_older),
		TEST(records_can_be_deleted_while_they_are_walked),
		TEST(a_mistake_in_a_file_is_told_with_its_line),
		TEST(what_open_iscsi_writes_is_read),
		TEST(files_that_are_no_text_are_refused),
		TEST(a_write_that_fails_leaves_the_old_record),
		TEST(running_out_of_memory_is_told),
		TEST(discovery_records_are_kept_beside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
