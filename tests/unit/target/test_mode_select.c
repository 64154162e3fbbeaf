/* MODE SELECT (target/mode_select.c): SPC-4 sections 6.11, 6.12 and 7.5. */
#include "tests/unit/target/mode_commands.h"

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
	uint16_t t;

	(void)state;
	assert_good(select6(a, 0x08, 6, 0x04, 0));
	assert_false(atomic_load(&v->device->write_cache));
	assert_true(nexus_attention_take(b->nexus, &t));
	assert_int_equal(t, ASC_MODE_PARAMETERS_CHANGED);
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

static struct server_result *select10(struct tgt_session *s, const uint8_t *list, uint16_t length)
{
	uint8_t cdb[CDB_SIZE];

	cdb_mode_select10(cdb, false, length);
	return server_out(s, cdb, list, length);
}

/* The caching page behind a header of ten and a block descriptor of `size` bytes per block. */
static size_t list_with_descriptor(struct tgt_session *s, uint32_t size, uint8_t *list)
{
	uint32_t length = sense6(s, 0x08, 0, true) - 4;

	memset(list, 0, 16);
	put_be16(list + 6, 8);
	put_be24(list + 8 + 5, size);
	memcpy(list + 16, s->server->memory + 4, length);
	return 16 + length;
}

static void block_descriptor_may_be_sent_but_changes_nothing(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t list[64];
	size_t length = list_with_descriptor(s, 512, list);
	struct server_result *r;

	(void)state;
	list[16 + 2] ^= 0x04; /* WCE */
	assert_good(select10(s, list, (uint16_t)length));
	assert_false(atomic_load(&v->device->write_cache));
	put_be24(list + 8 + 5, 4096);
	r = select10(s, list, (uint16_t)length);
	assert_sense(r, SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_PARAMETER_LIST);
	assert_int_equal(r->sense.field_byte, 8 + 5);
	assert_int_equal(v->device->block_size, 512);
	put_be16(list + 6, 7); /* no descriptor is 7 bytes long */
	r = select10(s, list, (uint16_t)length);
	assert_sense(r, SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_PARAMETER_LIST);
	assert_int_equal(r->sense.field_byte, 6);
	server_free(v);
}

/* SPC-4 section 6.11: the whole list is checked before anything of it is put in force. */
static void wrong_second_page_leaves_the_first_alone(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t list[128] = {0};
	uint32_t caching, control;

	(void)state;
	caching = sense6(s, 0x08, 0, true) - 4;
	memcpy(list + 8, v->memory + 4, caching);
	control = sense6(s, 0x0a, 0, true) - 4;
	memcpy(list + 8 + caching, v->memory + 4, control);
	list[8 + 2] ^= 0x04;
	list[8 + caching + 3] ^= 0x01;
	assert_sense(select10(s, list, (uint16_t)(8 + caching + control)), SENSE_ILLEGAL_REQUEST,
		ASC_INVALID_FIELD_IN_PARAMETER_LIST);
	assert_true(atomic_load(&v->device->write_cache));
	list[8 + caching + 3] ^= 0x01;
	assert_good(select10(s, list, (uint16_t)(8 + caching + control)));
	assert_false(atomic_load(&v->device->write_cache));
	server_free(v);
}

/* PF 0: vendor specific pages, of which there are none. */
static void pages_without_pf_are_refused(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE], list[24] = {0};
	struct server_result *r;

	(void)state;
	cdb_mode_select6(cdb, false, sizeof(list));
	cdb[1] &= 0xef;
	r = server_out(s, cdb, list, sizeof(list));
	assert_sense(r, SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	assert_int_equal(r->sense.field_byte, 1);
	assert_int_equal(r->sense.field_bit, 4);
	server_free(v);
}

static void list_beyond_any_that_we_tell_is_refused_before_it_is_fetched(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t *list = calloc(1, 65535);

	(void)state;
	assert_sense(select10(s, list, 65535), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	assert_int_equal(s->results[0].gets, 0);
	free(list);
	server_free(v);
}

/* What had GOOD status from the cache must be on the medium when the cache goes. */
static void cache_that_is_switched_off_is_written_first(void **state)
{
	struct fault_config fault = {
		.rules = {{.operation = BACKEND_FLUSH, .error = EIO}},
		.rule_count = 1,
	};
	struct server *v = server_new_with((struct server_config){.fault = &fault});
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	assert_sense(select6(s, 0x08, 6, 0x04, 0), SENSE_MEDIUM_ERROR, ASC_WRITE_ERROR);
	assert_good(select6(s, 0x08, 6, 0x04, 0)); /* on again: nothing is to be written */
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_cache_is_switched_and_others_are_told),
		cmocka_unit_test(software_write_protection),
		cmocka_unit_test(what_cannot_change_is_pointed_at),
		cmocka_unit_test(cut_lists_are_refused_at_every_length),
		cmocka_unit_test(select_that_saves_is_refused),
		cmocka_unit_test(block_descriptor_may_be_sent_but_changes_nothing),
		cmocka_unit_test(wrong_second_page_leaves_the_first_alone),
		cmocka_unit_test(pages_without_pf_are_refused),
		cmocka_unit_test(list_beyond_any_that_we_tell_is_refused_before_it_is_fetched),
		cmocka_unit_test(cache_that_is_switched_off_is_written_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
