/* MODE SENSE and MODE SELECT (target/modes.c, mode_select.c): SPC-4 sections 6.9 to 6.12, SBC-3
 * section 6.4. */
#include "tests/unit/target/device_server.h"

#include "common/scsi/mode.h"

static uint32_t sense6(struct tgt_session *s, uint8_t page, uint8_t control, bool dbd)
{
	uint8_t cdb[CDB_SIZE];
	struct server_result *r;

	cdb_mode_sense6(cdb, page, control, dbd, 255);
	r = server_in(s, cdb, 255);
	assert_good(r);
	assert_int_equal(s->server->memory[0], r->put_end - 1);
	return r->put_end;
}

static void all_pages_and_a_block_descriptor(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	assert_int_equal(sense6(s, 0x3f, 0, false), 4 + 8 + 12 + 20 + 12 + 12);
	assert_int_equal(v->memory[2], 0x10); /* DPOFUA, not write protected */
	assert_int_equal(v->memory[3], 8);
	assert_int_equal(get_be32(v->memory + 4), 65536);
	assert_int_equal(get_be24(v->memory + 9), 512);
	assert_int_equal(v->memory[12], 0x01);
	server_free(v);
}

static void cache_bit_current_changeable_default(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	for (uint8_t control = 0; control < 3; control++) {
		assert_int_equal(sense6(s, 0x08, control, true), 24);
		assert_int_equal(v->memory[4], 0x08);
		assert_int_equal(v->memory[5], 0x12);
		assert_int_equal(v->memory[6], 0x04);
	}
	server_free(v);
}

static void header_of_ten(void **state)
{
	struct server *v = server_new_with((struct server_config){.readonly = true});
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];
	struct mode_caching caching;
	bool protected;

	(void)state;
	cdb_mode_sense10(cdb, 0x3f, 0, false, 512);
	assert_good(server_in(s, cdb, 512));
	assert_int_equal(get_be16(v->memory), 8 + 8 + 56 - 2);
	assert_int_equal(mode_caching_decode(v->memory, 72, true, &caching), 0);
	assert_true(caching.write_cache);
	assert_int_equal(mode_write_protect_decode(v->memory, 72, true, &protected), 0);
	assert_true(protected);
	server_free(v);
}

static void cut_mode_sense_has_no_overflow(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];
	struct server_result *r;

	(void)state;
	cdb_mode_sense6(cdb, 0x3f, 0, false, 4);
	r = server_in(s, cdb, 4);
	assert_good(r);
	assert_int_equal(r->transfer_length, 4);
	server_free(v);
}

static void saved_pages_and_unknown_pages_are_refused(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	cdb_mode_sense6(cdb, 0x08, 3, false, 255);
	assert_sense(
		server_in(s, cdb, 255), SENSE_ILLEGAL_REQUEST, ASC_SAVING_PARAMETERS_NOT_SUPPORTED);
	cdb_mode_sense6(cdb, 0x19, 0, false, 255);
	assert_sense(server_in(s, cdb, 255), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	cdb_mode_sense6(cdb, 0x0a, 0, false, 255);
	cdb[3] = 1; /* subpage */
	assert_sense(server_in(s, cdb, 255), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	server_free(v);
}

/* The page as MODE SENSE told it, with byte `at` changed. */
static struct server_result *select6(
	struct tgt_session *s, uint8_t page, unsigned at, uint8_t flip, uint32_t cut)
{
	uint8_t cdb[CDB_SIZE], list[64];
	uint32_t length = sense6(s, page, 0, true);

	memcpy(list, s->server->memory, length);
	list[0] = list[2] = 0; /* reserved in MODE SELECT */
	list[at] ^= flip;
	cdb_mode_select6(cdb, false, (uint8_t)(length - cut));
	return server_out(s, cdb, list, length - cut);
}

static void write_cache_is_switched_and_others_are_told(void **state)
{
	struct server *v = server_new();
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);
	struct nexus_attention t;

	(void)state;
	assert_good(select6(a, 0x08, 6, 0x04, 0));
	assert_false(atomic_load(&v->device->write_cache));
	assert_true(nexus_attention_take(b->nexus, &t));
	assert_int_equal(t.asc << 8 | t.ascq, ASC_MODE_PARAMETERS_CHANGED);
	assert_false(nexus_has_attention(a->nexus));
	sense6(a, 0x08, 0, true);
	assert_int_equal(v->memory[6], 0);
	sense6(a, 0x08, 2, true); /* the default is what it was */
	assert_int_equal(v->memory[6], 0x04);
	server_free(v);
}

static void software_write_protection(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE], data[512] = {0};
	unsigned size;

	(void)state;
	assert_good(select6(s, 0x0a, 8, 0x08, 0));
	cdb_read_write(cdb, SCSI_DATA_OUT, 0, 1, false, &size);
	assert_sense(server_out(s, cdb, data, 512), SENSE_DATA_PROTECT, ASC_WRITE_PROTECTED);
	assert_good(select6(s, 0x0a, 8, 0x08, 0));
	assert_good(server_out(s, cdb, data, 512));
	server_free(v);
}

static void what_cannot_change_is_pointed_at(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	struct server_result *r = select6(s, 0x08, 7, 0x01, 0);

	(void)state;
	assert_sense(r, SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_PARAMETER_LIST);
	assert_true(r->sense.field_valid && !r->sense.field_in_cdb);
	assert_int_equal(r->sense.field_byte, 7);
	assert_sense(select6(s, 0x08, 4, 0x10, 0), SENSE_ILLEGAL_REQUEST,
		ASC_INVALID_FIELD_IN_PARAMETER_LIST); /* no such page */
	assert_sense(select6(s, 0x08, 5, 0x02, 0), SENSE_ILLEGAL_REQUEST,
		ASC_INVALID_FIELD_IN_PARAMETER_LIST); /* not its length */
	assert_true(atomic_load(&v->device->write_cache));
	server_free(v);
}

static void cut_lists_are_refused_at_every_length(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	for (uint32_t cut = 1; cut < 24; cut++) {
		struct server_result *r = select6(s, 0x08, 6, 0x04, cut);

		if (24 - cut == 4)
			assert_good(r); /* a header alone changes nothing */
		else
			assert_sense(r, SENSE_ILLEGAL_REQUEST, ASC_PARAMETER_LIST_LENGTH_ERROR);
		assert_true(atomic_load(&v->device->write_cache));
	}
	server_free(v);
}

static void select_that_saves_is_refused(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	cdb_mode_select10(cdb, true, 0);
	assert_sense(server_none(s, cdb), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	cdb_mode_select10(cdb, false, 0);
	assert_good(server_none(s, cdb));
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_pages_and_a_block_descriptor),
		cmocka_unit_test(cache_bit_current_changeable_default),
		cmocka_unit_test(header_of_ten),
		cmocka_unit_test(cut_mode_sense_has_no_overflow),
		cmocka_unit_test(saved_pages_and_unknown_pages_are_refused),
		cmocka_unit_test(write_cache_is_switched_and_others_are_told),
		cmocka_unit_test(software_write_protection),
		cmocka_unit_test(what_cannot_change_is_pointed_at),
		cmocka_unit_test(cut_lists_are_refused_at_every_length),
		cmocka_unit_test(select_that_saves_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
