/* The operations that a logical unit knows: one row per operation code and service action, in
 * ascending order of codes. Bytes of the usage maps have a 1 for each bit that is evaluated (SPC-4
 * section 6.35.3); all others must be 0. Protection information is not supported, so RDPROTECT,
 * WRPROTECT and VRPROTECT have no bits. */
#include "target/opcodes.h"

#include "common/base/bytes.h"
#include "common/scsi/cdb.h"
#include "common/scsi/reservation.h"
#include "target/executors.h"

#define BLOCK6(op)                                                                                 \
	{                                                                                          \
		op, 0x1f, 0xff, 0xff, 0xff                                                         \
	}
#define BLOCK10(op, flags)                                                                         \
	{                                                                                          \
		op, flags, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff                                \
	}
#define BLOCK12(op, flags)                                                                         \
	{                                                                                          \
		op, flags, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f                    \
	}
#define BLOCK16(op, flags)                                                                         \
	{                                                                                          \
		op, flags, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, \
			0x3f                                                                       \
	}
#define RESERVE_IN                                                                                 \
	{                                                                                          \
		SCSI_PERSISTENT_RESERVE_IN, 0x1f, 0, 0, 0, 0, 0, 0xff, 0xff                        \
	}
#define RESERVE_OUT                                                                                \
	{                                                                                          \
		SCSI_PERSISTENT_RESERVE_OUT, 0x1f, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff              \
	}

enum {
	RW = 0x1a,	  /* DPO, FUA, FUA_NV (obsolete, and asks for less than FUA: ignored) */
	VERIFYING = 0x16, /* DPO, BYTCHK */
	ALWAYS = OPERATION_DESPITE_RESERVATION | OPERATION_DESPITE_RESERVE,
	READS = OPERATION_MEDIUM | OPERATION_READS_RESERVED,
	WRITES = OPERATION_MEDIUM | OPERATION_WRITES,
};

#define OP(code, name, length, flags, parse, execute, ...)                                         \
	{                                                                                          \
		code, -1, name, length, __VA_ARGS__, flags, parse, execute                         \
	}
#define SA(code, action, name, length, flags, parse, execute, ...)                                 \
	{                                                                                          \
		code, action, name, length, __VA_ARGS__, flags, parse, execute                     \
	}
#define RW_OP(code, name, length, flags, execute, ...)                                             \
	OP(code, name, length, flags, sbc_read_write_parse, execute, __VA_ARGS__)

