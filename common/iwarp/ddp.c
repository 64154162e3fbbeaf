/* DDP headers: RFC 5041 sections 4.1 to 4.3. */
#include "common/iwarp/ddp.h"

#include "common/base/bytes.h"

#define CONTROL_TAGGED 0x80
#define CONTROL_LAST 0x40
#define CONTROL_VERSION 0x03

void ddp_control_decode(const uint8_t control[2], struct ddp_segment *ret)
{
	*ret = (struct ddp_segment){
		.tagged = control[0] & CONTROL_TAGGED,
		.last = control[0] & CONTROL_LAST,
		.version = control[0] & CONTROL_VERSION,
		.ulp_control = control[1],
	};
}

void ddp_segment_decode(const uint8_t *bytes, struct ddp_segment *ret)
{
	ddp_control_decode(bytes, ret);
	if (ret->tagged) {
		ret->tag.stag = get_be32(bytes + 2);
		ret->tag.offset = get_be64(bytes + 6);
		return;
	}
	ret->un.ulp_word = get_be32(bytes + 2);
	ret->un.queue = get_be32(bytes + 6);
	ret->un.msn = get_be32(bytes + 10);
	ret->un.offset = get_be32(bytes + 14);
}

uint32_t ddp_segment_encode(const struct ddp_segment *s, uint8_t *out)
{
	out[0] = (uint8_t)((s->tagged ? CONTROL_TAGGED : 0) | (s->last ? CONTROL_LAST : 0) |
			   DDP_VERSION);
	out[1] = s->ulp_control;
	if (s->tagged) {
		put_be32(out + 2, s->tag.stag);
		put_be64(out + 6, s->tag.offset);
		return DDP_TAGGED_SIZE;
	}
	put_be32(out + 2, s->un.ulp_word);
	put_be32(out + 6, s->un.queue);
	put_be32(out + 10, s->un.msn);
	put_be32(out + 14, s->un.offset);
	return DDP_UNTAGGED_SIZE;
}
