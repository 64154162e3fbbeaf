/* VPD page 83h, device identification (SPC-4 section 7.8.6): see inquiry.h. */
#include "common/scsi/inquiry.h"

#include <errno.h>
#include <stdio.h>

enum {
	DESIGNATOR_HEADER_SIZE = 4,
	DESIGNATOR_PIV = 0x80,
};

void vpd_designator_encode(const struct vpd_designator *d, struct bytes_writer *w)
{
	uint8_t piv = d->protocol_valid ? DESIGNATOR_PIV : 0;

	bytes_write_u8(w, (uint8_t)(d->protocol << 4 | (d->code_set & 0xf)));
	bytes_write_u8(w, (uint8_t)(piv | (d->association & 3) << 4 | (d->type & 0xf)));
	bytes_write_u8(w, 0);
	bytes_write_u8(w, d->length);
	bytes_write(w, d->bytes, d->length);
}

void vpd_name_encode(uint8_t association, const char *name, struct bytes_writer *w)
{
	uint8_t padded[252] = {0};
	size_t length = min_size(strlen(name), sizeof(padded) - 1);
	struct vpd_designator d = {
		.association = association,
		.code_set = VPD_UTF8,
		.type = VPD_SCSI_NAME_STRING,
		.protocol_valid = association != VPD_LOGICAL_UNIT,
		.protocol = association != VPD_LOGICAL_UNIT ? VPD_PROTOCOL_ISCSI : 0,
		.length = (uint8_t)round_up(length + 1, 4),
		.bytes = padded,
	};

	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): zeroes are there already */
	memcpy(padded, name, length);
	vpd_designator_encode(&d, w);
}

bool vpd_designator_next(struct bytes_reader *r, struct vpd_designator *ret)
{
	const uint8_t *head = bytes_read(r, DESIGNATOR_HEADER_SIZE);
	const uint8_t *bytes = head ? bytes_read(r, head[3]) : NULL;

	if (!bytes)
		return false;
	*ret = (struct vpd_designator){
		.association = head[1] >> 4 & 3,
		.code_set = head[0] & 0xf,
		.type = head[1] & 0xf,
		.protocol_valid = head[1] & DESIGNATOR_PIV,
		.protocol = head[0] >> 4,
		.length = head[3],
		.bytes = bytes,
	};
	return true;
}

/* ---- the name of a logical unit ---- */

struct wwid_kind {
	uint8_t type;
	const char *prefix;
	bool text;
};

/* Best first: what is unique in the world, then what is unique by convention. */
static const struct wwid_kind wwid_kinds[] = {
	{VPD_NAA, "naa.", false},
	{VPD_EUI64, "eui.", false},
	{VPD_SCSI_NAME_STRING, "name.", true},
	{VPD_T10_VENDOR_ID, "t10.", true},
};

static size_t wwid_rank(const struct vpd_designator *d)
{
	size_t rank = 0;

	if (d->association != VPD_LOGICAL_UNIT || !d->length)
		return ARRAY_SIZE(wwid_kinds);
	while (rank < ARRAY_SIZE(wwid_kinds) && wwid_kinds[rank].type != d->type)
		rank++;
	return rank;
}

static void print_wwid(
	const struct wwid_kind *kind, const struct vpd_designator *d, char *out, size_t size)
{
	size_t length = d->length;
	size_t used = min_size((size_t)snprintf(out, size, "%s", kind->prefix), size - 1);

	while (kind->text && length && (d->bytes[length - 1] == ' ' || !d->bytes[length - 1]))
		length--;
	for (size_t i = 0; i < length && used + 2 < size; i++) {
		uint8_t b = d->bytes[i];

		if (!kind->text)
			used += (size_t)snprintf(out + used, size - used, "%02x", b);
		else
			out[used++] = b > ' ' && b < 0x7f ? (char)b : '_';
	}
	out[used] = '\0';
}

int vpd_wwid_decode(const void *data, size_t length, char *out, size_t size)
{
	size_t best_rank = ARRAY_SIZE(wwid_kinds);
	struct vpd_designator d, best = {0};
	struct bytes_reader r;
	int err = vpd_open(data, length, VPD_DEVICE_IDENTIFICATION, &r);

	if (err)
		return err;
	while (vpd_designator_next(&r, &d)) {
		size_t rank = wwid_rank(&d);

		if (rank < best_rank) {
			best_rank = rank;
			best = d;
		}
	}
	if (best_rank == ARRAY_SIZE(wwid_kinds))
		return -ENOENT;
	print_wwid(&wwid_kinds[best_rank], &best, out, size);
	return 0;
}
