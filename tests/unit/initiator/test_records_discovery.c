/* Discovery records on disk. */
#include "tests/unit/initiator/fake_database.h"

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
		TEST(discovery_records_are_kept_beside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
