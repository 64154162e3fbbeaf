/* The VPD pages of block devices (SBC-3 section 6.5): B0h block limits, B1h block device
 * characteristics, B2h logical block provisioning. See inquiry.h. */
#include "common/scsi/inquiry.h"

#include <errno.h>

enum {
	BLOCK_LIMITS_LENGTH = 0x3c,
	CHARACTERISTICS_LENGTH = 0x3c,
	PROVISIONING_LENGTH = 4,
	LIMITS_WSNZ = 0x01,
	LIMITS_UGAVALID = 0x80,
	CHARACTERISTICS_FUAB = 0x02,
	CHARACTERISTICS_VBULS = 0x01,
	PROVISIONING_LBPU = 0x80,
	PROVISIONING_LBPWS = 0x40,
	PROVISIONING_LBPWS10 = 0x20,
	PROVISIONING_ANC_SUP = 0x02,
};

/* The body of one page, zeroed, or NULL when there is no room; all three have a fixed length. */
static uint8_t *begin_fixed(uint8_t peripheral, uint8_t page, size_t length, struct bytes_writer *w)
{
	size_t begun = vpd_begin(peripheral, page, w);
	uint8_t *out = bytes_reserve(w, length);

	if (!out)
		return NULL;
	memset(out, 0, length);
	vpd_end(begun, w);
	return out;
}

/* The body of a page as far as it came, the rest zeros. */
static int open_fixed(const void *data, size_t length, uint8_t page, uint8_t *body, size_t size)
{
	struct bytes_reader r;
	int err = vpd_open(data, length, page, &r);

	if (err)
		return err;
	memset(body, 0, size);
	memcpy(body, r.at, min_size(r.left, size));
	return 0;
}

void vpd_block_limits_encode(
	uint8_t peripheral, const struct vpd_block_limits *b, struct bytes_writer *w)
{
	uint8_t *out = begin_fixed(peripheral, VPD_BLOCK_LIMITS, BLOCK_LIMITS_LENGTH, w);

	if (!out)
		return;
	out[0] = b->write_same_non_zero ? LIMITS_WSNZ : 0;
	out[1] = b->max_compare_and_write;
	put_be16(out + 2, b->optimal_granularity);
	put_be32(out + 4, b->max_transfer);
	put_be32(out + 8, b->optimal_transfer);
	put_be32(out + 12, b->max_prefetch);
	put_be32(out + 16, b->max_unmap);
	put_be32(out + 20, b->max_unmap_descriptors);
	put_be32(out + 24, b->unmap_granularity);
	put_be32(out + 28, b->unmap_alignment & 0x7fffffff);
	if (b->unmap_alignment_valid)
		out[28] |= LIMITS_UGAVALID;
	put_be64(out + 32, b->max_write_same);
}

int vpd_block_limits_decode(const void *data, size_t length, struct vpd_block_limits *ret)
{
	uint8_t in[BLOCK_LIMITS_LENGTH];
	int err = open_fixed(data, length, VPD_BLOCK_LIMITS, in, sizeof(in));

	if (err)
		return err;
	*ret = (struct vpd_block_limits){
		.write_same_non_zero = in[0] & LIMITS_WSNZ,
		.max_compare_and_write = in[1],
		.optimal_granularity = get_be16(in + 2),
		.max_transfer = get_be32(in + 4),
		.optimal_transfer = get_be32(in + 8),
		.max_prefetch = get_be32(in + 12),
		.max_unmap = get_be32(in + 16),
		.max_unmap_descriptors = get_be32(in + 20),
		.unmap_granularity = get_be32(in + 24),
		.unmap_alignment_valid = in[28] & LIMITS_UGAVALID,
		.unmap_alignment = get_be32(in + 28) & 0x7fffffff,
		.max_write_same = get_be64(in + 32),
	};
	return 0;
}

void vpd_block_characteristics_encode(
	uint8_t peripheral, const struct vpd_block_characteristics *c, struct bytes_writer *w)
{
	uint8_t *out =
		begin_fixed(peripheral, VPD_BLOCK_CHARACTERISTICS, CHARACTERISTICS_LENGTH, w);

	if (!out)
		return;
	put_be16(out, c->rotation_rate);
	out[3] = c->form_factor & 0xf;
	out[4] = (uint8_t)((c->fua_behaviour ? CHARACTERISTICS_FUAB : 0) |
			   (c->verifies_before_write ? CHARACTERISTICS_VBULS : 0));
}

int vpd_block_characteristics_decode(
	const void *data, size_t length, struct vpd_block_characteristics *ret)
{
	uint8_t in[8];
	int err = open_fixed(data, length, VPD_BLOCK_CHARACTERISTICS, in, sizeof(in));

	if (err)
		return err;
	*ret = (struct vpd_block_characteristics){
		.rotation_rate = get_be16(in),
		.form_factor = in[3] & 0xf,
		.fua_behaviour = in[4] & CHARACTERISTICS_FUAB,
		.verifies_before_write = in[4] & CHARACTERISTICS_VBULS,
	};
	return 0;
}

void vpd_provisioning_encode(
	uint8_t peripheral, const struct vpd_provisioning *p, struct bytes_writer *w)
{
	uint8_t *out =
		begin_fixed(peripheral, VPD_LOGICAL_BLOCK_PROVISIONING, PROVISIONING_LENGTH, w);

	if (!out)
		return;
	out[0] = p->threshold_exponent;
	out[1] = (uint8_t)((p->unmap ? PROVISIONING_LBPU : 0) |
			   (p->write_same16 ? PROVISIONING_LBPWS : 0) |
			   (p->write_same10 ? PROVISIONING_LBPWS10 : 0) |
			   (p->reads_zeros & 7) << 2 | (p->anchor ? PROVISIONING_ANC_SUP : 0));
	out[2] = p->type & 7;
}

int vpd_provisioning_decode(const void *data, size_t length, struct vpd_provisioning *ret)
{
	uint8_t in[PROVISIONING_LENGTH];
	int err = open_fixed(data, length, VPD_LOGICAL_BLOCK_PROVISIONING, in, sizeof(in));

	if (err)
		return err;
	*ret = (struct vpd_provisioning){
		.threshold_exponent = in[0],
		.unmap = in[1] & PROVISIONING_LBPU,
		.write_same16 = in[1] & PROVISIONING_LBPWS,
		.write_same10 = in[1] & PROVISIONING_LBPWS10,
		.reads_zeros = in[1] >> 2 & 7,
		.anchor = in[1] & PROVISIONING_ANC_SUP,
		.type = in[2] & 7,
	};
	return 0;
}