static const struct command_operation operations[] = {
	OP(SCSI_TEST_UNIT_READY, "TEST UNIT READY", 6, OPERATION_DESPITE_RESERVATION,
		spc_no_parameters, spc_test_unit_ready, {SCSI_TEST_UNIT_READY}),
	OP(SCSI_REQUEST_SENSE, "REQUEST SENSE", 6,
		ALWAYS | OPERATION_DESPITE_ATTENTION | OPERATION_ANY_LUN, spc_no_parameters,
		spc_request_sense, {SCSI_REQUEST_SENSE, 0x01, 0, 0, 0xff}),
	RW_OP(SCSI_READ_6, "READ(6)", 6, READS, sbc_read, BLOCK6(SCSI_READ_6)),
	RW_OP(SCSI_WRITE_6, "WRITE(6)", 6, WRITES, sbc_write, BLOCK6(SCSI_WRITE_6)),
	OP(SCSI_INQUIRY, "INQUIRY", 6, ALWAYS | OPERATION_DESPITE_ATTENTION | OPERATION_ANY_LUN,
		spc_inquiry_parse, spc_inquiry, {SCSI_INQUIRY, 0x01, 0xff, 0xff, 0xff}),
	OP(SCSI_MODE_SELECT_6, "MODE SELECT(6)", 6, 0, modes_select_parse, modes_select,
		{SCSI_MODE_SELECT_6, 0x11, 0, 0, 0xff}),
	OP(SCSI_RESERVE_6, "RESERVE(6)", 6, OPERATION_DESPITE_RESERVATION, spc_no_parameters,
		reservation_reserve, {SCSI_RESERVE_6}),
	OP(SCSI_RELEASE_6, "RELEASE(6)", 6, ALWAYS, spc_no_parameters, reservation_release,
		{SCSI_RELEASE_6}),
	OP(SCSI_MODE_SENSE_6, "MODE SENSE(6)", 6, OPERATION_READS_RESERVED, modes_sense_parse,
		modes_sense, {SCSI_MODE_SENSE_6, 0x08, 0xff, 0xff, 0xff}),
	OP(SCSI_START_STOP_UNIT, "START STOP UNIT", 6, 0, spc_no_parameters, sbc_start_stop_unit,
		{SCSI_START_STOP_UNIT, 0x01, 0, 0x0f, 0xf7}),
	OP(SCSI_PREVENT_ALLOW_MEDIUM_REMOVAL, "PREVENT ALLOW MEDIUM REMOVAL", 6, ALWAYS,
		spc_no_parameters, sbc_prevent_allow,
		{SCSI_PREVENT_ALLOW_MEDIUM_REMOVAL, 0, 0, 0, 0x03}),
	OP(SCSI_READ_CAPACITY_10, "READ CAPACITY(10)", 10, OPERATION_DESPITE_RESERVATION,
		spc_no_parameters, sbc_read_capacity10,
		{SCSI_READ_CAPACITY_10, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0x01}),
	RW_OP(SCSI_READ_10, "READ(10)", 10, READS, sbc_read, BLOCK10(SCSI_READ_10, RW)),
	RW_OP(SCSI_WRITE_10, "WRITE(10)", 10, WRITES, sbc_write, BLOCK10(SCSI_WRITE_10, RW)),
	OP(SCSI_WRITE_AND_VERIFY_10, "WRITE AND VERIFY(10)", 10, WRITES, sbc_verify_parse,
		sbc_write_and_verify, BLOCK10(SCSI_WRITE_AND_VERIFY_10, VERIFYING)),
	OP(SCSI_VERIFY_10, "VERIFY(10)", 10, READS, sbc_verify_parse, sbc_verify,
		BLOCK10(SCSI_VERIFY_10, VERIFYING)),
	OP(SCSI_PRE_FETCH_10, "PRE-FETCH(10)", 10, READS, sbc_pre_fetch_parse, sbc_pre_fetch,
		BLOCK10(SCSI_PRE_FETCH_10, 0x02)),
	OP(SCSI_SYNCHRONIZE_CACHE_10, "SYNCHRONIZE CACHE(10)", 10, OPERATION_MEDIUM,
		sbc_synchronize_cache_parse, sbc_synchronize_cache,
		BLOCK10(SCSI_SYNCHRONIZE_CACHE_10, 0x06)),
	OP(SCSI_WRITE_SAME_10, "WRITE SAME(10)", 10, WRITES, sbc_write_same_parse, sbc_write_same,
		BLOCK10(SCSI_WRITE_SAME_10, CDB_WRITE_SAME_UNMAP)),
	OP(SCSI_UNMAP, "UNMAP", 10, WRITES | OPERATION_THIN, sbc_unmap_parse, sbc_unmap,
		{SCSI_UNMAP, 0, 0, 0, 0, 0, 0x3f, 0xff, 0xff}),
	OP(SCSI_MODE_SELECT_10, "MODE SELECT(10)", 10, 0, modes_select_parse, modes_select,
		{SCSI_MODE_SELECT_10, 0x11, 0, 0, 0, 0, 0, 0xff, 0xff}),
	OP(SCSI_RESERVE_10, "RESERVE(10)", 10, OPERATION_DESPITE_RESERVATION, spc_no_parameters,
		reservation_reserve, {SCSI_RESERVE_10}),
	OP(SCSI_RELEASE_10, "RELEASE(10)", 10, ALWAYS, spc_no_parameters, reservation_release,
		{SCSI_RELEASE_10}),
	OP(SCSI_MODE_SENSE_10, "MODE SENSE(10)", 10, OPERATION_READS_RESERVED, modes_sense_parse,
		modes_sense, {SCSI_MODE_SENSE_10, 0x18, 0xff, 0xff, 0, 0, 0, 0xff, 0xff}),
	SA(SCSI_PERSISTENT_RESERVE_IN, RESERVATION_READ_KEYS, "PERSISTENT RESERVE IN, READ KEYS",
		10, OPERATION_DESPITE_RESERVATION, spc_no_parameters, reservation_in, RESERVE_IN),
	SA(SCSI_PERSISTENT_RESERVE_IN, RESERVATION_READ_RESERVATION,
		"PERSISTENT RESERVE IN, READ RESERVATION", 10, OPERATION_DESPITE_RESERVATION,
		spc_no_parameters, reservation_in, RESERVE_IN),
	SA(SCSI_PERSISTENT_RESERVE_IN, RESERVATION_REPORT_CAPABILITIES,
		"PERSISTENT RESERVE IN, REPORT CAPABILITIES", 10, OPERATION_DESPITE_RESERVATION,
		spc_no_parameters, reservation_in, RESERVE_IN),
	SA(SCSI_PERSISTENT_RESERVE_IN, RESERVATION_READ_FULL_STATUS,
		"PERSISTENT RESERVE IN, READ FULL STATUS", 10, OPERATION_DESPITE_RESERVATION,
		spc_no_parameters, reservation_in, RESERVE_IN),
	SA(SCSI_PERSISTENT_RESERVE_OUT, RESERVATION_REGISTER, "PERSISTENT RESERVE OUT, REGISTER",
		10, OPERATION_DESPITE_RESERVATION, reservation_out_parse, reservation_out,
		RESERVE_OUT),
	SA(SCSI_PERSISTENT_RESERVE_OUT, RESERVATION_RESERVE, "PERSISTENT RESERVE OUT, RESERVE", 10,
		OPERATION_DESPITE_RESERVATION, reservation_out_parse, reservation_out, RESERVE_OUT),
	SA(SCSI_PERSISTENT_RESERVE_OUT, RESERVATION_RELEASE, "PERSISTENT RESERVE OUT, RELEASE", 10,
		OPERATION_DESPITE_RESERVATION, reservation_out_parse, reservation_out, RESERVE_OUT),
	SA(SCSI_PERSISTENT_RESERVE_OUT, RESERVATION_CLEAR, "PERSISTENT RESERVE OUT, CLEAR", 10,
		OPERATION_DESPITE_RESERVATION, reservation_out_parse, reservation_out, RESERVE_OUT),
	SA(SCSI_PERSISTENT_RESERVE_OUT, RESERVATION_PREEMPT, "PERSISTENT RESERVE OUT, PREEMPT", 10,
		OPERATION_DESPITE_RESERVATION, reservation_out_parse, reservation_out, RESERVE_OUT),
	SA(SCSI_PERSISTENT_RESERVE_OUT, RESERVATION_PREEMPT_AND_ABORT,
		"PERSISTENT RESERVE OUT, PREEMPT AND ABORT", 10, OPERATION_DESPITE_RESERVATION,
		reservation_out_parse, reservation_out, RESERVE_OUT),
	SA(SCSI_PERSISTENT_RESERVE_OUT, RESERVATION_REGISTER_AND_IGNORE,
		"PERSISTENT RESERVE OUT, REGISTER AND IGNORE EXISTING KEY", 10,
		OPERATION_DESPITE_RESERVATION, reservation_out_parse, reservation_out, RESERVE_OUT),
	RW_OP(SCSI_READ_16, "READ(16)", 16, READS, sbc_read, BLOCK16(SCSI_READ_16, RW)),
	OP(SCSI_COMPARE_AND_WRITE, "COMPARE AND WRITE", 16, WRITES, sbc_compare_and_write_parse,
		sbc_compare_and_write,
		{SCSI_COMPARE_AND_WRITE, RW, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0,
			0, 0xff, 0x3f}),
	RW_OP(SCSI_WRITE_16, "WRITE(16)", 16, WRITES, sbc_write, BLOCK16(SCSI_WRITE_16, RW)),
	RW_OP(SCSI_ORWRITE_16, "ORWRITE(16)", 16, WRITES, sbc_orwrite,
		BLOCK16(SCSI_ORWRITE_16, RW)),
	OP(SCSI_WRITE_AND_VERIFY_16, "WRITE AND VERIFY(16)", 16, WRITES, sbc_verify_parse,
		sbc_write_and_verify, BLOCK16(SCSI_WRITE_AND_VERIFY_16, VERIFYING)),
	OP(SCSI_VERIFY_16, "VERIFY(16)", 16, READS, sbc_verify_parse, sbc_verify,
		BLOCK16(SCSI_VERIFY_16, VERIFYING)),
	OP(SCSI_PRE_FETCH_16, "PRE-FETCH(16)", 16, READS, sbc_pre_fetch_parse, sbc_pre_fetch,
		BLOCK16(SCSI_PRE_FETCH_16, 0x02)),
	OP(SCSI_SYNCHRONIZE_CACHE_16, "SYNCHRONIZE CACHE(16)", 16, OPERATION_MEDIUM,
		sbc_synchronize_cache_parse, sbc_synchronize_cache,
		BLOCK16(SCSI_SYNCHRONIZE_CACHE_16, 0x06)),
	OP(SCSI_WRITE_SAME_16, "WRITE SAME(16)", 16, WRITES, sbc_write_same_parse, sbc_write_same,
		BLOCK16(SCSI_WRITE_SAME_16, CDB_WRITE_SAME_UNMAP | CDB_WRITE_SAME_NDOB)),
	SA(SCSI_SERVICE_ACTION_IN_16, SCSI_READ_CAPACITY_16, "READ CAPACITY(16)", 16,
		OPERATION_DESPITE_RESERVATION, spc_no_parameters, sbc_read_capacity16,
		{SCSI_SERVICE_ACTION_IN_16, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff, 0xff, 0x01}),
	SA(SCSI_SERVICE_ACTION_IN_16, SCSI_GET_LBA_STATUS, "GET LBA STATUS", 16, READS,
		sbc_get_lba_status_parse, sbc_get_lba_status,
		{SCSI_SERVICE_ACTION_IN_16, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff, 0xff}),
	OP(SCSI_REPORT_LUNS, "REPORT LUNS", 12,
		ALWAYS | OPERATION_DESPITE_ATTENTION | OPERATION_ANY_LUN, spc_report_luns_parse,
		spc_report_luns, {SCSI_REPORT_LUNS, 0, 0xff, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}),
	SA(SCSI_MAINTENANCE_IN, SCSI_REPORT_SUPPORTED_OPERATION_CODES,
		"REPORT SUPPORTED OPERATION CODES", 12, OPERATION_DESPITE_RESERVATION,
		spc_no_parameters, opcodes_report,
		{SCSI_MAINTENANCE_IN, 0x1f, 0x87, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
	SA(SCSI_MAINTENANCE_IN, SCSI_REPORT_SUPPORTED_TMF,
		"REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS", 12, OPERATION_DESPITE_RESERVATION,
		spc_no_parameters, opcodes_report_tmf,
		{SCSI_MAINTENANCE_IN, 0x1f, 0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}),
	RW_OP(SCSI_READ_12, "READ(12)", 12, READS, sbc_read, BLOCK12(SCSI_READ_12, RW)),
	RW_OP(SCSI_WRITE_12, "WRITE(12)", 12, WRITES, sbc_write, BLOCK12(SCSI_WRITE_12, RW)),
	OP(SCSI_WRITE_AND_VERIFY_12, "WRITE AND VERIFY(12)", 12, WRITES, sbc_verify_parse,
		sbc_write_and_verify, BLOCK12(SCSI_WRITE_AND_VERIFY_12, VERIFYING)),
	OP(SCSI_VERIFY_12, "VERIFY(12)", 12, READS, sbc_verify_parse, sbc_verify,
		BLOCK12(SCSI_VERIFY_12, VERIFYING)),
};

size_t opcodes_count(void)
{
	return ARRAY_SIZE(operations);
}

const struct command_operation *opcodes_row(size_t row)
{
	return &operations[row];
}

/* The first row whose code is not less: rows are sorted. */
static size_t lower_bound(uint8_t opcode)
{
	size_t low = 0, high = ARRAY_SIZE(operations);

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (operations[middle].opcode < opcode)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct command_operation *opcodes_first(uint8_t opcode)
{
	size_t row = lower_bound(opcode);

	if (row == ARRAY_SIZE(operations) || operations[row].opcode != opcode)
		return NULL;
	return &operations[row];
}

const struct command_operation *opcodes_service_action(uint8_t opcode, uint16_t action)
{
	size_t row = lower_bound(opcode);

	for (; row < ARRAY_SIZE(operations) && operations[row].opcode == opcode; row++)
		if (operations[row].service_action == action)
			return &operations[row];
	return NULL;
}

const struct command_operation *opcodes_find(const uint8_t *cdb, uint16_t *ret_code)
{
	const struct command_operation *o = opcodes_first(cdb[0]);

	if (o && o->service_action >= 0)
		o = opcodes_service_action(cdb[0], cdb[1] & 0x1f);
	if (!o)
		*ret_code = opcodes_first(cdb[0]) ? ASC_INVALID_FIELD_IN_CDB
						  : ASC_INVALID_COMMAND_OPERATION_CODE;
	return o;
}
