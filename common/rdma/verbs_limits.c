/* Depths, limits, cuts and codes of the verbs provider, computed without a device. Called by the
 * other files of verbs*.c. */
#include "common/rdma/verbs_limits.h"

#include <stdio.h>
#include <string.h>

#include "common/base/bytes.h"

/* Sends carry a header and data that follows it; RDMA transfers need one piece. */
#define PAGE 4096u

/* ---- queues ---- */

/* One window for every command that may be there: each exposes one buffer but for bidirectional
 * ones, which wait for a window when there are very many. */
static uint32_t windows_needed(
	const struct rdma_conn_limits *limits, const struct verbs_caps *caps, bool exposes)
{
	if (!exposes || !caps->windows || caps->max_windows < limits->receive_depth)
		return 0;
	return limits->receive_depth;
}

struct verbs_shape verbs_shape_make(
	const struct rdma_conn_limits *limits, const struct verbs_caps *caps, bool exposes)
{
	struct verbs_shape s = {
		.sge = min_u32(RDMA_MAX_SGE, caps->max_sge),
		.windows = windows_needed(limits, caps, exposes),
	};

	/* A window is bound in front of the Send that tells of it, and taken back later. */
	s.sends = min_u32(limits->send_depth + s.windows, caps->max_work);
	s.sends = min_u32(s.sends, VERBS_INDEX_MAX);
	s.receives = min_u32(limits->receive_depth, caps->max_work);
	s.receives = min_u32(s.receives, VERBS_INDEX_MAX);
	return s;
}

/* ---- RDMA Reads ---- */

static uint8_t min_reads(uint32_t wanted, uint8_t possible)
{
	return (uint8_t)min_u32(wanted, possible);
}

struct verbs_reads verbs_reads_ask(
	const struct rdma_conn_limits *limits, const struct verbs_caps *caps)
{
	return (struct verbs_reads){
		.responder_resources = min_reads(limits->reads_in, caps->reads_in),
		.initiator_depth = min_reads(limits->reads_out, caps->reads_out),
	};
}

struct verbs_reads verbs_reads_answer(const struct rdma_conn_limits *limits,
	const struct verbs_caps *caps, const struct verbs_reads *asked)
{
	struct verbs_reads mine = verbs_reads_ask(limits, caps);

	/* MPA before revision 2 (RFC 6581) has no such numbers. One at a time is what any peer that
	 * serves reads can serve. */
	if (caps->iwarp && !asked->initiator_depth) {
		mine.initiator_depth = min_reads(1, mine.initiator_depth);
		return mine;
	}
	return (struct verbs_reads){
		.responder_resources =
			min_reads(mine.responder_resources, asked->responder_resources),
		.initiator_depth = min_reads(mine.initiator_depth, asked->initiator_depth),
	};
}

/* ---- transfers ---- */

uint32_t verbs_part(const struct verbs_caps *caps, uint32_t length, uint32_t done)
{
	uint32_t most =
		caps->max_message > PAGE ? caps->max_message & ~(PAGE - 1) : caps->max_message;

	return min_u32(length - done, most);
}

/* ---- private data ---- */

void verbs_private_data_take(const void *bytes, size_t length, struct rdma_private_data *ret)
{
	ret->length = bytes ? min_size(length, RDMA_PRIVATE_DATA_MAX) : 0;
	if (ret->length)
		memcpy(ret->bytes, bytes, ret->length);
}

/* ---- cookies ---- */

uint64_t verbs_cookie_pack(const struct verbs_cookie *c)
{
	return (uint64_t)c->place << 44 | (uint64_t)(c->generation % VERBS_GENERATIONS) << 21 |
	       (uint64_t)c->receive << 20 | c->index;
}

struct verbs_cookie verbs_cookie_unpack(uint64_t wr_id)
{
	return (struct verbs_cookie){
		.place = (uint32_t)(wr_id >> 44),
		.generation = (uint32_t)(wr_id >> 21) % VERBS_GENERATIONS,
		.receive = wr_id >> 20 & 1,
		.index = (uint32_t)wr_id % VERBS_INDEX_MAX,
	};
}

/* ---- codes ---- */

uint8_t verbs_rnr_timer_code(uint32_t us)
{
	/* Code 0 is the longest of all, 655.36 ms: it follows code 31. In units of 10 us. */
	static const uint16_t tens[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256,
		384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
		49152};

	for (size_t i = 0; i < ARRAY_SIZE(tens); i++)
		if (tens[i] * 10u >= us)
			return (uint8_t)(i + 1);
	return 0;
}

uint8_t verbs_ack_timeout_code(uint64_t us)
{
	uint8_t code = 1;

	if (!us)
		return 0;
	while (code < 31 && (4096ull << code) < us * 1000)
		code++;
	return code;
}

void verbs_memlock_explain(
	uint64_t need, uint64_t limit, const char *device, char *out, size_t size)
{
	snprintf(out, size,
		"%s: registering %llu KiB of memory needs them locked, and the limit is %llu KiB: "
		"set LimitMEMLOCK=infinity in the systemd unit, or `ulimit -l unlimited` in the "
		"shell",
		device, (unsigned long long)(need + 1023) / 1024, (unsigned long long)limit / 1024);
}
