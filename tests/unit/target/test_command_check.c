/* What is checked before a command is parsed (target/command_check.c), and in which order: SAM-5
 * section 5.14, SPC-4 sections 4.5.2.4 and 5.13.3. */
#include "tests/unit/target/device_server.h"

static void aca_attribute_is_refused(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	cdb_test_unit_ready(cdb);
	assert_sense(server_do(s, (struct server_send){.cdb = cdb, .attribute = ISCSI_ATTR_ACA}),
		SENSE_ILLEGAL_REQUEST, ASC_INVALID_MESSAGE_ERROR);
	server_free(v);
}

static void missing_lun_is_told_apart(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	cdb_test_unit_ready(cdb);
	assert_sense(server_do(s, (struct server_send){.cdb = cdb, .lun = 7}),
		SENSE_ILLEGAL_REQUEST, ASC_LOGICAL_UNIT_NOT_SUPPORTED);
	cdb_inquiry(cdb, 96);
	assert_good(server_do(
		s, (struct server_send){.cdb = cdb, .lun = 7, .read = true, .length = 96}));
	assert_int_equal(v->memory[0], 0x7f);
	server_free(v);
}

static void unknown_operation_and_service_action(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE] = {0xd5};

	(void)state;
	assert_sense(
		server_none(s, cdb), SENSE_ILLEGAL_REQUEST, ASC_INVALID_COMMAND_OPERATION_CODE);
	memset(cdb, 0, sizeof(cdb));
	cdb[0] = SCSI_SERVICE_ACTION_IN_16;
	cdb[1] = 0x1f;
	assert_sense(server_none(s, cdb), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	server_free(v);
}

static void reserved_bit_is_pointed_at(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];
	struct server_result *r;

	(void)state;
	cdb_test_unit_ready(cdb);
	cdb[3] = 0x10;
	r = server_none(s, cdb);
	assert_sense(r, SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	assert_true(r->sense.field_valid && r->sense.field_in_cdb);
	assert_int_equal(r->sense.field_byte, 3);
	assert_int_equal(r->sense.field_bit, 4);
	server_free(v);
}

static void attention_is_reported_once_and_not_by_inquiry(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	nexus_attention(s->nexus, 0x2900);
	cdb_inquiry(cdb, 36);
	assert_good(server_in(s, cdb, 36));
	cdb_test_unit_ready(cdb);
	assert_sense(
		server_none(s, cdb), SENSE_UNIT_ATTENTION, ASC_POWER_ON_RESET_OR_BUS_DEVICE_RESET);
	assert_good(server_none(s, cdb));
	server_free(v);
}

static void write_protected_unit_reads_only(void **state)
{
	struct server *v = server_new_with((struct server_config){.readonly = true});
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE], data[512] = {0};
	unsigned size;

	(void)state;
	server_read(s, 0, 1, 512);
	cdb_read_write(cdb, SCSI_DATA_OUT, 0, 1, false, &size);
	assert_sense(server_out(s, cdb, data, 512), SENSE_DATA_PROTECT, ASC_WRITE_PROTECTED);
	server_free(v);
}

static void another_has_reserved(struct server *v)
{
	struct tgt_session *other = server_session(v, 1);
	uint8_t cdb[CDB_SIZE];

	cdb_reserve6(cdb);
	assert_good(server_none(other, cdb));
}

/* SAM-5 section 5.14.4: the attention comes before the conflict; it is not lost either way. */
static void attention_comes_before_a_reservation_conflict(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	another_has_reserved(v);
	nexus_attention(s->nexus, 0x2a01);
	cdb_test_unit_ready(cdb);
	assert_sense(server_none(s, cdb), SENSE_UNIT_ATTENTION, ASC_MODE_PARAMETERS_CHANGED);
	assert_int_equal(server_none(s, cdb)->status, SCSI_RESERVATION_CONFLICT);
	server_free(v);
}

static void what_is_no_command_does_not_use_up_an_attention(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE] = {0xd5};

	(void)state;
	nexus_attention(s->nexus, 0x2a01);
	assert_sense(
		server_none(s, cdb), SENSE_ILLEGAL_REQUEST, ASC_INVALID_COMMAND_OPERATION_CODE);
	cdb_test_unit_ready(cdb);
	cdb[2] = 1;
	assert_sense(server_none(s, cdb), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	cdb[2] = 0;
	assert_sense(server_none(s, cdb), SENSE_UNIT_ATTENTION, ASC_MODE_PARAMETERS_CHANGED);
	server_free(v);
}

static void conflict_comes_before_what_the_unit_says(void **state)
{
	struct server *v = server_new_with((struct server_config){.readonly = true});
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE], data[512] = {0};
	unsigned size;

	(void)state;
	another_has_reserved(v);
	atomic_store(&v->device->stopped, true);
	cdb_read_write(cdb, SCSI_DATA_OUT, 0, 1, false, &size);
	assert_int_equal(server_out(s, cdb, data, 512)->status, SCSI_RESERVATION_CONFLICT);
	server_free(v);
}

static void stopped_comes_before_write_protected(void **state)
{
	struct server *v = server_new_with((struct server_config){.readonly = true});
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE], data[512] = {0};
	unsigned size;

	(void)state;
	atomic_store(&v->device->stopped, true);
	cdb_read_write(cdb, SCSI_DATA_OUT, 0, 1, false, &size);
	assert_sense(server_out(s, cdb, data, 512), SENSE_NOT_READY,
		ASC_LOGICAL_UNIT_NOT_READY_INITIALIZING_COMMAND_REQUIRED);
	/* What does not touch the medium is answered (SBC-3 section 4.20.2). */
	cdb_inquiry(cdb, 36);
	assert_good(server_in(s, cdb, 36));
	cdb_mode_sense6(cdb, 0x3f, 0, false, 255);
	assert_good(server_in(s, cdb, 255));
	server_free(v);
}

static void every_reserved_bit_of_a_cdb_is_refused_where_it_is(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	for (unsigned bit = 8; bit < 48; bit++) {
		struct server_result *r;

		cdb_test_unit_ready(cdb);
		cdb[bit / 8] = (uint8_t)(1 << bit % 8);
		r = server_none(s, cdb);
		/* Of CONTROL, bits 7 and 6 are vendor specific, 2 is NACA; none is taken. */
		assert_sense(r, SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
		assert_int_equal(r->sense.field_byte, bit / 8);
		assert_int_equal(r->sense.field_bit, bit % 8);
	}
	server_free(v);
}

static void service_action_is_pointed_at(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE] = {SCSI_SERVICE_ACTION_IN_16, 0x1f};
	struct server_result *r = server_none(s, cdb);

	(void)state;
	assert_sense(r, SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	assert_int_equal(r->sense.field_byte, 1);
	assert_int_equal(r->sense.field_bit, 4); /* the leftmost bit of the field */
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aca_attribute_is_refused),
		cmocka_unit_test(missing_lun_is_told_apart),
		cmocka_unit_test(unknown_operation_and_service_action),
		cmocka_unit_test(reserved_bit_is_pointed_at),
		cmocka_unit_test(attention_is_reported_once_and_not_by_inquiry),
		cmocka_unit_test(write_protected_unit_reads_only),
		cmocka_unit_test(attention_comes_before_a_reservation_conflict),
		cmocka_unit_test(what_is_no_command_does_not_use_up_an_attention),
		cmocka_unit_test(conflict_comes_before_what_the_unit_says),
		cmocka_unit_test(stopped_comes_before_write_protected),
		cmocka_unit_test(every_reserved_bit_of_a_cdb_is_refused_where_it_is),
		cmocka_unit_test(service_action_is_pointed_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
