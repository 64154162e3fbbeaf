/* The iSER header, Hello and HelloReply, and the CM private data (common/datamover/iser_header.c;
 * RFC 7145 section 9). Input: the bytes. */
#include "common/datamover/iser_header.h"
#include "tests/fuzz/fuzz.h"

static void try_header(const uint8_t *wire)
{
	uint8_t out[ISER_HEADER_SIZE];
	struct iser_header h, again;

	if (iser_header_decode(wire, &h) < 0)
		return;
	FUZZ_CHECK(h.write_valid || (!h.write_stag && !h.write_address));
	FUZZ_CHECK(h.read_valid || (!h.read_stag && !h.read_address));
	if (h.opcode != ISER_CONTROL)
		return;
	iser_header_encode(&h, out);
	FUZZ_CHECK(iser_header_decode(out, &again) == 0);
	FUZZ_CHECK(again.opcode == h.opcode && again.write_valid == h.write_valid &&
		   again.read_valid == h.read_valid);
	FUZZ_CHECK(again.write_stag == h.write_stag && again.read_stag == h.read_stag);
	FUZZ_CHECK(again.write_address == h.write_address && again.read_address == h.read_address);
}

static void try_hello(const uint8_t *wire)
{
	uint8_t out[ISER_HEADER_SIZE];
	struct iser_hello hello;
	struct iser_hello_reply reply, again;

	if (iser_hello_decode(wire, &hello) == 0) {
		FUZZ_CHECK(hello.min_version <= hello.max_version);
		reply = iser_hello_answer(&hello, 16);
		FUZZ_CHECK(reply.ord <= hello.ird || reply.reject);
		iser_hello_reply_encode(&reply, out);
		FUZZ_CHECK(iser_hello_reply_decode(out, &again) == 0);
		FUZZ_CHECK(again.reject == reply.reject && again.ord == reply.ord);
	}
	if (iser_hello_reply_decode(wire, &reply) == 0) {
		iser_hello_reply_encode(&reply, out);
		FUZZ_CHECK(iser_hello_reply_decode(out, &again) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *exact = fuzz_copy(data, size, false), *wire = malloc(ISER_HEADER_SIZE);
	struct fuzz_input in = fuzz_input(data, size);

	iser_cm_allows_invalidate(exact, size);
	fuzz_fill(&in, wire, ISER_HEADER_SIZE);
	try_header(wire);
	try_hello(wire);
	free(exact);
	free(wire);
	return 0;
}
