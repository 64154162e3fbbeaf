/* Standard INQUIRY data, and the VPD pages of SPC-4 that are plain lists: see inquiry.h. Device
 * identification is designator.c, the pages of SBC-3 are block_pages.c. */
#include "common/scsi/inquiry.h"

#include <errno.h>

enum {
	INQUIRY_RMB = 0x80,
	INQUIRY_HISUP = 0x10,
	INQUIRY_RESPONSE_FORMAT = 0x02,
	INQUIRY_3PC = 0x08,
	INQUIRY_PROTECT = 0x01,
	INQUIRY_CMDQUE = 0x02,
	INQUIRY_VENDOR_AT = 8,
	INQUIRY_PRODUCT_AT = 16,
	INQUIRY_REVISION_AT = 32,
	INQUIRY_DESCRIPTORS_AT = 58,
};

/* SPC-4 section 4.4.1: left aligned, padded with blanks, no NUL. */
static void put_text(uint8_t *out, const char *text, size_t width)
{
	size_t length = strnlen(text, width);

	memcpy(out, text, length);
	memset(out + length, ' ', width - length);
}

/* `out` holds width + 1 characters. */
static void get_text(const uint8_t *in, size_t width, char *out)
{
	while (width && (in[width - 1] == ' ' || !in[width - 1]))
		width--;
	for (size_t i = 0; i < width; i++)
		out[i] = in[i] >= ' ' && in[i] < 0x7f ? (char)in[i] : '?';
	out[width] = '\0';
}

void inquiry_encode(const struct scsi_inquiry *i, struct bytes_writer *w)
{
	uint8_t *out = bytes_reserve(w, INQUIRY_SIZE);

	if (!out)
		return;
	memset(out, 0, INQUIRY_SIZE);
	out[0] = (uint8_t)(i->qualifier << 5 | (i->type & 0x1f));
	out[1] = i->removable ? INQUIRY_RMB : 0;
	out[2] = i->version;
	out[3] = (uint8_t)(INQUIRY_RESPONSE_FORMAT | (i->hierarchical ? INQUIRY_HISUP : 0));
	out[4] = INQUIRY_SIZE - 5;
	out[5] = (uint8_t)((i->target_port_groups & 3) << 4 |
			   (i->third_party_copy ? INQUIRY_3PC : 0) |
			   (i->protect ? INQUIRY_PROTECT : 0));
	out[7] = i->command_queuing ? INQUIRY_CMDQUE : 0;
	put_text(out + INQUIRY_VENDOR_AT, i->vendor, 8);
	put_text(out + INQUIRY_PRODUCT_AT, i->product, 16);
	put_text(out + INQUIRY_REVISION_AT, i->revision, 4);
	for (size_t n = 0; n < INQUIRY_VERSION_DESCRIPTORS_MAX; n++)
		put_be16(out + INQUIRY_DESCRIPTORS_AT + 2 * n, i->version_descriptors[n]);
}

int inquiry_decode(const void *data, size_t length, struct scsi_inquiry *ret)
{
	const uint8_t *in = data;
	size_t at = INQUIRY_DESCRIPTORS_AT;

	if (length < INQUIRY_MINIMUM)
		return -EPROTO;
	length = min_size(length, 5 + (size_t)in[4]);
	*ret = (struct scsi_inquiry){
		.qualifier = in[0] >> 5,
		.type = in[0] & 0x1f,
		.removable = in[1] & INQUIRY_RMB,
		.version = in[2],
		.hierarchical = in[3] & INQUIRY_HISUP,
		.target_port_groups = in[5] >> 4 & 3,
		.third_party_copy = in[5] & INQUIRY_3PC,
		.protect = in[5] & INQUIRY_PROTECT,
		.command_queuing = in[7] & INQUIRY_CMDQUE,
	};
	get_text(in + INQUIRY_VENDOR_AT, 8, ret->vendor);
	get_text(in + INQUIRY_PRODUCT_AT, 16, ret->product);
	get_text(in + INQUIRY_REVISION_AT, 4, ret->revision);
	for (size_t n = 0; n < INQUIRY_VERSION_DESCRIPTORS_MAX && at + 2 <= length; n++, at += 2)
		ret->version_descriptors[n] = get_be16(in + at);
	return 0;
}

/* ---- VPD pages in general ---- */

