/* The stream as a whole: two of them against each other in any chunking. */
#include "tests/unit/common/iwarp/stream_fixture.h"

/* Everything that a stream can do, in one conversation. */
static void conversation(bool crc, uint32_t ulpdu, size_t chunk, bool in_place)
{
	static uint8_t text[300], big[200001], read_back[200001], inbox[2][70000];
	struct iwarp_message hello, write, read, read2, answer;
	struct world w;

	world_open(&w, crc, ulpdu);
	fill(text, sizeof(text), 1);
	fill(big, sizeof(big), 2);
	receive_post(&w.b, inbox[0], sizeof(inbox[0]));
	receive_post(&w.a, inbox[1], sizeof(inbox[1]));
	hello = send_of(text, 77);
	hello.place[1] = (struct iwarp_place){big, 66001};
	hello.places = 2;
	write = transfer_of(RDMAP_WRITE, &w.b, 5, big, sizeof(big));
	read = transfer_of(RDMAP_READ_REQUEST, &w.b, 5, read_back, sizeof(read_back));
	read2 = transfer_of(RDMAP_READ_REQUEST, &w.b, 0, NULL, 0);
	iwarp_tx_post(w.a.s, &write);
	iwarp_tx_post(w.a.s, &hello);
	iwarp_tx_post(w.a.s, &read);
	iwarp_tx_post(w.a.s, &read2);
	answer = send_of(text, 0);
	answer.opcode = RDMAP_SEND_SE_INVALIDATE;
	answer.remote_stag = w.a.stag;
	iwarp_tx_post(w.b.s, &answer);
	assert_int_equal(exchange(&w, chunk, in_place), 0);

	assert_memory_equal(w.b.memory + 5, big, sizeof(big));
	assert_int_equal(w.b.received, 1);
	assert_int_equal(w.b.arrival[0].length, 77 + 66001);
	assert_memory_equal(inbox[0], text, 77);
	assert_memory_equal(inbox[0] + 77, big, 66001);
	assert_memory_equal(read_back, big, sizeof(big));
	assert_int_equal(w.a.completions, 4);
	assert_ptr_equal(w.a.completed[0], &write);
	assert_ptr_equal(w.a.completed[1], &hello);
	assert_ptr_equal(w.a.completed[2], &read);
	assert_ptr_equal(w.a.completed[3], &read2);
	assert_int_equal(w.a.received, 1);
	assert_int_equal(w.a.arrival[0].length, 0);
	assert_true(w.a.arrival[0].invalidated && w.a.arrival[0].solicited);
	assert_int_equal(w.a.arrival[0].stag, w.a.stag);
	assert_true(iwarp_rx_at_boundary(w.a.s) && iwarp_tx_drained(w.a.s));
	world_close(&w);
}

static void conversation_survives_any_chunking(void **state)
{
	static const size_t chunks[] = {1, 2, 3, 7, 16, 1448, 65536, 0, 0, 0};
	static const uint32_t ulpdus[] = {128, 1442, 32786, 65528, 65535};

	(void)state;
	for (unsigned c = 0; c < ARRAY_SIZE(chunks); c++)
		for (unsigned u = 0; u < ARRAY_SIZE(ulpdus); u++)
			for (int mode = 0; mode < 4; mode++)
				conversation(mode & 1, ulpdus[u], chunks[c], mode & 2);
}

static void requests_are_taken_back_in_order(void **state)
{
	struct iwarp_message m[4], waiting;
	struct world w;
	uint8_t out[512];

	(void)state;
	world_open(&w, true, 65528);
	for (int i = 0; i < 3; i++) {
		m[i] = transfer_of(RDMAP_READ_REQUEST, &w.b, 0, w.a.memory, 8);
		iwarp_tx_post(w.a.s, &m[i]);
	}
	have_all(&w.a, out);
	waiting = send_of("x", 1);
	iwarp_tx_post(w.a.s, &waiting);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(iwarp_stream_take(w.a.s), &m[i]);
	assert_ptr_equal(iwarp_stream_take(w.a.s), &waiting);
	assert_null(iwarp_stream_take(w.a.s));
	world_close(&w);
}

static void no_memory_for_a_stream(void **state)
{
	struct iwarp_stream_config config = {.max_ulpdu = 128};
	struct iwarp_stream *s = NULL;

	(void)state;
	alloc_fail_nth(1);
	assert_int_equal(iwarp_stream_new(&config, &s), -ENOMEM);
	alloc_fail_nth(0);
	assert_null(s);
	iwarp_stream_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conversation_survives_any_chunking),
		cmocka_unit_test(requests_are_taken_back_in_order),
		cmocka_unit_test(no_memory_for_a_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
