/* MPA frames and FPDU arithmetic, with frames seen on the wire of ib_iser, isert, libiscsi, tgtd.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "common/base/crc32c.h"
#include "common/iwarp/mpa.h"

#define REQ "MPA ID Req Frame"
#define REP "MPA ID Rep Frame"

static size_t frame_make(uint8_t *out, const char *key, const void *rest, size_t length)
{
	memcpy(out, key, 16);
	memcpy(out + 16, rest, length);
	return 16 + length;
}

static int decode(
	const char *key, enum mpa_kind kind, const char *rest, size_t length, struct mpa_frame *ret)
{
	static uint8_t bytes[MPA_FRAME_MAX];

	return mpa_frame_decode(bytes, frame_make(bytes, key, rest, length), kind, ret);
}
#define DECODE_REQ(rest, ret) decode(REQ, MPA_REQUEST, rest, sizeof(rest) - 1, ret)
#define DECODE_REP(rest, ret) decode(REP, MPA_REPLY, rest, sizeof(rest) - 1, ret)

#define IB_ISER "\x10\x02\x00\x08\x00\x80\x00\x01\x80\x00\x00\x00"
#define ISERT "\x10\x02\x00\x08\x00\x01\x00\x80\x80\x00\x00\x00"

static void request_of_ib_iser_is_decoded(void **state)
{
	struct mpa_frame f;

	(void)state;
	assert_int_equal(DECODE_REQ(IB_ISER, &f), 0);
	assert_true(f.enhanced);
	assert_false(f.markers || f.crc || f.reject || f.peer_to_peer || f.rtr_write);
	assert_int_equal(f.revision, 2);
	assert_int_equal(f.ird, 128);
	assert_int_equal(f.ord, 1);
	assert_int_equal(f.private_length, 4);
	assert_memory_equal(f.private_data, "\x80\x00\x00\x00", 4);
}

static void request_like_ib_iser_is_encoded(void **state)
{
	struct mpa_frame f = {.kind = MPA_REQUEST,
		.revision = 2,
		.enhanced = true,
		.ird = 128,
		.ord = 1,
		.private_data = (const uint8_t *)"\x80\0\0\0",
		.private_length = 4};
	uint8_t expected[64], out[64];
	size_t n = frame_make(expected, REQ, IB_ISER, sizeof(IB_ISER) - 1);

	(void)state;
	assert_int_equal(mpa_frame_encode(&f, out, sizeof(out)), n);
	assert_memory_equal(out, expected, n);
	assert_int_equal(mpa_frame_encode(&f, out, n - 1), -EMSGSIZE);
	f.private_length = 253;
	assert_int_equal(mpa_frame_encode(&f, out, sizeof(out)), -EMSGSIZE);
}

static void answer_to_ib_iser_mirrors_the_words(void **state)
{
	struct mpa_wish wish = {.reads_in = 1, .reads_out = 128};
	struct mpa_frame request, reply;
	struct mpa_agreement a;
	uint8_t out[64], expected[64];
	size_t n = frame_make(expected, REP, ISERT, sizeof(ISERT) - 1);

	(void)state;
	assert_int_equal(DECODE_REQ(IB_ISER, &request), 0);
	assert_int_equal(mpa_answer(&request, &wish, &reply, &a), 0);
	reply.private_data = (const uint8_t *)"\x80\0\0\0";
	reply.private_length = 4;
	assert_int_equal(mpa_frame_encode(&reply, out, sizeof(out)), n);
	assert_memory_equal(out, expected, n);
	assert_int_equal(a.reads_in, 1);
	assert_int_equal(a.reads_out, 128);
	assert_false(a.crc || a.await_rtr);
}

static void frames_of_other_peers_are_decoded(void **state)
{
	struct mpa_frame f;

	(void)state;
	assert_int_equal(DECODE_REQ("\x10\x02\x00\x08\x00\x04\x00\x00\xc0\x00\x00\x00", &f), 0);
	assert_int_equal(f.ird, 4);
	assert_int_equal(f.ord, 0);
	assert_int_equal(DECODE_REP("\x10\x02\x00\x04\x00\x01\x00\x04", &f), 0);
	assert_int_equal(f.private_length, 0);
	assert_int_equal(DECODE_REQ("\x40\x01\x00\x02zz", &f), 0);
	assert_true(f.crc);
	assert_false(f.enhanced);
	assert_int_equal(f.private_length, 2);
	assert_int_equal(DECODE_REQ("\x10\x02\x00\x04\x80\x01\xc0\x01", &f), 0);
	assert_true(f.peer_to_peer && f.rtr_write && f.rtr_read);
	assert_false(f.rtr_send);
	assert_int_equal(f.ird, 1);
	assert_int_equal(f.ord, 1);
}

static void malformed_frames_are_refused(void **state)
{
	struct mpa_frame f;
	uint8_t fixed[MPA_FIXED_SIZE];

	(void)state;
	assert_int_equal(DECODE_REQ("\x10\x00\x00\x04\x00\x01\x00\x01", &f), -EPROTO); /* v0 */
	assert_int_equal(DECODE_REQ("\x10\x03\x00\x04\x00\x01\x00\x01", &f), -EPROTO); /* v3 */
	assert_int_equal(DECODE_REQ("\x10\x02\x00\x02\x00\x01", &f), -EPROTO); /* S, no words */
	assert_int_equal(DECODE_REQ("\x10\x02\x00\x08\x00\x01\x00\x01", &f), -EPROTO); /* short */
	assert_int_equal(DECODE_REP("\x10\x02\x00", &f), -EPROTO);
	assert_int_equal(
		decode(REP, MPA_REQUEST, IB_ISER, sizeof(IB_ISER) - 1, &f), -EPROTO); /* key */
	frame_make(fixed, REQ, "\x10\x02\x02\x01", 4);
	assert_int_equal(mpa_frame_length(fixed, MPA_REQUEST), -EPROTO); /* PD_Length 513 */
	frame_make(fixed, REQ, "\x10\x02\x02\x00", 4);
	assert_int_equal(mpa_frame_length(fixed, MPA_REQUEST), 532);
}

