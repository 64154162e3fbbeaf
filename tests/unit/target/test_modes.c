/* MODE SENSE and MODE SELECT (target/modes.c, mode_select.c): SPC-4 sections 6.9 to 6.12, SBC-3
 * section 6.4. */
#include "tests/unit/target/mode_commands.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_pages_and_a_block_descriptor),
		cmocka_unit_test(cache_bit_current_changeable_default),
		cmocka_unit_test(header_of_ten),
		cmocka_unit_test(cut_mode_sense_has_no_overflow),
		cmocka_unit_test(saved_pages_and_unknown_pages_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
