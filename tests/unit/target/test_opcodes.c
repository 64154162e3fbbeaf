/* The table of operations, and the commands that report it (target/opcodes.c, opcodes_report.c):
 * SPC-4 sections 6.35 and 6.36. */
#include "tests/unit/target/device_server.h"

#include "target/opcodes.h"

static void rows_are_in_order_and_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < opcodes_count(); i++) {
		const struct command_operation *o = opcodes_row(i);
		uint8_t cdb[CDB_SIZE] = {o->opcode};

		assert_int_equal(o->usage[0], o->opcode);
		assert_int_equal(o->cdb_length, cdb_length(cdb));
		assert_non_null(o->parse);
		assert_non_null(o->execute);
		for (size_t n = o->cdb_length; n < sizeof(o->usage); n++)
			assert_int_equal(o->usage[n], 0);
		if (i)
			assert_true(o->opcode > o[-1].opcode ||
				    (o->opcode == o[-1].opcode &&
					    o->service_action > o[-1].service_action));
	}
}

static void every_row_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < opcodes_count(); i++) {
		const struct command_operation *o = opcodes_row(i);
		uint8_t cdb[CDB_SIZE] = {o->opcode};
		uint16_t code;

		if (o->service_action >= 0)
			cdb[1] = (uint8_t)o->service_action;
		assert_ptr_equal(opcodes_find(cdb, &code), o);
	}
}

static void unknown_codes_are_not_found(void **state)
{
	static const uint8_t unknown[] = {0x01, 0x04, 0x24, 0x7f, 0xc0, 0xff};

	(void)state;
	for (size_t i = 0; i < sizeof(unknown); i++) {
		uint8_t cdb[CDB_SIZE] = {unknown[i]};
		uint16_t code = 0;

		assert_null(opcodes_find(cdb, &code));
		assert_int_equal(code, ASC_INVALID_COMMAND_OPERATION_CODE);
	}
}

/* Whatever the bytes: an answer, and everything given back. */
static void random_cdbs_always_get_an_answer(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t *data = server_pattern(65536, 3);
	uint32_t seed = 1;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		const struct command_operation *o = opcodes_row(i % opcodes_count());
		struct server_send what = {.out = data};
		uint8_t cdb[CDB_SIZE];

		for (unsigned n = 0; n < CDB_SIZE; n++) {
			seed = seed * 1103515245 + 12345;
			/* Mostly within the usage map, and mostly small numbers. */
			cdb[n] = (uint8_t)(seed >> 16) & (seed >> 28 ? o->usage[n] : 0xff);
			cdb[n] &= (seed >> 24 & 3) ? 0x0f : 0xff;
		}
		cdb[0] = o->opcode;
		if (o->service_action >= 0)
			cdb[1] = (uint8_t)o->service_action;
		what.cdb = cdb;
		what.read = seed >> 20 & 1;
		what.write = !what.read;
		what.attribute = seed >> 21 & 3;
		what.length = seed >> 8 & 0xffff;
		what.immediate = what.write ? min_u32(what.length, seed >> 12 & 0x1fff) : 0;
		server_do(s, what);
		assert_true(list_empty(&s->commands));
	}
	assert_int_equal(pool_available(s->worker->commands), 64);
	free(data);
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_in_order_and_whole),
		cmocka_unit_test(every_row_is_found),
		cmocka_unit_test(unknown_codes_are_not_found),
		cmocka_unit_test(random_cdbs_always_get_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
