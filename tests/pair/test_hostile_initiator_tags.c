/* Targets that reach for an initiator's memory (RFC 5040, RFC 5041, RFC 7145 section 7.3): STags
 * out of range, revoked, of another connection, with the wrong right, at address 2^64-1; more reads
 * than agreed; invalidations. The initiator's buffers hold what they held. */
#include "tests/kit/hostile.h"

static uint8_t data[65536];

#define READ_BYTES (8 * 512)
#define WRITE_BYTES (128 * 512)

/* A READ of 4 KiB under way. */
static void begin_read(struct hostile *h)
{
	hostile_accept(h);
	hostile_begin_task(h, false, 8);
	assert_true(h->tags.read_valid && !h->tags.write_valid);
}

/* A WRITE of 64 KiB, too long to be immediate. */
static void begin_write(struct hostile *h)
{
	hostile_accept(h);
	hostile_begin_task(h, true, 128);
	assert_true(h->tags.write_valid && !h->tags.read_valid);
}

static void respond(struct hostile *h, uint32_t itt)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_answer(h, bhs, ISCSI_SCSI_RESPONSE, 0x80, itt);
	hostile_pdu(h, bhs, NULL, 0);
	hostile_settle(h);
}

static void buffer_is_untouched(const struct hostile *h, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (h->memory[i] != 0x5a)
			fail_msg("byte %zu was written", i);
}

/* ---- writes ---- */

struct reach {
	int64_t offset; /* from the buffer's address */
	uint32_t length;
	uint32_t stag;	 /* to be added */
	bool at_the_end; /* of the address space */
};

static void play_write(struct hostile *h)
{
	const struct reach *r = h->row->arg;
	uint64_t at;

	begin_read(h);
	at = r->at_the_end ? UINT64_MAX - (uint64_t)r->offset
			   : h->tags.read_address + (uint64_t)r->offset;
	hostile_tagged(h, RDMAP_WRITE, h->tags.read_stag + r->stag, at, data, r->length);
	hostile_settle(h);
	buffer_is_untouched(h, READ_BYTES);
}

static void play_write_right(struct hostile *h)
{
	begin_read(h);
	hostile_tagged(h, RDMAP_WRITE, h->tags.read_stag, h->tags.read_address, data, READ_BYTES);
	respond(h, h->pdu.itt);
	assert_int_equal(h->task.done, 1);
	assert_int_equal(h->memory[0], 0);
	assert_int_equal(h->memory[READ_BYTES - 1], 0);
	assert_int_equal(h->memory[READ_BYTES], 0x5a);
}

static void play_write_late(struct hostile *h)
{
	struct iser_header tags;

	begin_read(h);
	tags = h->tags;
	respond(h, h->pdu.itt);
	assert_int_equal(h->task.done, 1);
	hostile_tagged(h, RDMAP_WRITE, tags.read_stag, tags.read_address, data, 512);
	hostile_settle(h);
	buffer_is_untouched(h, READ_BYTES);
}

static void play_write_to_write(struct hostile *h)
{
	begin_write(h);
	hostile_tagged(h, RDMAP_WRITE, h->tags.write_stag, h->tags.write_address, data, 512);
	hostile_settle(h);
	buffer_is_untouched(h, WRITE_BYTES);
}

/* Two sessions with two targets: one reaches for what was shown to the other. */
static void play_of_another(struct hostile *h)
{
	struct hostile *other = hostile_another(h);

	begin_read(other);
	begin_read(h);
	if (h->row->length)
		hostile_read_request(h, other->tags.read_stag, other->tags.read_address, 512);
	else
		hostile_tagged(
			h, RDMAP_WRITE, other->tags.read_stag, other->tags.read_address, data, 512);
	hostile_settle(h);
	buffer_is_untouched(other, READ_BYTES);
	hostile_settle(other);
	assert_string_equal(hostile_heard(other), "nothing");
	respond(other, other->pdu.itt);
	assert_int_equal(other->task.done, 1);
	hostile_free(other);
}

