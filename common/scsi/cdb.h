/* Command Descriptor Blocks (SPC-4, SBC-3): the operation codes, and encoders and decoders for
 * those that initiator and target speak. An encoder fills 16 bytes (zeroed first) and returns the
 * CDB's length. Decoders take the 16 bytes that every iSCSI command carries. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CDB_SIZE 16 /* the longest fixed-length CDB */

enum scsi_opcode {
	SCSI_TEST_UNIT_READY = 0x00,
	SCSI_REQUEST_SENSE = 0x03,
	SCSI_READ_6 = 0x08,
	SCSI_WRITE_6 = 0x0a,
	SCSI_INQUIRY = 0x12,
	SCSI_MODE_SELECT_6 = 0x15,
	SCSI_RESERVE_6 = 0x16,
	SCSI_RELEASE_6 = 0x17,
	SCSI_MODE_SENSE_6 = 0x1a,
	SCSI_START_STOP_UNIT = 0x1b,
	SCSI_PREVENT_ALLOW_MEDIUM_REMOVAL = 0x1e,
	SCSI_READ_CAPACITY_10 = 0x25,
	SCSI_READ_10 = 0x28,
	SCSI_WRITE_10 = 0x2a,
	SCSI_WRITE_AND_VERIFY_10 = 0x2e,
	SCSI_VERIFY_10 = 0x2f,
	SCSI_PRE_FETCH_10 = 0x34,
	SCSI_SYNCHRONIZE_CACHE_10 = 0x35,
	SCSI_WRITE_SAME_10 = 0x41,
	SCSI_UNMAP = 0x42,
	SCSI_MODE_SELECT_10 = 0x55,
	SCSI_RESERVE_10 = 0x56,
	SCSI_RELEASE_10 = 0x57,
	SCSI_MODE_SENSE_10 = 0x5a,
	SCSI_PERSISTENT_RESERVE_IN = 0x5e,
	SCSI_PERSISTENT_RESERVE_OUT = 0x5f,
	SCSI_READ_16 = 0x88,
	SCSI_COMPARE_AND_WRITE = 0x89,
	SCSI_WRITE_16 = 0x8a,
	SCSI_ORWRITE_16 = 0x8b,
	SCSI_WRITE_AND_VERIFY_16 = 0x8e,
	SCSI_VERIFY_16 = 0x8f,
	SCSI_PRE_FETCH_16 = 0x90,
	SCSI_SYNCHRONIZE_CACHE_16 = 0x91,
	SCSI_WRITE_SAME_16 = 0x93,
	SCSI_SERVICE_ACTION_IN_16 = 0x9e,
	SCSI_REPORT_LUNS = 0xa0,
	SCSI_MAINTENANCE_IN = 0xa3,
	SCSI_READ_12 = 0xa8,
	SCSI_WRITE_12 = 0xaa,
	SCSI_WRITE_AND_VERIFY_12 = 0xae,
	SCSI_VERIFY_12 = 0xaf,
};

enum scsi_service_action {
	SCSI_READ_CAPACITY_16 = 0x10, /* of SERVICE ACTION IN(16) */
	SCSI_GET_LBA_STATUS = 0x12,
	SCSI_REPORT_SUPPORTED_OPERATION_CODES = 0x0c, /* of MAINTENANCE IN */
	SCSI_REPORT_SUPPORTED_TMF = 0x0d,
};

enum scsi_direction {
	SCSI_NO_DATA,
	SCSI_DATA_IN,
	SCSI_DATA_OUT,
};

/* Byte 1 of the block commands. */
enum cdb_block_flags {
	CDB_FUA = 0x08,
	CDB_DPO = 0x10,
	CDB_PROTECT_MASK = 0xe0, /* RDPROTECT, WRPROTECT, VRPROTECT, ORPROTECT */
	CDB_BYTCHK_MASK = 0x06,	 /* VERIFY, WRITE AND VERIFY */
	CDB_WRITE_SAME_UNMAP = 0x08,
	CDB_WRITE_SAME_ANCHOR = 0x10,
	CDB_WRITE_SAME_NDOB = 0x01, /* WRITE SAME(16): no data-out buffer */
	CDB_SYNC_IMMED = 0x02,	    /* SYNCHRONIZE CACHE */
};

/* The CDB's length by the group code of its first byte (SPC-4 section 4.2.5.1): 6, 10, 12 or 16;
 * for the variable-length format (7Fh) what byte 7 says; 0 for reserved
 * and vendor specific groups. */
unsigned cdb_length(const uint8_t *cdb);

/* ---- block commands (SBC-3 section 5) ---- */

struct cdb_block {
	uint64_t lba;
	uint32_t blocks; /* READ(6) and WRITE(6): 0 on the wire is 256 here */
	uint8_t flags;	 /* byte 1, enum cdb_block_flags; 0 for the 6-byte commands */
};

/* LBA, TRANSFER LENGTH (or NUMBER OF BLOCKS) and flags of a 6, 10, 12 or 16-byte block command. 0,
 * or -EINVAL for a CDB of no such length. */
