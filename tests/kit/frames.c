/* See frames.h. */
#include "tests/kit/frames.h"

#include <string.h>

#include "common/base/bytes.h"

#define ISCSI_HEADER 48
#define MPA_SETUP_HEADER 20 /* key, flags, revision, PD_Length */
#define MPA_LENGTH 2
#define MPA_CRC 4
#define DIGEST 4

static size_t header_size(const struct frames *f)
{
	if (f->kind != FRAMES_MPA)
		return ISCSI_HEADER;
	return f->messages == 0 ? MPA_SETUP_HEADER : MPA_LENGTH;
}

/* Digests begin behind the login phase, whose PDUs are of opcodes 03h and 23h. */
static size_t iscsi_left(const struct frames *f)
{
	const uint8_t *h = f->header;
	size_t data = get_be24(h + 5);
	size_t left = h[4] * 4u + round_up(data, 4);
	bool login = (h[0] & 0x1f) == 0x03;

	if (f->kind == FRAMES_ISCSI_DIGESTS && !login)
		left += DIGEST + (data ? DIGEST : 0);
	return left;
}

static size_t mpa_left(const struct frames *f)
{
	size_t ulpdu = get_be16(f->header);

	if (f->messages == 0)
		return get_be16(f->header + 18);
	return round_up(MPA_LENGTH + ulpdu, 4) - MPA_LENGTH + MPA_CRC;
}

size_t frames_take(struct frames *f, const uint8_t *bytes, size_t length, bool *ret_ended)
{
	size_t head = header_size(f), taken = 0;

	*ret_ended = false;
	if (f->kind == FRAMES_NONE)
		return length;
	if (f->have < head) {
		taken = min_size(head - f->have, length);
		memcpy(f->header + f->have, bytes, taken);
		f->have += taken;
		if (f->have < head)
			return taken;
		f->left = f->kind == FRAMES_MPA ? mpa_left(f) : iscsi_left(f);
	}
	length = min_size(f->left, length - taken);
	f->left -= length;
	if (f->left)
		return taken + length;
	f->have = 0;
	f->messages++;
	*ret_ended = true;
	return taken + length;
}
