/* Command Descriptor Blocks: see cdb.h. Block commands are SBC-3 section 5, primary commands SPC-4
 * section 6. Called by the initiator's disk.c and by the target's executors. */
#include "common/scsi/cdb.h"

#include <errno.h>

#include "common/base/bytes.h"

unsigned cdb_length(const uint8_t *cdb)
{
	static const uint8_t lengths[8] = {6, 10, 10, 0, 16, 12, 0, 0};

	if (cdb[0] == 0x7f)
		return 8u + cdb[7];
	return lengths[cdb[0] >> 5];
}

/* ---- block commands ---- */

int cdb_block_decode(const uint8_t *cdb, struct cdb_block *ret)
{
	switch (cdb_length(cdb)) {
	case 6: /* a 21-bit LBA from byte 1 on */
		*ret = (struct cdb_block){get_be24(cdb + 1) & 0x1fffff, cdb[4] ? cdb[4] : 256, 0};
		return 0;
	case 10:
		*ret = (struct cdb_block){get_be32(cdb + 2), get_be16(cdb + 7), cdb[1]};
		return 0;
	case 12:
		*ret = (struct cdb_block){get_be32(cdb + 2), get_be32(cdb + 6), cdb[1]};
		return 0;
	case 16:
		*ret = (struct cdb_block){get_be64(cdb + 2), get_be32(cdb + 10), cdb[1]};
		return 0;
	default:
		return -EINVAL;
	}
}

void cdb_compare_and_write_decode(const uint8_t *cdb, struct cdb_block *ret)
{
	*ret = (struct cdb_block){get_be64(cdb + 2), cdb[13], cdb[1]};
}

static unsigned put_block10(
	uint8_t cdb[CDB_SIZE], uint8_t opcode, uint8_t flags, uint32_t lba, uint16_t blocks)
{
	memset(cdb, 0, CDB_SIZE);
	cdb[0] = opcode;
	cdb[1] = flags;
	put_be32(cdb + 2, lba);
	put_be16(cdb + 7, blocks);
	return 10;
}

static unsigned put_block16(
	uint8_t cdb[CDB_SIZE], uint8_t opcode, uint8_t flags, uint64_t lba, uint32_t blocks)
{
	memset(cdb, 0, CDB_SIZE);
	cdb[0] = opcode;
	cdb[1] = flags;
	put_be64(cdb + 2, lba);
	put_be32(cdb + 10, blocks);
	return 16;
}

void cdb_read_write(uint8_t cdb[CDB_SIZE], enum scsi_direction direction, uint64_t lba,
	uint32_t blocks, bool fua, unsigned *ret_length)
{
	bool write = direction == SCSI_DATA_OUT;
	uint8_t flags = fua ? CDB_FUA : 0;

	if (lba <= UINT32_MAX && blocks <= UINT16_MAX)
		*ret_length = put_block10(cdb, write ? SCSI_WRITE_10 : SCSI_READ_10, flags,
			(uint32_t)lba, (uint16_t)blocks);
	else
		*ret_length =
			put_block16(cdb, write ? SCSI_WRITE_16 : SCSI_READ_16, flags, lba, blocks);
}

unsigned cdb_verify16(uint8_t cdb[CDB_SIZE], uint64_t lba, uint32_t blocks, bool bytchk)
{
	return put_block16(cdb, SCSI_VERIFY_16, bytchk ? 0x02 : 0, lba, blocks);
}

unsigned cdb_sync_cache10(uint8_t cdb[CDB_SIZE], uint32_t lba, uint16_t blocks)
{
	return put_block10(cdb, SCSI_SYNCHRONIZE_CACHE_10, 0, lba, blocks);
}

unsigned cdb_sync_cache16(uint8_t cdb[CDB_SIZE], uint64_t lba, uint32_t blocks)
{
	return put_block16(cdb, SCSI_SYNCHRONIZE_CACHE_16, 0, lba, blocks);
}

unsigned cdb_write_same10(uint8_t cdb[CDB_SIZE], uint32_t lba, uint16_t blocks, bool unmap)
{
	return put_block10(cdb, SCSI_WRITE_SAME_10, unmap ? CDB_WRITE_SAME_UNMAP : 0, lba, blocks);
}

unsigned cdb_write_same16(
	uint8_t cdb[CDB_SIZE], uint64_t lba, uint32_t blocks, bool unmap, bool ndob)
{
	uint8_t flags = unmap ? CDB_WRITE_SAME_UNMAP : 0;

	if (ndob)
		flags |= CDB_WRITE_SAME_NDOB;
	return put_block16(cdb, SCSI_WRITE_SAME_16, flags, lba, blocks);
}

unsigned cdb_compare_and_write(uint8_t cdb[CDB_SIZE], uint64_t lba, uint8_t blocks, bool fua)
{
	put_block16(cdb, SCSI_COMPARE_AND_WRITE, fua ? CDB_FUA : 0, lba, 0);
	cdb[13] = blocks;
	return 16;
}

unsigned cdb_read_capacity16(uint8_t cdb[CDB_SIZE], uint32_t allocation_length)
{
	return put_block16(
		cdb, SCSI_SERVICE_ACTION_IN_16, SCSI_READ_CAPACITY_16, 0, allocation_length);
}

unsigned cdb_read_capacity10(uint8_t cdb[CDB_SIZE])
{
	return put_block10(cdb, SCSI_READ_CAPACITY_10, 0, 0, 0);
}

unsigned cdb_unmap(uint8_t cdb[CDB_SIZE], uint16_t parameter_length)
{
	return put_block10(cdb, SCSI_UNMAP, 0, 0, parameter_length);
}

/* ---- the UNMAP parameter list ---- */

