/* Bytes out of the iSCSI/TCP mover (common/datamover/tcp_tx.c): sockets that take little at a time,
 * small segments, digests. */
#include "tests/unit/common/datamover/tcp_store.h"

static void a_socket_that_takes_little_at_a_time(void **state)
{
	struct iscsi_params params = kit_params();
	struct server server = {0};

	(void)state;
	lengths(&params, &server, 4096);
}

static void digests_small_segments_and_several_r2ts(void **state)
{
	struct iscsi_params params = kit_params();
	struct server server = {.extent = 262144};

	(void)state;
	params.header_digest = params.data_digest = ISCSI_DIGEST_CRC32C;
	params.peer_max_recv_data_segment_length = 1000; /* no multiple of 4 */
	params.max_burst_length = 5555;
	params.first_burst_length = 5000;
	params.max_outstanding_r2t = 3;
	params.immediate_data = false;
	lengths(&params, &server, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_socket_that_takes_little_at_a_time),
		cmocka_unit_test(digests_small_segments_and_several_r2ts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