static void key_is_matched_byte_by_byte(void **state)
{
	(void)state;
	for (size_t n = 1; n < 16; n++)
		assert_int_equal(mpa_key_match((const uint8_t *)REQ, n), 1);
	assert_int_equal(mpa_key_match((const uint8_t *)REQ, 16), 2);
	assert_int_equal(mpa_key_match((const uint8_t *)REP, 16), 0);
	assert_int_equal(mpa_key_match((const uint8_t *)"\x43\x87", 2), 0);
	assert_int_equal(mpa_key_match((const uint8_t *)"MPA ID Rex", 10), 0);
}

static void markers_are_refused_with_a_reply(void **state)
{
	struct mpa_wish wish = {.reads_in = 1};
	struct mpa_frame request, reply;
	struct mpa_agreement a;

	(void)state;
	assert_int_equal(DECODE_REQ("\x90\x02\x00\x04\x00\x01\x00\x01", &request), 0);
	assert_int_equal(mpa_answer(&request, &wish, &reply, &a), -EOPNOTSUPP);
	assert_true(reply.reject);
	assert_false(reply.markers);
}

static void crc_is_on_when_either_end_wants_it(void **state)
{
	struct mpa_frame request, reply;
	struct mpa_agreement a;
	struct mpa_wish wish = {.reads_in = 1}, with_crc = {.reads_in = 1, .crc = true};

	(void)state;
	DECODE_REQ("\x50\x02\x00\x04\x00\x01\x00\x01", &request);
	mpa_answer(&request, &wish, &reply, &a);
	assert_true(a.crc && reply.crc);
	DECODE_REQ("\x10\x02\x00\x04\x00\x01\x00\x01", &request);
	mpa_answer(&request, &with_crc, &reply, &a);
	assert_true(a.crc && reply.crc);
	DECODE_REP("\x50\x02\x00\x04\x00\x01\x00\x01", &reply);
	assert_int_equal(mpa_conclude(&wish, &reply, &a), 0);
	assert_true(a.crc);
}

static void ready_to_receive_is_answered_with_exactly_one_kind(void **state)
{
	struct mpa_wish wish = {.reads_in = 4, .reads_out = 4};
	struct mpa_frame request, reply;
	struct mpa_agreement a;

	(void)state;
	DECODE_REQ("\x10\x02\x00\x04\x80\x01\xc0\x01", &request);
	mpa_answer(&request, &wish, &reply, &a);
	assert_true(a.await_rtr && reply.peer_to_peer && reply.rtr_write);
	assert_false(reply.rtr_read || reply.rtr_send);
	DECODE_REQ("\x10\x02\x00\x04\x80\x01\x40\x01", &request);
	mpa_answer(&request, &wish, &reply, &a);
	assert_true(a.await_rtr && reply.rtr_read);
	assert_false(reply.rtr_write);
}

