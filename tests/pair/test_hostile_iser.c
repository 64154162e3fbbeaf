/* Initiators that break the rules of iSER itself (RFC 7145 sections 5, 7, 9 and 10) against a
 * target: messages that are no PDUs, headers, tags, and answers to RDMA Reads. */
#include "tests/kit/hostile.h"

static uint8_t message[65536];

static void fill(uint8_t first)
{
	memset(message, 0, sizeof(message));
	message[0] = first;
}

/* ---- messages ---- */

static void play_message(struct hostile *h)
{
	fill(h->row->arg ? *(const uint8_t *)h->row->arg : 0x10);
	hostile_mpa(h);
	hostile_forget(h);
	hostile_send(h, message, h->row->length);
}

static void play_message_late(struct hostile *h)
{
	fill(h->row->arg ? *(const uint8_t *)h->row->arg : 0x10);
	hostile_login(h);
	hostile_send(h, message, h->row->length);
}

static void play_opcode(struct hostile *h)
{
	fill((uint8_t)((h->turn ? h->turn + 3 : 0) << 4));
	hostile_login(h);
	hostile_send(h, message, 76);
}

static void play_reserved(struct hostile *h)
{
	fill(0x13);
	memset(message + 1, 0xff, 27);
	message[28] = 0x40; /* NOP-Out, at once */
	message[29] = 0x80;
	put_be32(message + 28 + 16, 9);
	put_be32(message + 28 + 20, ISCSI_TAG_NONE);
	hostile_login(h);
	hostile_send(h, message, 76);
}

static void play_hello(struct hostile *h)
{
	fill(0x20);
	message[1] = (uint8_t)h->row->length;
	put_be16(message + 2, 4);
	hostile_login(h);
	hostile_send(h, message, 28);
	hostile_settle(h);
	hostile_ping(h, 7);
}

static void play_hellos(struct hostile *h)
{
	fill(0x20);
	message[1] = 0xaa;
	hostile_login(h);
	for (unsigned i = 0; i < 1000; i++) {
		hostile_send(h, message, 28);
		hostile_settle(h);
	}
}

/* What the BHS claims, and what came with it. */
static void play_lengths(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_login(h);
	hostile_bhs(h, bhs, 0x40, 0x80, 9);
	put_be32(bhs + 20, ISCSI_TAG_NONE);
	bhs[4] = (uint8_t)h->turn;
	hostile_pdu_claiming(h, bhs, message, 100, h->row->length);
}

static void play_ahs(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_login(h);
	hostile_bhs(h, bhs, ISCSI_SCSI_COMMAND, 0x81, 9);
	bhs[4] = (uint8_t)h->row->length;
	hostile_pdu_claiming(h, bhs, message, 100, 0);
}

static void play_data_out(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_login(h);
	hostile_bhs(h, bhs, ISCSI_DATA_OUT, 0x80, 9);
	put_be32(bhs + 20, ISCSI_TAG_NONE);
	hostile_pdu(h, bhs, message, 512);
}

/* ---- tags ---- */

static void play_read_without_tag(struct hostile *h)
{
	hostile_login(h);
	hostile_rw(h, 1, false, 8); /* takes the unit attention */
	hostile_forget(h);
	hostile_rw(h, 2, false, 8);
}

static void play_write_without_tag(struct hostile *h)
{
	hostile_login(h);
	hostile_rw(h, 1, false, 8);
	hostile_forget(h);
	hostile_rw(h, 2, true, 8);
}

/* Tags for a command that moves nothing, and the wrong one for one that does. */
static void play_tags_for_nothing(struct hostile *h)
{
	static const uint8_t ready[16];

	hostile_login(h);
	hostile_rw(h, 1, false, 8);
	hostile_forget(h);
	h->advertise = (struct iser_header){.read_valid = true,
		.write_valid = true,
		.read_stag = 1,
		.write_stag = 1,
		.read_address = UINT64_MAX,
		.write_address = UINT64_MAX};
	hostile_command(h, 2, 0x81, 0, ready, NULL, 0);
}

static void play_other_tag(struct hostile *h)
{
	hostile_login(h);
	hostile_rw(h, 1, false, 8);
	hostile_forget(h);
	h->advertise = (struct iser_header){.write_valid = true, .write_stag = 1};
	hostile_rw(h, 2, false, 8);
}

static void advertise(struct hostile *h, bool write)
{
	h->advertise = (struct iser_header){.read_valid = !write,
		.write_valid = write,
		.read_stag = 0x77,
		.write_stag = 0x77,
		.read_address = UINT64_MAX - 3,
		.write_address = UINT64_MAX - 3};
}

/* The address wraps: the tag is the initiator's own affair. */
static void play_read_at_the_end(struct hostile *h)
{
	hostile_login(h);
	hostile_rw(h, 1, false, 8);
	hostile_forget(h);
	advertise(h, false);
	hostile_rw(h, 2, false, 8);
}

