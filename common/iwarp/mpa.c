/* MPA frames (RFC 5044 section 7.1, RFC 6581 section 4) and what they agree on. */
#include "common/iwarp/mpa.h"

#include <errno.h>

#include "common/base/bytes.h"

#define KEY_SIZE 16
#define FLAG_MARKERS 0x80
#define FLAG_CRC 0x40
#define FLAG_REJECT 0x20
#define FLAG_ENHANCED 0x10
#define WORDS_SIZE 4	 /* IRD and ORD, each with two control bits */
#define WORD_HIGH 0x8000 /* A in the first word, C in the second */
#define WORD_LOW 0x4000	 /* B in the first word, D in the second */
#define REVISION_MAX 2

static const char keys[][KEY_SIZE + 1] = {
	[MPA_REQUEST] = "MPA ID Req Frame",
	[MPA_REPLY] = "MPA ID Rep Frame",
};

int mpa_key_match(const uint8_t *bytes, size_t length)
{
	if (memcmp(bytes, keys[MPA_REQUEST], min_size(length, KEY_SIZE)))
		return 0;
	return length < KEY_SIZE ? 1 : 2;
}

int mpa_frame_length(const uint8_t fixed[MPA_FIXED_SIZE], enum mpa_kind kind)
{
	uint16_t pd_length = get_be16(fixed + 18);

	if (memcmp(fixed, keys[kind], KEY_SIZE) || pd_length > MPA_PD_MAX)
		return -EPROTO;
	return MPA_FIXED_SIZE + pd_length;
}

static void words_decode(const uint8_t *words, struct mpa_frame *f)
{
	uint16_t ird = get_be16(words), ord = get_be16(words + 2);

	f->peer_to_peer = ird & WORD_HIGH;
	f->rtr_send = ird & WORD_LOW;
	f->rtr_write = ord & WORD_HIGH;
	f->rtr_read = ord & WORD_LOW;
	f->ird = ird & MPA_UNLIMITED;
	f->ord = ord & MPA_UNLIMITED;
}

int mpa_frame_decode(const uint8_t *bytes, size_t length, enum mpa_kind kind, struct mpa_frame *ret)
{
	struct mpa_frame f = {.kind = kind};
	size_t words;

	if (length < MPA_FIXED_SIZE || mpa_frame_length(bytes, kind) != (int)length)
		return -EPROTO;
	f.markers = bytes[16] & FLAG_MARKERS;
	f.crc = bytes[16] & FLAG_CRC;
	f.reject = bytes[16] & FLAG_REJECT;
	f.revision = bytes[17];
	/* The bit was reserved before revision 2, and receivers ignore what is reserved. */
	f.enhanced = f.revision >= 2 && (bytes[16] & FLAG_ENHANCED);
	words = f.enhanced ? WORDS_SIZE : 0;
	if (f.revision < 1 || f.revision > REVISION_MAX || length - MPA_FIXED_SIZE < words)
		return -EPROTO;
	if (f.enhanced)
		words_decode(bytes + MPA_FIXED_SIZE, &f);
	f.private_data = bytes + MPA_FIXED_SIZE + words;
	f.private_length = length - MPA_FIXED_SIZE - words;
	*ret = f;
	return 0;
}

static void words_encode(struct bytes_writer *w, const struct mpa_frame *f)
{
	bytes_write_be16(w, (uint16_t)((f->peer_to_peer ? WORD_HIGH : 0) |
				       (f->rtr_send ? WORD_LOW : 0) | (f->ird & MPA_UNLIMITED)));
	bytes_write_be16(w, (uint16_t)((f->rtr_write ? WORD_HIGH : 0) |
				       (f->rtr_read ? WORD_LOW : 0) | (f->ord & MPA_UNLIMITED)));
}

