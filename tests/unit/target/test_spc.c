/* Primary commands and VPD pages (target/spc.c, target/vpd.c). Layouts are SPC-4
 * sections 6.6, 6.33, 6.39, 7.8 and SBC-3 section 6.5. */
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

static uint32_t page(struct tgt_session *s, uint8_t code)
{
	uint8_t cdb[CDB_SIZE];
	struct server_result *r;

	cdb_inquiry_vpd(cdb, code, 4096);
	r = server_in(s, cdb, 4096);
	assert_good(r);
	assert_int_equal(s->server->memory[1], code);
	assert_int_equal(get_be16(s->server->memory + 2), r->put_end - 4);
	return r->put_end;
}

static void every_listed_page_can_be_had(void **state)
{
	static const uint8_t pages[] = {0x00, 0x80, 0x83, 0x86, 0xb0, 0xb1, 0xb2};
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	assert_int_equal(page(s, 0x00), 4 + sizeof(pages));
	assert_memory_equal(v->memory + 4, pages, sizeof(pages));
	for (size_t i = 0; i < sizeof(pages); i++)
		page(s, pages[i]);
	server_free(v);
}

static void device_identification_has_all_kinds(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint32_t length = page(s, 0x83);
	struct bytes_reader r;
	struct vpd_designator d;
	unsigned kinds[3] = {0};

	(void)state;
	assert_int_equal(vpd_open(v->memory, length, 0x83, &r), 0);
	while (vpd_designator_next(&r, &d))
		kinds[d.association] |= 1u << d.type;
	assert_int_equal(r.left, 0);
	assert_int_equal(kinds[0], 1 << 1 | 1 << 3 | 1 << 8);
	assert_int_equal(kinds[1], 1 << 4 | 1 << 5 | 1 << 8);
	assert_int_equal(kinds[2], 1 << 8);
	server_free(v);
}

static void block_limits_of_both_block_sizes(void **state)
{
	(void)state;
	for (uint32_t size = 512; size <= 4096; size *= 8) {
		struct server *v = server_new_with((struct server_config){.block_size = size});
		struct tgt_session *s = server_session(v, 0);
		struct vpd_block_limits b;

		assert_int_equal(page(s, 0xb0), 64);
		assert_int_equal(vpd_block_limits_decode(v->memory, 64, &b), 0);
		assert_int_equal(b.max_transfer, (16u << 20) / size);
		assert_int_equal(b.max_compare_and_write, size == 512 ? 255 : 128);
		assert_true(b.write_same_non_zero);
		assert_int_equal(b.optimal_granularity, 4096 / size);
		assert_int_equal(b.unmap_granularity, 4096 / size);
		assert_true(b.max_unmap && b.max_unmap <= 1 << 20);
		assert_int_equal(b.max_unmap_descriptors, 256);
		server_free(v);
	}
}

static void thin_store_says_so(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	struct vpd_provisioning p;

	(void)state;
	page(s, 0xb2);
	assert_int_equal(vpd_provisioning_decode(v->memory, 8, &p), 0);
	assert_true(p.unmap && p.write_same10 && p.write_same16);
	assert_int_equal(p.reads_zeros, 1);
	assert_int_equal(p.type, VPD_THIN_PROVISIONED);
	page(s, 0xb1);
	assert_int_equal(get_be16(v->memory + 4), 1); /* does not rotate */
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
	nexus_attention(s->nexus, 0x2a, 0x01);
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
		cmocka_unit_test(every_listed_page_can_be_had),
		cmocka_unit_test(device_identification_has_all_kinds),
		cmocka_unit_test(block_limits_of_both_block_sizes),
		cmocka_unit_test(thin_store_says_so),
		cmocka_unit_test(luns_are_reported),
		cmocka_unit_test(request_sense_gives_the_attention_as_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
