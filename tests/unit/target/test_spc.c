/* Primary commands (target/spc.c). Layouts are SPC-4 sections 6.6, 6.33 and 6.39. */
#include "tests/unit/target/device_server.h"

#include "common/scsi/inquiry.h"

static void standard_inquiry_names_the_disk(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];
	struct server_result *r;

	(void)state;
	cdb_inquiry(cdb, 260);
	r = server_in(s, cdb, 260);
	assert_good(r);
	assert_int_equal(r->put_end, 96);
	assert_int_equal(r->transfer_length, 96);
	assert_int_equal(v->memory[0], 0x00);
	assert_int_equal(v->memory[2], 0x06); /* SPC-4 */
	assert_int_equal(v->memory[3], 0x12); /* HISUP, format 2 */
	assert_int_equal(v->memory[4], 91);
	assert_int_equal(v->memory[7], 0x02); /* CMDQUE */
	assert_memory_equal(v->memory + 8, "ISERAN  ISERAN DISK     1   ", 28);
	assert_int_equal(get_be16(v->memory + 58), 0x00a0);
	assert_int_equal(get_be16(v->memory + 60), 0x0460);
	assert_int_equal(get_be16(v->memory + 62), 0x04c0);
	assert_int_equal(get_be16(v->memory + 64), 0x0960);
	server_free(v);
}

static void inquiry_is_cut_to_the_allocation_length(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	for (uint16_t n = 0; n < 100; n++) {
		struct server_result *r;

		cdb_inquiry(cdb, n);
		r = server_in(s, cdb, 512);
		assert_good(r);
		assert_int_equal(r->put_end, n < 96 ? n : 96);
		assert_int_equal(r->transfer_length, n < 96 ? n : 96);
	}
	server_free(v);
}

static void page_code_without_evpd_is_refused(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	cdb_inquiry(cdb, 255);
	cdb[2] = 0x83;
	assert_sense(server_in(s, cdb, 255), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	cdb_inquiry_vpd(cdb, 0xc0, 255);
	assert_sense(server_in(s, cdb, 255), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	server_free(v);
}

static void luns_are_reported(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE], expected[16] = {0, 0, 0, 8};
	struct server_result *r;

	(void)state;
	cdb_report_luns(cdb, 4096);
	r = server_in(s, cdb, 4096);
	assert_good(r);
	assert_int_equal(r->put_end, 16);
	assert_memory_equal(v->memory, expected, 16);
	cdb[2] = 1; /* well known ones */
	assert_int_equal(server_in(s, cdb, 4096)->put_end, 8);
	cdb[2] = 3;
	assert_sense(server_in(s, cdb, 4096), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	cdb_report_luns(cdb, 15);
	assert_sense(server_in(s, cdb, 15), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	server_free(v);
}

static void request_sense_gives_the_attention_as_data(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	nexus_attention(s->nexus, 0x2a01);
	cdb_request_sense(cdb, true, 252);
	assert_good(server_in(s, cdb, 252));
	assert_int_equal(v->memory[0], 0x72);
	assert_int_equal(v->memory[1], SENSE_UNIT_ATTENTION);
	assert_int_equal(v->memory[2], 0x2a);
	cdb_request_sense(cdb, false, 252);
	assert_good(server_in(s, cdb, 252));
	assert_int_equal(v->memory[0], 0x70);
	assert_int_equal(v->memory[2], SENSE_NO_SENSE);
	assert_good(server_do(
		s, (struct server_send){.cdb = cdb, .lun = 5, .read = true, .length = 252}));
	assert_int_equal(v->memory[2], SENSE_ILLEGAL_REQUEST);
	assert_int_equal(v->memory[12], 0x25);
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(standard_inquiry_names_the_disk),
		cmocka_unit_test(inquiry_is_cut_to_the_allocation_length),
		cmocka_unit_test(page_code_without_evpd_is_refused),
		cmocka_unit_test(luns_are_reported),
		cmocka_unit_test(request_sense_gives_the_attention_as_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