size_t unmap_list_encode(
	const struct unmap_extent *extents, size_t count, uint8_t *out, size_t size)
{
	size_t length = UNMAP_HEADER_SIZE + count * UNMAP_DESCRIPTOR_SIZE;

	if (count > UINT16_MAX / UNMAP_DESCRIPTOR_SIZE || length > size || length > UINT16_MAX)
		return 0;
	memset(out, 0, length);
	put_be16(out, (uint16_t)(length - 2));
	put_be16(out + 2, (uint16_t)(length - UNMAP_HEADER_SIZE));
	for (size_t i = 0; i < count; i++) {
		uint8_t *d = out + UNMAP_HEADER_SIZE + i * UNMAP_DESCRIPTOR_SIZE;

		put_be64(d, extents[i].lba);
		put_be32(d + 8, extents[i].blocks);
	}
	return length;
}

size_t unmap_list_count(const uint8_t *list, size_t length)
{
	if (length < UNMAP_HEADER_SIZE)
		return 0;
	return min_size(get_be16(list + 2), length - UNMAP_HEADER_SIZE) / UNMAP_DESCRIPTOR_SIZE;
}

void unmap_list_get(const uint8_t *list, size_t index, struct unmap_extent *ret)
{
	const uint8_t *d = list + UNMAP_HEADER_SIZE + index * UNMAP_DESCRIPTOR_SIZE;

	*ret = (struct unmap_extent){get_be64(d), get_be32(d + 8)};
}

/* ---- primary commands ---- */

static unsigned put6(uint8_t cdb[CDB_SIZE], uint8_t opcode, uint8_t b1, uint8_t b2, uint8_t b4)
{
	memset(cdb, 0, CDB_SIZE);
	cdb[0] = opcode;
	cdb[1] = b1;
	cdb[2] = b2;
	cdb[4] = b4;
	return 6;
}

unsigned cdb_test_unit_ready(uint8_t cdb[CDB_SIZE])
{
	return put6(cdb, SCSI_TEST_UNIT_READY, 0, 0, 0);
}

unsigned cdb_request_sense(uint8_t cdb[CDB_SIZE], bool descriptor, uint8_t allocation_length)
{
	return put6(cdb, SCSI_REQUEST_SENSE, descriptor, 0, allocation_length);
}

unsigned cdb_start_stop_unit(uint8_t cdb[CDB_SIZE], bool start)
{
	return put6(cdb, SCSI_START_STOP_UNIT, 0, 0, start);
}

unsigned cdb_inquiry(uint8_t cdb[CDB_SIZE], uint16_t allocation_length)
{
	put6(cdb, SCSI_INQUIRY, 0, 0, 0);
	put_be16(cdb + 3, allocation_length);
	return 6;
}

unsigned cdb_inquiry_vpd(uint8_t cdb[CDB_SIZE], uint8_t page, uint16_t allocation_length)
{
	put6(cdb, SCSI_INQUIRY, 1, page, 0);
	put_be16(cdb + 3, allocation_length);
	return 6;
}

unsigned cdb_report_luns(uint8_t cdb[CDB_SIZE], uint32_t allocation_length)
{
	memset(cdb, 0, CDB_SIZE);
	cdb[0] = SCSI_REPORT_LUNS;
	put_be32(cdb + 6, allocation_length);
	return 12;
}

unsigned cdb_mode_sense6(
	uint8_t cdb[CDB_SIZE], uint8_t page, uint8_t control, bool dbd, uint8_t allocation_length)
{
	return put6(cdb, SCSI_MODE_SENSE_6, dbd ? 0x08 : 0, (uint8_t)(control << 6 | (page & 0x3f)),
		allocation_length);
}

unsigned cdb_mode_sense10(
	uint8_t cdb[CDB_SIZE], uint8_t page, uint8_t control, bool dbd, uint16_t allocation_length)
{
	put_block10(cdb, SCSI_MODE_SENSE_10, dbd ? 0x08 : 0, 0, allocation_length);
	cdb[2] = (uint8_t)(control << 6 | (page & 0x3f));
	return 10;
}

unsigned cdb_mode_select6(uint8_t cdb[CDB_SIZE], bool save, uint8_t parameter_length)
{
	return put6(cdb, SCSI_MODE_SELECT_6, save ? 0x11 : 0x10, 0, parameter_length);
}

unsigned cdb_mode_select10(uint8_t cdb[CDB_SIZE], bool save, uint16_t parameter_length)
{
	return put_block10(cdb, SCSI_MODE_SELECT_10, save ? 0x11 : 0x10, 0, parameter_length);
}

unsigned cdb_reserve6(uint8_t cdb[CDB_SIZE])
{
	return put6(cdb, SCSI_RESERVE_6, 0, 0, 0);
}

unsigned cdb_release6(uint8_t cdb[CDB_SIZE])
{
	return put6(cdb, SCSI_RELEASE_6, 0, 0, 0);
}

unsigned cdb_persistent_reserve_in(
	uint8_t cdb[CDB_SIZE], uint8_t service_action, uint16_t allocation_length)
{
	return put_block10(
		cdb, SCSI_PERSISTENT_RESERVE_IN, service_action & 0x1f, 0, allocation_length);
}

unsigned cdb_persistent_reserve_out(
	uint8_t cdb[CDB_SIZE], uint8_t service_action, uint8_t type, uint32_t parameter_length)
{
	memset(cdb, 0, CDB_SIZE);
	cdb[0] = SCSI_PERSISTENT_RESERVE_OUT;
	cdb[1] = service_action & 0x1f;
	cdb[2] = type & 0xf;
	put_be32(cdb + 5, parameter_length);
	return 10;
}
