/* READ CAPACITY data and REPORT LUNS lists: see capacity.h. */
#include "common/scsi/capacity.h"

#include <errno.h>
#include <limits.h>

#include "common/base/bytes.h"

enum {
	CAPACITY16_MINIMUM = 12,
	PROT_EN = 0x01,
	LBPME = 0x80,
	LBPRZ = 0x40,
};

void capacity10_encode(const struct scsi_capacity *c, uint8_t out[CAPACITY10_SIZE])
{
	put_be32(out, c->last_lba > UINT32_MAX ? UINT32_MAX : (uint32_t)c->last_lba);
	put_be32(out + 4, c->block_size);
}

int capacity10_decode(const void *data, size_t length, struct scsi_capacity *ret)
{
	const uint8_t *in = data;

	if (length < CAPACITY10_SIZE || !get_be32(in + 4))
		return -EPROTO;
	if (get_be32(in) == UINT32_MAX)
		return -EOVERFLOW;
	*ret = (struct scsi_capacity){.last_lba = get_be32(in), .block_size = get_be32(in + 4)};
	return 0;
}

void capacity16_encode(const struct scsi_capacity *c, uint8_t out[CAPACITY16_SIZE])
{
	memset(out, 0, CAPACITY16_SIZE);
	put_be64(out, c->last_lba);
	put_be32(out + 8, c->block_size);
	out[12] = c->protected ? PROT_EN : 0;
	out[13] = c->physical_exponent & 0xf;
	put_be16(out + 14, c->lowest_aligned_lba & 0x3fff);
	if (c->provisioning_managed)
		out[14] |= LBPME;
	if (c->reads_zeros)
		out[14] |= LBPRZ;
}

int capacity16_decode(const void *data, size_t length, struct scsi_capacity *ret)
{
	uint8_t in[16] = {0};

	if (length < CAPACITY16_MINIMUM)
		return -EPROTO;
	memcpy(in, data, min_size(length, sizeof(in)));
	if (!get_be32(in + 8))
		return -EPROTO;
	*ret = (struct scsi_capacity){
		.last_lba = get_be64(in),
		.block_size = get_be32(in + 8),
		.physical_exponent = in[13] & 0xf,
		.lowest_aligned_lba = get_be16(in + 14) & 0x3fff,
		.provisioning_managed = in[14] & LBPME,
		.reads_zeros = in[14] & LBPRZ,
		.protected = in[12] & PROT_EN,
	};
	return 0;
}

size_t report_luns_encode(const uint64_t *luns, size_t count, uint8_t *out, size_t size)
{
	struct bytes_writer w = bytes_writer(out, size);

	bytes_write_be32(&w, (uint32_t)(count * 8));
	bytes_write_be32(&w, 0);
	for (size_t i = 0; i < count && !w.overflow; i++)
		bytes_write_be64(&w, luns[i]);
	return REPORT_LUNS_HEADER_SIZE + count * 8;
}

int report_luns_decode(
	const void *data, size_t length, uint64_t *luns, size_t max, size_t *ret_total)
{
	struct bytes_reader r = bytes_reader(data, length);
	uint32_t list_length = bytes_read_be32(&r);
	size_t count;

	bytes_read_be32(&r);
	if (r.short_read)
		return -EPROTO;
	count = min_size(min_size(list_length, r.left) / 8, min_size(max, INT_MAX));
	for (size_t i = 0; i < count; i++)
		luns[i] = bytes_read_be64(&r);
	*ret_total = list_length / 8;
	return (int)count;
}