/* ---- answers to RDMA Reads ---- */

/* A write of 8 KiB, until the target's RDMA Read Request is here. */
static void begin_write(struct hostile *h)
{
	hostile_login(h);
	hostile_rw(h, 1, false, 8);
	advertise(h, true);
	hostile_rw(h, 2, true, 16);
	assert_int_equal(h->read.size, 8192);
	hostile_forget(h);
}

static void answer(struct hostile *h, uint32_t stag, uint64_t offset, size_t length)
{
	hostile_tagged(h, RDMAP_READ_RESPONSE, stag, offset, message, length);
}

static void play_answer_short(struct hostile *h)
{
	begin_write(h);
	answer(h, h->read.sink_stag, h->read.sink_offset, 8191);
}

static void play_answer_long(struct hostile *h)
{
	begin_write(h);
	answer(h, h->read.sink_stag, h->read.sink_offset, 8193);
}

static void play_answer_elsewhere(struct hostile *h)
{
	begin_write(h);
	answer(h, h->read.sink_stag, h->row->length ? UINT64_MAX : h->read.sink_offset + 1, 8192);
}

static void play_answer_other_tag(struct hostile *h)
{
	begin_write(h);
	answer(h, h->read.sink_stag ^ 1, h->read.sink_offset, 8192);
}

static void play_answer_twice(struct hostile *h)
{
	begin_write(h);
	answer(h, h->read.sink_stag, h->read.sink_offset, 8192);
	answer(h, h->read.sink_stag, h->read.sink_offset, 8192);
}

/* The sink is no STag that a Write may use. */
static void play_write_into_sink(struct hostile *h)
{
	begin_write(h);
	hostile_tagged(h, RDMAP_WRITE, h->read.sink_stag, h->read.sink_offset, message, 8192);
}

static void play_read_from_sink(struct hostile *h)
{
	begin_write(h);
	hostile_read_request(h, h->read.sink_stag, h->read.sink_offset, 8192);
}

static void play_invalidate_sink(struct hostile *h)
{
	struct ddp_segment s = {.last = true};

	begin_write(h);
	fill(0x10);
	s.un.ulp_word = h->read.sink_stag;
	s.un.msn = h->send_msn++;
	hostile_untagged(h, RDMAP_SEND_INVALIDATE, &s, message, 76);
}

/* A session of another connection answers for this one. */
static void play_answer_from_another(struct hostile *h)
{
	struct hostile *other = hostile_another(h);

	begin_write(h);
	hostile_mpa(other);
	hostile_tagged(
		other, RDMAP_READ_RESPONSE, h->read.sink_stag, h->read.sink_offset, message, 8192);
	hostile_settle(other);
	assert_string_equal(hostile_heard(other), "MPA reply, Terminate 1.0.00, closed");
	hostile_free(other);
	hostile_settle(h);
	answer(h, h->read.sink_stag, h->read.sink_offset, 8192);
}

static void play_never(struct hostile *h)
{
	begin_write(h);
	hostile_wait(h, 61 * LOOP_NS_PER_S);
}

#define ISER(what, in, out, where, fn, ...)                                                        \
	{                                                                                          \
		.phase = what, .input = in, .answer = out, .section = where,                       \
		.movers = HOSTILE_ISER, .play = fn, __VA_ARGS__                                    \
	}
#define FIRST(in, out, fn, ...) ISER("iSER, login", in, out, "RFC 7145 10.1.3", fn, __VA_ARGS__)
#define LATE(in, out, where, fn, ...) ISER("iSER", in, out, where, fn, __VA_ARGS__)
#define BYTE(n)                                                                                    \
	.arg = (const uint8_t[])                                                                   \
	{                                                                                          \
		n                                                                                  \
	}

