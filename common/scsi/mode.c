/* Mode parameter lists: see mode.h. Called by the target's modes.c and
 * by the initiator's disk.c. */
#include "common/scsi/mode.h"

#include <errno.h>

enum {
	MODE_PS = 0x80,
	MODE_SPF = 0x40,
	MODE_LONGLBA = 0x01,
	CACHING_WCE = 0x04,
	CACHING_RCD = 0x01,
};

void mode_header_encode(const struct mode_header *h, bool ten, struct bytes_writer *w)
{
	if (!ten) {
		bytes_write_u8(w, (uint8_t)h->data_length);
		bytes_write_u8(w, h->medium_type);
		bytes_write_u8(w, h->device_specific);
		bytes_write_u8(w, (uint8_t)h->block_descriptor_length);
		return;
	}
	bytes_write_be16(w, h->data_length);
	bytes_write_u8(w, h->medium_type);
	bytes_write_u8(w, h->device_specific);
	bytes_write_u8(w, h->long_lba ? MODE_LONGLBA : 0);
	bytes_write_u8(w, 0);
	bytes_write_be16(w, h->block_descriptor_length);
}

int mode_header_decode(struct bytes_reader *r, bool ten, struct mode_header *ret)
{
	struct mode_header h = {0};

	h.data_length = ten ? bytes_read_be16(r) : bytes_read_u8(r);
	h.medium_type = bytes_read_u8(r);
	h.device_specific = bytes_read_u8(r);
	if (ten) {
		h.long_lba = bytes_read_u8(r) & MODE_LONGLBA;
		bytes_read_u8(r);
	}
	h.block_descriptor_length = ten ? bytes_read_be16(r) : bytes_read_u8(r);
	if (r->short_read)
		return -EPROTO;
	*ret = h;
	return 0;
}

void mode_block_descriptor_encode(uint64_t blocks, uint32_t block_size, struct bytes_writer *w)
{
	bytes_write_be32(w, blocks > UINT32_MAX ? UINT32_MAX : (uint32_t)blocks);
	bytes_write_be32(w, block_size & 0xffffff);
}

int mode_page_next(struct bytes_reader *r, struct mode_page *ret)
{
	struct bytes_reader head = *r;
	uint8_t code = bytes_read_u8(&head);
	struct mode_page page = {.code = code & 0x3f, .savable = code & MODE_PS};

	if (!r->left)
		return 0;
	if (code & MODE_SPF) {
		page.subpage = bytes_read_u8(&head);
		page.length = 4 + (size_t)bytes_read_be16(&head);
	} else {
		page.length = 2 + (size_t)bytes_read_u8(&head);
	}
	page.bytes = head.short_read ? NULL : bytes_read(r, page.length);
	if (!page.bytes)
		return -EPROTO;
	*ret = page;
	return 1;
}

/* MODE SENSE data: the reader is left behind the block descriptors, bounded by MODE DATA LENGTH. */
static int open_list(
	const void *data, size_t length, bool ten, struct mode_header *h, struct bytes_reader *ret)
{
	struct bytes_reader r = bytes_reader(data, length);
	int err = mode_header_decode(&r, ten, h);
	size_t follow;

	if (err)
		return err;
	follow = (size_t)h->data_length + (ten ? 2 : 1);
	if (follow < length)
		r.left = follow > length - r.left ? follow - (length - r.left) : 0;
	*ret = r;
	return 0;
}

int mode_caching_decode(const void *data, size_t length, bool ten, struct mode_caching *ret)
{
	struct mode_header h;
	struct bytes_reader r;
	struct mode_page page;
	int err = open_list(data, length, ten, &h, &r);

	if (err)
		return err;
	if (!bytes_read(&r, h.block_descriptor_length))
		return -EPROTO;
	while ((err = mode_page_next(&r, &page)) > 0)
		if (page.code == MODE_PAGE_CACHING && !page.subpage && page.length >= 3)
			break;
	if (err <= 0)
		return err ? err : -ENOENT;
	*ret = (struct mode_caching){
		.write_cache = page.bytes[2] & CACHING_WCE,
		.read_cache_disabled = page.bytes[2] & CACHING_RCD,
	};
	return 0;
}

int mode_write_protect_decode(const void *data, size_t length, bool ten, bool *ret)
{
	struct mode_header h;
	struct bytes_reader r;
	int err = open_list(data, length, ten, &h, &r);

	if (err)
		return err;
	*ret = h.device_specific & MODE_WRITE_PROTECT;
	return 0;
}