size_t vpd_begin(uint8_t peripheral, uint8_t page, struct bytes_writer *w)
{
	size_t begun = w->used;

	bytes_write_u8(w, peripheral);
	bytes_write_u8(w, page);
	bytes_write_be16(w, 0);
	return begun;
}

void vpd_end(size_t begun, struct bytes_writer *w)
{
	if (!w->overflow)
		put_be16(w->start + begun + 2, (uint16_t)(w->used - begun - VPD_HEADER_SIZE));
}

int vpd_open(const void *data, size_t length, uint8_t page, struct bytes_reader *ret)
{
	const uint8_t *in = data;

	if (length < VPD_HEADER_SIZE || in[1] != page)
		return -EPROTO;
	*ret = bytes_reader(
		in + VPD_HEADER_SIZE, min_size(length - VPD_HEADER_SIZE, get_be16(in + 2)));
	return 0;
}

void vpd_pages_encode(
	uint8_t peripheral, const uint8_t *pages, size_t count, struct bytes_writer *w)
{
	size_t begun = vpd_begin(peripheral, VPD_SUPPORTED_PAGES, w);

	bytes_write(w, pages, count);
	vpd_end(begun, w);
}

bool vpd_pages_has(const void *data, size_t length, uint8_t page)
{
	struct bytes_reader r;

	if (vpd_open(data, length, VPD_SUPPORTED_PAGES, &r))
		return false;
	return r.left && memchr(r.at, page, r.left);
}

void vpd_serial_encode(uint8_t peripheral, const char *serial, struct bytes_writer *w)
{
	size_t begun = vpd_begin(peripheral, VPD_UNIT_SERIAL_NUMBER, w);

	bytes_write(w, serial, strlen(serial));
	vpd_end(begun, w);
}

int vpd_serial_decode(const void *data, size_t length, char *out, size_t size)
{
	struct bytes_reader r;
	int err = vpd_open(data, length, VPD_UNIT_SERIAL_NUMBER, &r);

	if (err)
		return err;
	while (r.left && *r.at == ' ')
		bytes_read(&r, 1);
	get_text(r.at, min_size(r.left, size - 1), out);
	return 0;
}

/* ---- 86h, extended INQUIRY data ---- */

enum {
	EXTENDED_PAGE_LENGTH = 60,
	EXTENDED_HEADSUP = 0x04,
	EXTENDED_ORDSUP = 0x02,
	EXTENDED_SIMPSUP = 0x01,
	EXTENDED_WU_SUP = 0x08,
	EXTENDED_V_SUP = 0x01,
	EXTENDED_LUICLR = 0x01,
};

void vpd_extended_encode(uint8_t peripheral, const struct vpd_extended *e, struct bytes_writer *w)
{
	size_t begun = vpd_begin(peripheral, VPD_EXTENDED_INQUIRY, w);
	uint8_t *out = bytes_reserve(w, EXTENDED_PAGE_LENGTH);

	if (!out)
		return;
	memset(out, 0, EXTENDED_PAGE_LENGTH);
	out[1] = (uint8_t)((e->head_of_queue ? EXTENDED_HEADSUP : 0) |
			   (e->ordered ? EXTENDED_ORDSUP : 0) | (e->simple ? EXTENDED_SIMPSUP : 0));
	out[2] = (uint8_t)((e->write_uncorrectable ? EXTENDED_WU_SUP : 0) |
			   (e->volatile_cache ? EXTENDED_V_SUP : 0));
	out[3] = e->unit_attention_cleared_by_nexus ? EXTENDED_LUICLR : 0;
	vpd_end(begun, w);
}

int vpd_extended_decode(const void *data, size_t length, struct vpd_extended *ret)
{
	uint8_t in[4] = {0};
	struct bytes_reader r;
	int err = vpd_open(data, length, VPD_EXTENDED_INQUIRY, &r);

	if (err)
		return err;
	memcpy(in, r.at, min_size(r.left, sizeof(in)));
	*ret = (struct vpd_extended){
		.simple = in[1] & EXTENDED_SIMPSUP,
		.ordered = in[1] & EXTENDED_ORDSUP,
		.head_of_queue = in[1] & EXTENDED_HEADSUP,
		.volatile_cache = in[2] & EXTENDED_V_SUP,
		.write_uncorrectable = in[2] & EXTENDED_WU_SUP,
		.unit_attention_cleared_by_nexus = in[3] & EXTENDED_LUICLR,
	};
	return 0;
}