int cdb_block_decode(const uint8_t *cdb, struct cdb_block *ret);
/* COMPARE AND WRITE has its NUMBER OF LOGICAL BLOCKS in byte 13. */
void cdb_compare_and_write_decode(const uint8_t *cdb, struct cdb_block *ret);

/* READ(10), WRITE(10) where the LBA fits in 32 bits and `blocks` in 16, else READ(16), WRITE(16).
 * `direction` is SCSI_DATA_IN or SCSI_DATA_OUT. */
void cdb_read_write(uint8_t cdb[CDB_SIZE], enum scsi_direction direction, uint64_t lba,
	uint32_t blocks, bool fua, unsigned *ret_length);
/* VERIFY(16) with BYTCHK 0 (the medium alone) or 1 (against data-out). */
unsigned cdb_verify16(uint8_t cdb[CDB_SIZE], uint64_t lba, uint32_t blocks, bool bytchk);
/* 0 blocks: to the end of the medium. */
unsigned cdb_sync_cache10(uint8_t cdb[CDB_SIZE], uint32_t lba, uint16_t blocks);
unsigned cdb_sync_cache16(uint8_t cdb[CDB_SIZE], uint64_t lba, uint32_t blocks);
/* `unmap`: the blocks may be deallocated; `ndob`: no data-out, the pattern is zeros. */
unsigned cdb_write_same10(uint8_t cdb[CDB_SIZE], uint32_t lba, uint16_t blocks, bool unmap);
unsigned cdb_write_same16(
	uint8_t cdb[CDB_SIZE], uint64_t lba, uint32_t blocks, bool unmap, bool ndob);
/* Data-out is 2 * blocks. */
unsigned cdb_compare_and_write(uint8_t cdb[CDB_SIZE], uint64_t lba, uint8_t blocks, bool fua);
unsigned cdb_start_stop_unit(uint8_t cdb[CDB_SIZE], bool start);
unsigned cdb_read_capacity10(uint8_t cdb[CDB_SIZE]);
unsigned cdb_read_capacity16(uint8_t cdb[CDB_SIZE], uint32_t allocation_length);

/* ---- UNMAP (SBC-3 section 5.28) ---- */

#define UNMAP_HEADER_SIZE 8
#define UNMAP_DESCRIPTOR_SIZE 16

struct unmap_extent {
	uint64_t lba;
	uint32_t blocks;
};

unsigned cdb_unmap(uint8_t cdb[CDB_SIZE], uint16_t parameter_length);
/* The parameter list for `count` extents: UNMAP_HEADER_SIZE + count * UNMAP_DESCRIPTOR_SIZE bytes.
 * Returns that length, or 0 when it does not fit in `size` or in the CDB's 16 bits. */
size_t unmap_list_encode(
	const struct unmap_extent *extents, size_t count, uint8_t *out, size_t size);
/* How many descriptors lie whole in the parameter list: a cut descriptor is not counted
 * (SBC-3 5.28.2). A list shorter than its header: 0. */
size_t unmap_list_count(const uint8_t *list, size_t length);
void unmap_list_get(const uint8_t *list, size_t index, struct unmap_extent *ret);

/* ---- primary commands (SPC-4 section 6) ---- */

unsigned cdb_test_unit_ready(uint8_t cdb[CDB_SIZE]);
unsigned cdb_request_sense(uint8_t cdb[CDB_SIZE], bool descriptor, uint8_t allocation_length);
/* Standard INQUIRY data. */
unsigned cdb_inquiry(uint8_t cdb[CDB_SIZE], uint16_t allocation_length);
unsigned cdb_inquiry_vpd(uint8_t cdb[CDB_SIZE], uint8_t page, uint16_t allocation_length);
unsigned cdb_report_luns(uint8_t cdb[CDB_SIZE], uint32_t allocation_length);
/* `control`: PC, 0 current, 1 changeable, 2 default, 3 saved. */
unsigned cdb_mode_sense6(
	uint8_t cdb[CDB_SIZE], uint8_t page, uint8_t control, bool dbd, uint8_t allocation_length);
unsigned cdb_mode_sense10(
	uint8_t cdb[CDB_SIZE], uint8_t page, uint8_t control, bool dbd, uint16_t allocation_length);
unsigned cdb_mode_select6(uint8_t cdb[CDB_SIZE], bool save, uint8_t parameter_length);
unsigned cdb_mode_select10(uint8_t cdb[CDB_SIZE], bool save, uint16_t parameter_length);
unsigned cdb_reserve6(uint8_t cdb[CDB_SIZE]);
unsigned cdb_release6(uint8_t cdb[CDB_SIZE]);
/* Service actions and types: SPC-4 tables 210, 213 and 215. */
unsigned cdb_persistent_reserve_in(
	uint8_t cdb[CDB_SIZE], uint8_t service_action, uint16_t allocation_length);
unsigned cdb_persistent_reserve_out(
	uint8_t cdb[CDB_SIZE], uint8_t service_action, uint8_t type, uint32_t parameter_length);