static const struct hostile_row rows[] = {
	FIRST("a Send of 0 bytes", "closed", play_message, .length = 0),
	FIRST("a Send of 1 byte", "closed", play_message, .length = 1),
	FIRST("a Send of 27 bytes", "closed", play_message, .length = 27),
	FIRST("a Send of 28 bytes, an iSER header alone", "closed", play_message, .length = 28),
	FIRST("a Send of 75 bytes", "closed", play_message, .length = 75),
	ISER("iSER, login", "a Send of 76 bytes, a NOP-Out", "closed", "RFC 7143 6.3", play_message,
		.length = 76),
	FIRST("a HelloReply", "closed", play_message, BYTE(0x30), .length = 28),
	LATE("a Send of 0 bytes", "closed", "RFC 7145 10.1.3", play_message_late, .length = 0),
	LATE("a Send of 1 byte", "closed", "RFC 7145 10.1.3", play_message_late, .length = 1),
	LATE("a Send of 27 bytes", "closed", "RFC 7145 10.1.3", play_message_late, .length = 27),
	LATE("a Send of 28 bytes, an iSER header alone", "closed", "RFC 7145 10.1.3",
		play_message_late, .length = 28),
	LATE("a Send of 75 bytes", "closed", "RFC 7145 10.1.3", play_message_late, .length = 75),
	LATE("a Send of 76 bytes, a NOP-Out with CmdSN 0", "nothing", "RFC 7143 4.2.2.1",
		play_message_late, .length = 76),
	LATE("a Send of 16,384 bytes", "Terminate 1.2.02, closed", "RFC 5041 7.2",
		play_message_late, .length = 16384),
	LATE("iSER opcode 0 and 4 to 15", "closed", "RFC 7145 9.1, 10.1.3", play_opcode,
		.times = 13),
	LATE("every reserved bit of the header", "NOP-In", "RFC 7145 9.2", play_reserved),
	LATE("a HelloReply that nobody asked for", "closed", "RFC 7145 10.1.3", play_message_late,
		BYTE(0x30), .length = 28),
	LATE("a Hello of version 10", "HelloReply, NOP-In", "RFC 7145 9.3, 9.4", play_hello,
		.length = 0xaa),
	LATE("a Hello of versions 1 to 15", "HelloReply, NOP-In", "RFC 7145 9.3, 9.4", play_hello,
		.length = 0xf1),
	LATE("a Hello of version 1", "HelloReply with REJ, NOP-In", "RFC 7145 9.4", play_hello,
		.length = 0x11),
	LATE("a Hello whose lowest version is above its highest", "closed", "RFC 7145 10.1.3",
		play_hello, .length = 0x9a),
	LATE("1,000 Hellos", "HelloReply 1000 times", "RFC 7145 9.4", play_hellos),
	LATE("a DataSegmentLength of one byte more than comes", "closed", "RFC 7145 10.1.3",
		play_lengths, .length = 101),
	LATE("a DataSegmentLength of 2^24-1", "closed", "RFC 7145 10.1.3", play_lengths,
		.length = 0xffffff),
	LATE("a DataSegmentLength of 5 bytes less than comes", "closed", "RFC 7145 10.1.3",
		play_lengths, .length = 95),
	LATE("a TotalAHSLength of 4 bytes more than comes", "closed", "RFC 7145 10.1.3", play_ahs,
		.length = 26),
	LATE("a TotalAHSLength of 1,020 where 100 bytes come", "closed", "RFC 7145 10.1.3",
		play_ahs, .length = 255),
	LATE("a Data-Out", "closed", "RFC 7145 7.3.4: InitialR2T is Yes", play_data_out),
	LATE("a READ without a read tag", "SCSI Response 02 (b/4b/00)", "RFC 7145 7.3.1",
		play_read_without_tag),
	LATE("a WRITE without a write tag", "SCSI Response 02 (b/4b/00)", "RFC 7145 7.3.1",
		play_write_without_tag),
	LATE("a READ with a write tag", "SCSI Response 02 (b/4b/00)", "RFC 7145 7.3.1",
		play_other_tag),
	LATE("tags at address 2^64-1 for a command that moves nothing", "SCSI Response 00",
		"RFC 7145 7.3.1", play_tags_for_nothing),
	LATE("a read tag whose buffer would wrap", "RDMA Write, SCSI Response 00",
		"RFC 7145 7.3.5: the initiator's own tag", play_read_at_the_end),
	LATE("a Read Response one byte shorter than asked for", "Terminate 1.1.01, closed",
		"RFC 5041 7.2", play_answer_short),
	LATE("a Read Response one byte longer than asked for", "Terminate 1.1.01, closed",
		"RFC 5041 7.2", play_answer_long),
	LATE("a Read Response one byte beside its place", "Terminate 1.1.01, closed",
		"RFC 5041 7.2", play_answer_elsewhere),
	LATE("a Read Response at address 2^64-1", "Terminate 1.1.01, closed", "RFC 5041 7.2",
		play_answer_elsewhere, .length = 1),
	LATE("a Read Response with another STag", "Terminate 1.1.00, closed", "RFC 5041 7.2",
		play_answer_other_tag),
	LATE("a Read Response twice", "Terminate 1.0.00, closed", "RFC 5041 7.2",
		play_answer_twice),
	LATE("a Read Response by another connection", "SCSI Response 00",
		"RFC 5041 7.2: that one ends", play_answer_from_another),
	LATE("a Write to the STag of a Read's sink", "Terminate 1.1.00, closed", "RFC 5041 7.2",
		play_write_into_sink),
	LATE("a Read Request of the STag of a Read's sink", "Terminate 0.1.00, closed",
		"RFC 5040 4.8", play_read_from_sink),
	LATE("Send with Invalidate of the STag of a Read's sink", "Terminate 0.2.09, closed",
		"RFC 5040 4.8", play_invalidate_sink),
	LATE("an RDMA Read that is never answered, nor a ping", "NOP-In, closed",
		"RFC 7143 11.19: the ping's time-out", play_never),
};

int main(void)
{
	return hostile_run("iSER: the target", true, rows, ARRAY_SIZE(rows));
}
