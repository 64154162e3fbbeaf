/* The vital product data pages (target/vpd.c). Layouts are SPC-4 section 7.8 and SBC-3 section
 * 6.5. */
#include "tests/unit/target/device_server.h"

#include "common/scsi/inquiry.h"

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

/* Larger commands are taken nevertheless: it is advice to an initiator with small buffers. */
static void session_with_small_buffers_is_told(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	struct vpd_block_limits b;

	(void)state;
	s->nexus->advised_transfer = 256 << 10;
	page(s, 0xb0);
	assert_int_equal(vpd_block_limits_decode(v->memory, 64, &b), 0);
	assert_int_equal(b.max_transfer, 512);
	assert_int_equal(b.optimal_transfer, 512);
	server_free(v);
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

/* The values that initiators name the disk by (SPC-4 sections 7.8.6.4, 7.8.6.6, 7.8.6.11). */
static void designators_hold_what_names_the_unit(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint32_t length = page(s, 0x83);
	struct bytes_reader r;
	struct vpd_designator d;

	(void)state;
	assert_int_equal(vpd_open(v->memory, length, 0x83, &r), 0);
	assert_true(vpd_designator_next(&r, &d));
	assert_int_equal(d.type, VPD_NAA);
	assert_int_equal(d.length, 8);
	assert_int_equal(d.bytes[0] >> 4, 3); /* locally assigned */
	assert_true(vpd_designator_next(&r, &d));
	assert_int_equal(d.type, VPD_T10_VENDOR_ID);
	assert_memory_equal(d.bytes, "ISERAN  ", 8);
	assert_memory_equal(d.bytes + 8, v->device->serial, d.length - 8);
	assert_true(vpd_designator_next(&r, &d));
	assert_memory_equal(d.bytes, SERVER_TARGET ",L,0x", sizeof(SERVER_TARGET ",L,0x") - 1);
	assert_int_equal(d.length % 4, 0);
	assert_true(vpd_designator_next(&r, &d));
	assert_int_equal(d.type, VPD_RELATIVE_TARGET_PORT);
	assert_true(d.protocol_valid && d.protocol == 5);
	assert_int_equal(get_be32(d.bytes), 1);
	assert_true(vpd_designator_next(&r, &d));
	assert_true(vpd_designator_next(&r, &d));
	/* RFC 7143 section 4.4.3 (SCSI port name of a target). */
	assert_string_equal((const char *)d.bytes, SERVER_TARGET ",t,0x0001");
	server_free(v);
}

static void serial_number_is_that_of_the_unit(void **state)
{
	struct server *v = server_new();
	uint32_t length = page(server_session(v, 0), 0x80);

	(void)state;
	assert_int_equal(length - 4, strlen(v->device->serial));
	assert_memory_equal(v->memory + 4, v->device->serial, length - 4);
	server_free(v);
}

/* SBC-3 section 6.5.3: without UNMAP its limits are 0; section 6.5.5: then nothing is promised. */
static void unit_without_unmap_says_so(void **state)
{
	struct server *v = server_new_with((struct server_config){.no_thin = true});
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	page(s, 0xb0);
	assert_int_equal(get_be32(v->memory + 20), 0); /* MAXIMUM UNMAP LBA COUNT */
	assert_int_equal(get_be32(v->memory + 24), 0);
	assert_int_equal(get_be32(v->memory + 28), 0); /* OPTIMAL UNMAP GRANULARITY */
	assert_int_equal(v->memory[32] & 0x80, 0);     /* UGAVALID */
	page(s, 0xb2);
	assert_int_equal(v->memory[5] & 0xe0, 0); /* LBPU, LBPWS, LBPWS10 */
	assert_int_equal(v->memory[6] & 7, 0);	  /* fully provisioned, or unknown */
	server_free(v);
}

static void cache_and_queues_are_in_the_extended_page(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	v->device->backend->info.volatile_cache = true;
	assert_int_equal(page(s, 0x86), 64);
	assert_int_equal(v->memory[5] & 7, 7);	  /* HEADSUP, ORDSUP, SIMPSUP */
	assert_int_equal(v->memory[6] & 1, 1);	  /* V_SUP */
	assert_int_equal(v->memory[7] & 1, 1);	  /* LUICLR */
	assert_int_equal(v->memory[4] & 0x3f, 0); /* no protection information */
	v->device->backend->info.volatile_cache = false;
	page(s, 0x86);
	assert_int_equal(v->memory[6] & 1, 0);
	server_free(v);
}

static void rotating_disk_has_a_rate(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	v->device->rotational = true;
	page(s, 0xb1);
	/* 0401h to FFFEh are rates; 0001h would be a disk that does not rotate. */
	assert_in_range(get_be16(v->memory + 4), 0x0401, 0xfffe);
	assert_int_equal(v->memory[8] & 2, 2); /* FUAB */
	server_free(v);
}

static void missing_unit_has_the_list_of_pages_alone(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];
	struct server_send what = {.cdb = cdb, .read = true, .length = 255, .lun = 9};

	(void)state;
	cdb_inquiry_vpd(cdb, 0x00, 255);
	assert_good(server_do(s, what));
	assert_int_equal(v->memory[0], 0x7f);
	assert_int_equal(get_be16(v->memory + 2), 1);
	assert_int_equal(v->memory[4], 0x00);
	cdb_inquiry_vpd(cdb, 0x83, 255);
	assert_sense(server_do(s, what), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	server_free(v);
}

static void page_that_does_not_fit_is_cut(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];
	uint32_t whole = page(s, 0x83);

	(void)state;
	for (uint16_t n = 0; n <= whole; n++) {
		cdb_inquiry_vpd(cdb, 0x83, n);
		assert_int_equal(server_in(s, cdb, 4096)->put_end, n);
		/* PAGE LENGTH does not follow the allocation length (SPC-4 section 4.3.5.6). */
		if (n >= 4)
			assert_int_equal(get_be16(v->memory + 2), whole - 4);
	}
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_listed_page_can_be_had),
		cmocka_unit_test(device_identification_has_all_kinds),
		cmocka_unit_test(block_limits_of_both_block_sizes),
		cmocka_unit_test(session_with_small_buffers_is_told),
		cmocka_unit_test(thin_store_says_so),
		cmocka_unit_test(designators_hold_what_names_the_unit),
		cmocka_unit_test(serial_number_is_that_of_the_unit),
		cmocka_unit_test(unit_without_unmap_says_so),
		cmocka_unit_test(cache_and_queues_are_in_the_extended_page),
		cmocka_unit_test(rotating_disk_has_a_rate),
		cmocka_unit_test(missing_unit_has_the_list_of_pages_alone),
		cmocka_unit_test(page_that_does_not_fit_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
