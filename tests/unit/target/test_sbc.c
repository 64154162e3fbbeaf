/* Block commands without data of the medium (target/sbc.c): SBC-3 section 5. */
#include "tests/unit/target/device_server.h"

#include "common/scsi/capacity.h"

static void capacity_of_ten_and_sixteen(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];
	struct scsi_capacity c;

	(void)state;
	cdb_read_capacity10(cdb);
	assert_good(server_in(s, cdb, 8));
	assert_int_equal(capacity10_decode(v->memory, 8, &c), 0);
	assert_int_equal(c.last_lba, 65535);
	assert_int_equal(c.block_size, 512);
	cdb_read_capacity16(cdb, 32);
	assert_good(server_in(s, cdb, 32));
	assert_int_equal(capacity16_decode(v->memory, 32, &c), 0);
	assert_int_equal(c.last_lba, 65535);
	assert_int_equal(c.physical_exponent, 3);
	assert_true(c.provisioning_managed && c.reads_zeros && !c.protected);
	for (uint32_t n = 0; n < 32; n++) {
		cdb_read_capacity16(cdb, n);
		assert_int_equal(server_in(s, cdb, 32)->put_end, n);
	}
	server_free(v);
}

static void capacity_with_an_lba_but_no_pmi_is_refused(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	cdb_read_capacity10(cdb);
	cdb[5] = 1;
	assert_sense(server_in(s, cdb, 8), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	cdb[8] = 1;
	assert_good(server_in(s, cdb, 8));
	server_free(v);
}

static void synchronize_cache_flushes(void **state)
{
	struct fault_config fault = {
		.rules = {{.operation = BACKEND_FLUSH, .after = 2, .error = EIO}},
		.rule_count = 1,
	};
	struct server *v = server_new_with((struct server_config){.fault = &fault});
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	cdb_sync_cache10(cdb, 0, 0);
	assert_good(server_none(s, cdb));
	cdb_sync_cache16(cdb, 10, 5);
	assert_good(server_none(s, cdb));
	assert_sense(server_none(s, cdb), SENSE_MEDIUM_ERROR, ASC_WRITE_ERROR);
	cdb_sync_cache16(cdb, 65537, 0);
	assert_sense(server_none(s, cdb), SENSE_ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	server_free(v);
}

static void lba_status_says_mapped_to_the_end(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE] = {SCSI_SERVICE_ACTION_IN_16, SCSI_GET_LBA_STATUS};

	(void)state;
	put_be64(cdb + 2, 65000);
	put_be32(cdb + 10, 24);
	assert_good(server_in(s, cdb, 24));
	assert_int_equal(get_be32(v->memory), 20);
	assert_int_equal(get_be64(v->memory + 8), 65000);
	assert_int_equal(get_be32(v->memory + 16), 536);
	assert_int_equal(v->memory[20], 0);
	put_be64(cdb + 2, 65536);
	assert_sense(server_in(s, cdb, 24), SENSE_ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	server_free(v);
}

static void stopped_unit_is_not_ready_until_it_is_started(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	cdb_start_stop_unit(cdb, false);
	assert_good(server_none(s, cdb));
	cdb_test_unit_ready(cdb);
	assert_sense(server_none(s, cdb), SENSE_NOT_READY,
		ASC_LOGICAL_UNIT_NOT_READY_INITIALIZING_COMMAND_REQUIRED);
	cdb_read_write(cdb, SCSI_DATA_IN, 0, 1, false, &size);
	assert_sense(server_in(s, cdb, 512), SENSE_NOT_READY,
		ASC_LOGICAL_UNIT_NOT_READY_INITIALIZING_COMMAND_REQUIRED);
	cdb_start_stop_unit(cdb, true);
	assert_good(server_none(s, cdb));
	server_read(s, 0, 1, 512);
	server_free(v);
}

static void power_conditions_change_nothing(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	cdb_start_stop_unit(cdb, false);
	cdb[4] = 0x30; /* STANDBY */
	assert_good(server_none(s, cdb));
	cdb_test_unit_ready(cdb);
	assert_good(server_none(s, cdb));
	memset(cdb, 0, sizeof(cdb));
	cdb[0] = SCSI_PREVENT_ALLOW_MEDIUM_REMOVAL;
	cdb[4] = 1;
	assert_good(server_none(s, cdb));
	server_free(v);
}

static void pre_fetch_checks_its_range(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE] = {SCSI_PRE_FETCH_10, 0x02, 0, 0, 0, 0, 3, 0, 1};

	(void)state;
	assert_good(server_none(s, cdb));
	put_be32(cdb + 2, 65536);
	assert_sense(server_none(s, cdb), SENSE_ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capacity_of_ten_and_sixteen),
		cmocka_unit_test(capacity_with_an_lba_but_no_pmi_is_refused),
		cmocka_unit_test(synchronize_cache_flushes),
		cmocka_unit_test(lba_status_says_mapped_to_the_end),
		cmocka_unit_test(stopped_unit_is_not_ready_until_it_is_started),
		cmocka_unit_test(power_conditions_change_nothing),
		cmocka_unit_test(pre_fetch_checks_its_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
