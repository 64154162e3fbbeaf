/* The node database on disk: layout, reading with line numbers, atomic writing, filters
 * (open-iscsi's directory layout). */
#include "tests/unit/initiator/fake_database.h"

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

#define A "iqn.2026-11.org.example:a"
#define Z "iqn.2026-11.org.example:z"
#define MISPLACED "iqn.2026-11.org.example:m" /* a file, where targets are directories */

/* Two records and a stray file; one record and the file cannot be used. */
static void spoilt_database(struct database *d)
{
	struct node_record a = record(A, "192.0.2.1", 1), z = record(Z, "192.0.2.1", 1);

	assert_int_equal(records_write(d->db, &a, why), 0);
	assert_int_equal(records_write(d->db, &z, why), 0);
	write_file(d, "nodes/" A "/192.0.2.1,3260,1/default", "\nnode.x = 1\n");
	write_file(d, "nodes/" MISPLACED, "what is this?\n");
}

static void what_cannot_be_used_hides_no_other_record(void **state)
{
	struct database *d = *state;
	struct record_filter alone = {.tpgt = -1, .target_name = A};
	unsigned counts[2] = {0};

	spoilt_database(d);
	assert_int_equal(records_each(d->db, &any, count_each, counts), 0);
	assert_int_equal(counts[0], 1);
	assert_int_equal(counts[1], 2);
	assert_non_null(strstr(why, MISPLACED ": cannot list: Not a directory"));
	/* it is a record that is there */
	assert_int_equal(records_each(d->db, &alone, count_each, counts), 0);
	assert_non_null(strstr(why, "default:2: \"node.x\" is no setting"));
}

static void what_cannot_be_used_is_deleted_by_its_place(void **state)
{
	struct database *d = *state;
	struct record_filter elsewhere = {.tpgt = -1, .target_name = A, .port = 3261};
	unsigned counts[2] = {0};

	assert_int_equal(records_delete_unusable(d->db, &any, why), 0);
	spoilt_database(d);
	assert_int_equal(records_delete_unusable(d->db, &elsewhere, why), 0);
	records_each(d->db, &any, count_each, counts);
	assert_int_equal(counts[1], 2);
	assert_int_equal(records_delete_unusable(d->db, &any, why), 0);
	memset(counts, 0, sizeof(counts));
	records_each(d->db, &any, count_each, counts);
	assert_int_equal(counts[0], 1);
	assert_int_equal(counts[1], 0);
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
		TEST(what_cannot_be_used_hides_no_other_record),
		TEST(what_cannot_be_used_is_deleted_by_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
