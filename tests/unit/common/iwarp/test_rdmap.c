/* RDMAP's opcodes, Read Request and Terminate: RFC 5040 Figure 5 and section 4.8, frames of siw. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "common/iwarp/rdmap.h"

static void opcodes_are_those_of_rfc_5040(void **state)
{
	(void)state;
	for (uint8_t op = 0; op < 16; op++)
		assert_int_equal(rdmap_opcode_find(op) != NULL, op < 8);
	/* header lengths with the FPDU's length field: 16 tagged, 20 Sends, 48 Read Request, 24 */
	assert_int_equal(rdmap_opcode_find(RDMAP_WRITE)->header + 2, 16);
	assert_int_equal(rdmap_opcode_find(RDMAP_READ_RESPONSE)->header + 2, 16);
	assert_int_equal(rdmap_opcode_find(RDMAP_READ_REQUEST)->header + 2, 48);
	assert_int_equal(rdmap_opcode_find(RDMAP_TERMINATE)->header + 2, 24);
	for (uint8_t op = RDMAP_SEND; op <= RDMAP_SEND_SE_INVALIDATE; op++)
		assert_int_equal(rdmap_opcode_find(op)->header + 2, 20);
	assert_int_equal(rdmap_control(RDMAP_SEND_INVALIDATE), 0x44);
	assert_int_equal(rdmap_control_version(0x44), 1);
	assert_int_equal(rdmap_control_opcode(0x44), 4);
}

static void read_request_of_siw(void **state)
{
	static const uint8_t wire[] = "\xa6\x0a\x78\x00\x00\x00\x56\x28\x8c\x9f\x10\x90\x00\x00\xea"
				      "\x60\xf7\x7e\x46\x00\x00\x00\x55\xc4\xe4\x46\x26\x10";
	uint8_t out[RDMAP_READ_HEADER_SIZE];
	struct rdmap_read r;

	(void)state;
	rdmap_read_decode(wire, &r);
	assert_int_equal(r.sink_stag, 0xa60a7800);
	assert_true(r.sink_offset == 0x000056288c9f1090);
	assert_int_equal(r.size, 60000);
	assert_int_equal(r.source_stag, 0xf77e4600);
	assert_true(r.source_offset == 0x000055c4e4462610);
	rdmap_read_encode(&r, out);
	assert_memory_equal(out, wire, sizeof(out));
}

static void faults_carry_the_layer_type_and_code_of_the_standards(void **state)
{
	static const struct {
		enum rdmap_fault fault;
		uint8_t layer, type, code;
	} rows[] = {
		{FAULT_MSN, 1, 2, 3},
		{FAULT_NO_BUFFER, 1, 2, 2},
		{FAULT_QUEUE, 1, 2, 1},
		{FAULT_OFFSET, 1, 2, 4},
		{FAULT_UNTAGGED_VERSION, 1, 2, 6},
		{FAULT_TAG_STAG, 1, 1, 0},
		{FAULT_TAG_BOUNDS, 1, 1, 1},
		{FAULT_TAG_STREAM, 1, 1, 2},
		{FAULT_TAG_VERSION, 1, 1, 4},
		{FAULT_READ_STAG, 0, 1, 0},
		{FAULT_READ_BOUNDS, 0, 1, 1},
		{FAULT_READ_RIGHTS, 0, 1, 2},
		{FAULT_READ_LIMIT, 0, 2, 7},
		{FAULT_RDMAP_VERSION, 0, 2, 5},
		{FAULT_OPCODE, 0, 2, 6},
		{FAULT_INVALIDATE, 0, 2, 9},
		{FAULT_NO_READ, 1, 0, 0},
		{FAULT_CRC, 2, 0, 2},
		{FAULT_LENGTH, 2, 0, 3},
		{FAULT_FRAME, 2, 0, 4},
		{FAULT_READS_IN, 2, 0, 6},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct rdmap_fault_row *row = rdmap_fault_find(rows[i].fault);

		assert_int_equal(row->layer, rows[i].layer);
		assert_int_equal(row->type, rows[i].type);
		assert_int_equal(row->code, rows[i].code);
	}
	for (int f = 0; f < RDMAP_FAULTS; f++)
		assert_non_null(rdmap_fault_find((enum rdmap_fault)f)->text);
}

static void terminate_is_read_in_the_rfcs_order(void **state)
{
	struct rdmap_terminate t;

	(void)state;
	rdmap_terminate_decode((const uint8_t *)"\x12\x03\xc0\x00", &t);
	assert_int_equal(t.layer, 1);
	assert_int_equal(t.type, 2);
	assert_int_equal(t.code, 3);
	assert_false(t.swapped);
}

static void terminate_is_read_in_siws_order(void **state)
{
	struct rdmap_terminate t;

	(void)state;
	rdmap_terminate_decode((const uint8_t *)"\x21\x03\x03\x00", &t);
	assert_int_equal(t.layer, 1);
	assert_int_equal(t.type, 2);
	assert_int_equal(t.code, 3);
	assert_true(t.swapped);
}

static void terminate_carries_the_failing_header(void **state)
{
	static const uint8_t failed[] = "\x00\x10\x41\x43\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0";
	uint8_t out[RDMAP_TERMINATE_MAX];

	(void)state;
	assert_int_equal(rdmap_terminate_encode(FAULT_MSN, failed, 20, out), 24);
	assert_memory_equal(out, "\x12\x03\xc0\x00", 4);
	assert_memory_equal(out + 4, failed, 20);
	/* not all of the header is known, or the fault has none */
	assert_int_equal(rdmap_terminate_encode(FAULT_MSN, failed, 4, out), 4);
	assert_memory_equal(out, "\x12\x03\x00\x00", 4);
	assert_int_equal(rdmap_terminate_encode(FAULT_CRC, failed, 20, out), 4);
	assert_memory_equal(out, "\x20\x02\x00\x00", 4);
}

static void terminate_of_a_read_carries_its_request(void **state)
{
	uint8_t failed[48] = "\x00\x2e\x41\x41", out[RDMAP_TERMINATE_MAX];

	(void)state;
	assert_int_equal(rdmap_terminate_encode(FAULT_READ_STAG, failed, 48, out), 52);
	assert_memory_equal(out, "\x01\x00\xe0\x00", 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opcodes_are_those_of_rfc_5040),
		cmocka_unit_test(read_request_of_siw),
		cmocka_unit_test(faults_carry_the_layer_type_and_code_of_the_standards),
		cmocka_unit_test(terminate_is_read_in_the_rfcs_order),
		cmocka_unit_test(terminate_is_read_in_siws_order),
		cmocka_unit_test(terminate_carries_the_failing_header),
		cmocka_unit_test(terminate_of_a_read_carries_its_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