static void request_of_revision_1_gets_one_without_words(void **state)
{
	struct mpa_wish wish = {.reads_in = 4, .reads_out = 4};
	struct mpa_frame request, reply;
	struct mpa_agreement a;
	uint8_t out[64];

	(void)state;
	DECODE_REQ("\x00\x01\x00\x00", &request);
	assert_int_equal(mpa_answer(&request, &wish, &reply, &a), 0);
	assert_int_equal(mpa_frame_encode(&reply, out, sizeof(out)), 20);
	assert_memory_equal(out + 16, "\x00\x01\x00\x00", 4);
	assert_int_equal(a.reads_in, 4);
	assert_int_equal(a.reads_out, 1);
}

static void replies_are_judged(void **state)
{
	struct mpa_wish wish = {.reads_in = 16, .reads_out = 8};
	struct mpa_frame reply;
	struct mpa_agreement a;

	(void)state;
	DECODE_REP("\x10\x02\x00\x04\x00\x04\x00\x20", &reply);
	assert_int_equal(mpa_conclude(&wish, &reply, &a), 0);
	assert_int_equal(a.reads_out, 4);
	assert_int_equal(a.reads_in, 32);
	DECODE_REP("\x10\x02\x00\x04\x3f\xff\x3f\xff", &reply);
	assert_int_equal(mpa_conclude(&wish, &reply, &a), 0);
	assert_int_equal(a.reads_out, 8);
	assert_int_equal(a.reads_in, 16);
	DECODE_REP("\x10\x02\x00\x04\x00\x01\x00\x81", &reply); /* ORD 129 */
	assert_int_equal(mpa_conclude(&wish, &reply, &a), -ENOBUFS);
	DECODE_REP("\x30\x02\x00\x04\x00\x00\x00\x00", &reply);
	assert_int_equal(mpa_conclude(&wish, &reply, &a), -ECONNREFUSED);
	DECODE_REP("\x90\x02\x00\x04\x00\x01\x00\x01", &reply);
	assert_int_equal(mpa_conclude(&wish, &reply, &a), -EPROTO);
	DECODE_REP("\x00\x01\x00\x00", &reply);
	assert_int_equal(mpa_conclude(&wish, &reply, &a), -EPROTO);
}

static void pads_make_fpdus_a_multiple_of_four(void **state)
{
	(void)state;
	assert_int_equal(mpa_pad(0x22), 0); /* a Send of 16 bytes */
	assert_int_equal(mpa_pad(0x1f), 3); /* of 13 */
	assert_int_equal(mpa_pad(0x20), 2);
	assert_int_equal(mpa_pad(0x21), 1);
}

static void ulpdu_fits_the_segment(void **state)
{
	(void)state;
	assert_int_equal(mpa_ulpdu_by_mss(1448), 1442); /* EMSS - (6 + EMSS mod 4) */
	assert_int_equal(mpa_ulpdu_by_mss(1450), 1442);
	assert_int_equal(mpa_ulpdu_by_mss(100), 128);
	assert_true(mpa_ulpdu_by_mss(1u << 20) <= MPA_ULPDU_MAX);
}

/* FPDUs that Linux siw sent with CRC on. */
static void crc_of_known_fpdus(void **state)
{
	static const uint8_t send[] = "\x00\x22\x41\x43\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0"
				      "\x00\x00\x55\xc4\xe4\x46\x26\x10\xf7\x7e\x46\0\0\0\xea\x60"
				      "\x1b\x8f\x22\x2e";
	static const uint8_t write[] = "\x00\x0e\xc1\x40\0\0\0\1\0\0\0\0\0\0\0\0\xeb\xd3\x4c\x5f";

	(void)state;
	assert_int_equal(crc32c_update(0, send, 36), get_le32(send + 36));
	assert_int_equal(crc32c_update(0, write, 16), get_le32(write + 16));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_of_ib_iser_is_decoded),
		cmocka_unit_test(request_like_ib_iser_is_encoded),
		cmocka_unit_test(answer_to_ib_iser_mirrors_the_words),
		cmocka_unit_test(frames_of_other_peers_are_decoded),
		cmocka_unit_test(malformed_frames_are_refused),
		cmocka_unit_test(key_is_matched_byte_by_byte),
		cmocka_unit_test(markers_are_refused_with_a_reply),
		cmocka_unit_test(crc_is_on_when_either_end_wants_it),
		cmocka_unit_test(ready_to_receive_is_answered_with_exactly_one_kind),
		cmocka_unit_test(request_of_revision_1_gets_one_without_words),
		cmocka_unit_test(replies_are_judged),
		cmocka_unit_test(pads_make_fpdus_a_multiple_of_four),
		cmocka_unit_test(ulpdu_fits_the_segment),
		cmocka_unit_test(crc_of_known_fpdus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