int mpa_frame_encode(const struct mpa_frame *f, uint8_t *out, size_t size)
{
	struct bytes_writer w = bytes_writer(out, size);
	size_t pd_length = f->private_length + (f->enhanced ? WORDS_SIZE : 0);

	if (pd_length > MPA_PD_SENT_MAX)
		return -EMSGSIZE;
	bytes_write(&w, keys[f->kind], KEY_SIZE);
	bytes_write_u8(
		&w, (uint8_t)((f->markers ? FLAG_MARKERS : 0) | (f->crc ? FLAG_CRC : 0) |
			      (f->reject ? FLAG_REJECT : 0) | (f->enhanced ? FLAG_ENHANCED : 0)));
	bytes_write_u8(&w, f->revision);
	bytes_write_be16(&w, (uint16_t)pd_length);
	if (f->enhanced)
		words_encode(&w, f);
	bytes_write(&w, f->private_data, f->private_length);
	return w.overflow ? -EMSGSIZE : (int)w.used;
}

static uint16_t min_u16(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
}

static uint16_t max_u16(uint16_t a, uint16_t b)
{
	return a > b ? a : b;
}

/* Without the words nothing is said about reads: one at a time is what any peer that serves reads
 * can serve. */
static void reads_unsaid(const struct mpa_wish *wish, struct mpa_agreement *a)
{
	a->reads_in = min_u16(wish->reads_in, MPA_READS_MAX);
	a->reads_out = min_u16(wish->reads_out, 1);
}

static void answer_words(const struct mpa_frame *request, const struct mpa_wish *wish,
	struct mpa_frame *reply, struct mpa_agreement *a)
{
	uint16_t wanted = request->ord == MPA_UNLIMITED ? 0 : request->ord;

	a->reads_in = min_u16(max_u16(wanted, wish->reads_in), MPA_READS_MAX);
	a->reads_out = min_u16(min_u16(request->ird, wish->reads_out), MPA_READS_MAX);
	reply->ird = a->reads_in;
	reply->ord = a->reads_out;
	/* RFC 6581 section 4.4: of what the peer offers to begin with, exactly one is chosen. The
	 * Write costs neither end a read; a zero-length Send (B) would need a posted receive that
	 * the upper layer does not know of. */
	if (!request->peer_to_peer || (!request->rtr_write && !request->rtr_read))
		return;
	a->await_rtr = true;
	reply->peer_to_peer = true;
	reply->rtr_write = request->rtr_write;
	reply->rtr_read = !request->rtr_write;
}

int mpa_answer(const struct mpa_frame *request, const struct mpa_wish *wish,
	struct mpa_frame *ret_reply, struct mpa_agreement *ret)
{
	struct mpa_agreement a = {.crc = request->crc || wish->crc};
	struct mpa_frame reply = {
		.kind = MPA_REPLY,
		.revision = request->revision,
		.crc = a.crc,
		.enhanced = request->enhanced,
		.reject = request->markers || request->reject,
	};

	if (reply.reject) {
		*ret_reply = reply;
		return -EOPNOTSUPP;
	}
	if (request->enhanced)
		answer_words(request, wish, &reply, &a);
	else
		reads_unsaid(wish, &a);
	*ret_reply = reply;
	*ret = a;
	return 0;
}

int mpa_conclude(
	const struct mpa_wish *wish, const struct mpa_frame *reply, struct mpa_agreement *ret)
{
	uint16_t wanted = reply->ord == MPA_UNLIMITED ? 0 : reply->ord;

	if (reply->reject)
		return -ECONNREFUSED;
	if (reply->markers || !reply->enhanced)
		return -EPROTO;
	if (wanted > MPA_READS_MAX)
		return -ENOBUFS;
	*ret = (struct mpa_agreement){
		.crc = reply->crc || wish->crc,
		.reads_in = min_u16(max_u16(wanted, wish->reads_in), MPA_READS_MAX),
		.reads_out = min_u16(min_u16(reply->ird, wish->reads_out), MPA_READS_MAX),
	};
	return 0;
}

uint32_t mpa_ulpdu_by_mss(uint32_t emss)
{
	uint32_t overhead = 6 + emss % 4;

	return emss < 128 + overhead ? 128 : min_u32(emss - overhead, MPA_ULPDU_MAX);
}