/* ---- reads ---- */

static void play_read(struct hostile *h)
{
	const struct reach *r = h->row->arg;
	uint64_t at;

	begin_write(h);
	at = r->at_the_end ? UINT64_MAX - (uint64_t)r->offset
			   : h->tags.write_address + (uint64_t)r->offset;
	hostile_read_request(h, h->tags.write_stag + r->stag, at, r->length);
}

static void play_read_of_read(struct hostile *h)
{
	begin_read(h);
	hostile_read_request(h, h->tags.read_stag, h->tags.read_address, 512);
}

static void play_read_late(struct hostile *h)
{
	struct iser_header tags;

	begin_write(h);
	tags = h->tags;
	respond(h, h->pdu.itt);
	assert_int_equal(h->task.done, 1);
	hostile_read_request(h, tags.write_stag, tags.write_address, 512);
}

/* One more than the IRD, in one go, by a peer that does not read. */
static void play_reads(struct hostile *h)
{
	static uint8_t burst[256 * 52];
	uint8_t *p = burst;
	unsigned n;

	begin_write(h);
	n = h->mpa.ird + 1u;
	assert_true(n > 1 && n < 256);
	memset(burst, 0, sizeof(burst));
	for (unsigned i = 0; i < n; i++, p += 52) {
		put_be16(p, 46);
		p[2] = 0x41;
		p[3] = 0x41;
		put_be32(p + 8, DDP_QUEUE_READ_REQUEST);
		put_be32(p + 12, i + 1);
		put_be32(p + 32, WRITE_BYTES);
		put_be32(p + 36, h->tags.write_stag);
		put_be64(p + 40, h->tags.write_address);
	}
	h->deaf = true;
	hostile_bytes(h, burst, (size_t)(p - burst));
	hostile_settle(h);
	h->deaf = false;
}

/* ---- invalidation ---- */

/* The SCSI Response of the task with Send with Invalidate of a tag. */
static void respond_invalidating(struct hostile *h, uint32_t itt, uint32_t stag)
{
	struct ddp_segment s = {.last = true, .un = {.ulp_word = stag, .msn = h->send_msn++}};
	uint8_t message[76] = {0x10, [28] = ISCSI_SCSI_RESPONSE, 0x80};

	put_be32(message + 28 + 16, itt);
	put_be32(message + 28 + 24, h->stat_sn++);
	put_be32(message + 28 + 28, h->pdu.cmd_sn + 1);
	put_be32(message + 28 + 32, h->pdu.cmd_sn + 32);
	hostile_untagged(h, RDMAP_SEND_INVALIDATE, &s, message, sizeof(message));
	hostile_settle(h);
}

static void play_invalidate(struct hostile *h)
{
	static const uint32_t away[] = {0x100, 0xffffff00, 1, 0x80000000};

	begin_read(h);
	respond_invalidating(h, h->pdu.itt, h->tags.read_stag + away[h->turn]);
}

static void play_invalidate_right(struct hostile *h)
{
	begin_read(h);
	respond_invalidating(h, h->pdu.itt, h->tags.read_stag);
	assert_int_equal(h->task.done, 1);
}

static void play_invalidate_twice(struct hostile *h)
{
	uint32_t itt, stag;

	begin_read(h);
	itt = h->pdu.itt;
	stag = h->tags.read_stag;
	respond_invalidating(h, itt, stag);
	assert_int_equal(h->task.done, 1);
	respond_invalidating(h, itt, stag);
}

/* The tag of one task with the response of another. */
static void play_invalidate_of_another_task(struct hostile *h)
{
	static struct two_task second; /* it ends with the session, after this */
	static uint8_t memory[READ_BYTES];
	uint32_t stag;

	begin_read(h);
	stag = h->tags.read_stag;
	two_task_read(&second, 0, 8, 8, memory, NULL);
	two_task_submit(&h->session, &second);
	hostile_settle(h);
	hostile_forget(h);
	assert_true(h->tags.read_stag != stag);
	respond_invalidating(h, h->pdu.itt, stag);
}

