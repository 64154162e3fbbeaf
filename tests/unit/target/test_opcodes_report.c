/* REPORT SUPPORTED OPERATION CODES and ... TASK MANAGEMENT FUNCTIONS (target/opcodes_report.c):
 * SPC-4 sections 6.35 and 6.36. */
#include "tests/unit/target/device_server.h"

#include "target/opcodes.h"

static struct server_result *report(
	struct tgt_session *s, uint8_t options, uint8_t opcode, uint16_t action)
{
	uint8_t cdb[CDB_SIZE] = {
		SCSI_MAINTENANCE_IN, SCSI_REPORT_SUPPORTED_OPERATION_CODES, options, opcode};

	put_be16(cdb + 4, action);
	put_be32(cdb + 6, 65535);
	return server_in(s, cdb, 65535);
}

static void all_commands_with_and_without_timeouts(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	assert_good(report(s, 0, 0, 0));
	assert_int_equal(get_be32(v->memory), opcodes_count() * 8);
	assert_good(report(s, 0x80, 0, 0));
	assert_int_equal(get_be32(v->memory), opcodes_count() * 20);
	assert_int_equal(v->memory[4 + 5] & 2, 2);
	assert_int_equal(get_be16(v->memory + 4 + 8), 10);
	server_free(v);
}

static void one_command_by_code_or_by_service_action(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	for (size_t i = 0; i < opcodes_count(); i++) {
		const struct command_operation *o = opcodes_row(i);
		bool action = o->service_action >= 0;
		uint16_t number = action ? (uint16_t)o->service_action : 0;

		assert_good(report(s, action ? 2 : 1, o->opcode, number));
		assert_int_equal(v->memory[1], 3);
		assert_int_equal(get_be16(v->memory + 2), o->cdb_length);
		assert_int_equal(v->memory[4], o->opcode);
		assert_sense(report(s, action ? 1 : 2, o->opcode, number), SENSE_ILLEGAL_REQUEST,
			ASC_INVALID_FIELD_IN_CDB);
	}
	assert_good(report(s, 1, 0xd0, 0));
	assert_int_equal(v->memory[1], 1); /* not supported */
	assert_sense(report(s, 4, 0, 0), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	server_free(v);
}

static void unmap_is_not_listed_where_it_is_not_offered(void **state)
{
	struct server *v = server_new_with((struct server_config){.no_thin = true});
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	assert_good(report(s, 0, 0, 0));
	assert_int_equal(get_be32(v->memory), (opcodes_count() - 1) * 8);
	assert_good(report(s, 1, SCSI_UNMAP, 0));
	assert_int_equal(v->memory[1], 1); /* not supported */
	server_free(v);
}

static void task_management_functions_are_told(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE] = {SCSI_MAINTENANCE_IN, SCSI_REPORT_SUPPORTED_TMF};

	(void)state;
	put_be32(cdb + 6, 255);
	assert_int_equal(server_in(s, cdb, 255)->put_end, 4);
	assert_int_equal(v->memory[0], 0xda);
	cdb[2] = 0x80;
	assert_int_equal(server_in(s, cdb, 255)->put_end, 16);
	assert_int_equal(v->memory[3], 12);
	server_free(v);
}

/* SPC-4 section 6.35.3: the descriptor of REPORT SUPPORTED OPERATION CODES itself. */
static void descriptor_has_the_service_action_and_the_length(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	const uint8_t *d = NULL;

	(void)state;
	assert_good(report(s, 0, 0, 0));
	for (uint32_t at = 4; at < 4 + get_be32(v->memory) && !d; at += 8)
		if (v->memory[at] == 0xa3 && get_be16(v->memory + at + 2) == 0x0c)
			d = v->memory + at;
	assert_non_null(d);
	assert_int_equal(d[5], 0x01); /* SERVACTV, no timeouts */
	assert_int_equal(get_be16(d + 6), 12);
	server_free(v);
}

/* SPC-4 section 6.35.4: one bit of the usage map for each bit of the CDB that is looked at. */
static void usage_map_of_read_16(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	assert_int_equal(report(s, 0x81, 0x88, 0)->put_end, 4 + 16 + 12);
	assert_int_equal(v->memory[1], 0x83); /* CTDP, standard */
	assert_int_equal(v->memory[4], 0x88);
	for (unsigned i = 2; i < 14; i++)
		assert_int_equal(v->memory[4 + i], 0xff); /* LBA, TRANSFER LENGTH */
	assert_int_equal(v->memory[4 + 1] & 0x18, 0x18);  /* DPO, FUA */
	assert_int_equal(get_be16(v->memory + 20), 0x0a);
	server_free(v);
}

static void answer_is_cut_to_the_allocation_length(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE] = {SCSI_MAINTENANCE_IN, SCSI_REPORT_SUPPORTED_OPERATION_CODES};
	uint32_t whole = report(s, 0, 0, 0)->put_end;

	(void)state;
	for (uint32_t n = 0; n < 40; n++) {
		put_be32(cdb + 6, n);
		assert_int_equal(server_in(s, cdb, 4096)->put_end, n);
		if (n >= 4)
			assert_int_equal(get_be32(v->memory), whole - 4);
	}
	put_be32(cdb + 6, UINT32_MAX);
	assert_int_equal(server_in(s, cdb, 65536)->put_end, whole);
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_commands_with_and_without_timeouts),
		cmocka_unit_test(one_command_by_code_or_by_service_action),
		cmocka_unit_test(unmap_is_not_listed_where_it_is_not_offered),
		cmocka_unit_test(task_management_functions_are_told),
		cmocka_unit_test(descriptor_has_the_service_action_and_the_length),
		cmocka_unit_test(usage_map_of_read_16),
		cmocka_unit_test(answer_is_cut_to_the_allocation_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