static void play_invalidate_in_nop(struct hostile *h)
{
	struct ddp_segment s = {.last = true};
	uint8_t message[76] = {0x10, [28] = ISCSI_NOP_IN, 0x80};

	begin_read(h);
	s.un.ulp_word = h->tags.read_stag;
	s.un.msn = h->send_msn++;
	memset(message + 28 + 16, 0xff, 8);
	hostile_untagged(h, RDMAP_SEND_INVALIDATE, &s, message, sizeof(message));
}

/* ---- messages ---- */

static void play_message(struct hostile *h)
{
	uint8_t message[76] = {h->row->arg ? *(const uint8_t *)h->row->arg : 0x10};

	hostile_accept(h);
	hostile_send(h, message, h->row->length);
}

static void play_long(struct hostile *h)
{
	hostile_accept(h);
	data[0] = 0x10;
	hostile_send(h, data, h->row->length);
	data[0] = 0;
}

static void play_read_response(struct hostile *h)
{
	begin_read(h);
	hostile_tagged(h, RDMAP_READ_RESPONSE, h->tags.read_stag, h->tags.read_address, data, 512);
	hostile_settle(h);
	buffer_is_untouched(h, READ_BYTES);
}

#define TAG(in, out, where, fn, ...)                                                               \
	{                                                                                          \
		.phase = "full feature", .input = in, .answer = out, .section = where,             \
		.movers = HOSTILE_ISER, .play = fn, __VA_ARGS__                                    \
	}
#define ENDS(code) "Terminate " code ", closed, EPROTO"
#define WRITE(in, code, ...)                                                                       \
	TAG(in, ENDS(code), "RFC 5041 7.2", play_write, .arg = &(const struct reach){__VA_ARGS__})
#define READ(in, code, ...)                                                                        \
	TAG(in, ENDS(code), "RFC 5040 4.8", play_read, .arg = &(const struct reach){__VA_ARGS__})
#define BYTE(n)                                                                                    \
	.arg = (const uint8_t[])                                                                   \
	{                                                                                          \
		n                                                                                  \
	}

static const struct hostile_row rows[] = {
	TAG("a Write of all of the read buffer, and the response", "nothing", "RFC 7145 7.3.5",
		play_write_right),
	WRITE("a Write of one byte more than the read buffer", "1.1.01", .length = READ_BYTES + 1),
	WRITE("a Write one byte beside the read buffer", "1.1.01", .offset = 1,
		.length = READ_BYTES),
	WRITE("a Write in front of the read buffer", "1.1.01", .offset = -1, .length = 1),
	WRITE("a Write at the end of the read buffer", "1.1.01", .offset = READ_BYTES, .length = 1),
	WRITE("a Write of 65,000 bytes", "1.1.01", .length = 65000),
	WRITE("a Write of one byte at address 2^64-1", "1.1.03", .at_the_end = true, .length = 1),
	WRITE("a Write of 8 bytes at address 2^64-1", "1.1.03", .at_the_end = true, .length = 8),
	WRITE("a Write of 8 bytes at address 2^64-9", "1.1.01", .at_the_end = true, .offset = 8,
		.length = 8),
	WRITE("a Write with another key of the STag", "1.1.00", .stag = 1, .length = 8),
	WRITE("a Write with another index of the STag", "1.1.00", .stag = 0x10000, .length = 8),
	WRITE("a Write with an STag beyond the table", "1.1.00", .stag = 0x70000000, .length = 8),
	TAG("a Write to the buffer of a task that is over", ENDS("1.1.00"), "RFC 5041 7.2",
		play_write_late),
	TAG("a Write to a write buffer", ENDS("1.1.00"), "RFC 5041 7.2: DDP has no code for rights",
		play_write_to_write),
	TAG("a Write to the STag of another connection", ENDS("1.1.02"), "RFC 5041 7.2",
		play_of_another),
	READ("a Read of one byte more than the write buffer", "0.1.01", .length = WRITE_BYTES + 1),
	READ("a Read of 2^32-1 bytes", "0.1.01", .length = UINT32_MAX),
	READ("a Read in front of the write buffer", "0.1.01", .offset = -1, .length = 8),
	READ("a Read at the end of the write buffer", "0.1.01", .offset = WRITE_BYTES, .length = 1),
	READ("a Read of 8 bytes at address 2^64-1", "0.1.04", .at_the_end = true, .length = 8),
	READ("a Read of 2^32-1 bytes at address 2^64-1", "0.1.04", .at_the_end = true,
		.length = UINT32_MAX),
	READ("a Read with another key of the STag", "0.1.00", .stag = 1, .length = 8),
	READ("a Read with another index of the STag", "0.1.00", .stag = 0x10000, .length = 8),
	TAG("a Read of a read buffer", ENDS("0.1.02"), "RFC 5040 4.8", play_read_of_read),
	TAG("a Read of the buffer of a task that is over", ENDS("0.1.00"), "RFC 5040 4.8",
		play_read_late),
	TAG("a Read of the STag of another connection", ENDS("0.1.03"), "RFC 5040 4.8",
		play_of_another, .length = 1),
	TAG("one Read more than the IRD", ENDS("0.2.07"), "RFC 5040 4.8", play_reads),
	TAG("a Read Response that nobody asked for", ENDS("1.0.00"), "RFC 5041 7.2",
		play_read_response),
	TAG("a response that invalidates the task's tag", "nothing", "RFC 7145 7.3.2",
		play_invalidate_right),
	TAG("a response that invalidates STags that are not there", ENDS("0.2.09"), "RFC 5040 4.8",
		play_invalidate, .times = 4),
	TAG("a response that invalidates the task's tag, twice", ENDS("0.2.09"), "RFC 5040 4.8",
		play_invalidate_twice),
	TAG("a response that invalidates another task's tag", "closed, EPROTO",
		"RFC 7145 7.3.2, 10.1.3", play_invalidate_of_another_task),
	TAG("a NOP-In that invalidates a task's tag", "closed, EPROTO", "RFC 7145 7.3.2, 10.1.3",
		play_invalidate_in_nop),
	TAG("a Send of 0 bytes", "closed, EPROTO", "RFC 7145 10.1.3", play_message),
	TAG("a Send of 1 byte", "closed, EPROTO", "RFC 7145 10.1.3", play_message, .length = 1),
	TAG("a Send of 27 bytes", "closed, EPROTO", "RFC 7145 10.1.3", play_message, .length = 27),
	TAG("a Send of 28 bytes, an iSER header alone", "closed, EPROTO", "RFC 7145 10.1.3",
		play_message, .length = 28),
	TAG("a Send of 75 bytes", "closed, EPROTO", "RFC 7145 10.1.3", play_message, .length = 75),
	TAG("a Send of 76 bytes, of opcode 0", "closed, EPROTO", "RFC 7143 7.13", play_message,
		.length = 76),
	TAG("a Send of 65,000 bytes", "Terminate 1.2.02, closed, EMSGSIZE", "RFC 5041 7.2",
		play_long, .length = 65000),
	TAG("a Hello", "closed, EPROTO", "RFC 7145 10.1.3", play_message, BYTE(0x20), .length = 28),
	TAG("a HelloReply that nobody asked for", "closed, EPROTO", "RFC 7145 10.1.3", play_message,
		BYTE(0x30), .length = 28),
	TAG("iSER opcode 15", "closed, EPROTO", "RFC 7145 9.1, 10.1.3", play_message, BYTE(0xf0),
		.length = 76),
};

int main(void)
{
	return hostile_run("Tags: the initiator", false, rows, ARRAY_SIZE(rows));
}
