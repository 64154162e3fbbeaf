/* The movers of a worker, and how the first bytes of a connection choose between them
 * (target/daemon/movers.c). */
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/target/target_kit.h"

#include "target/daemon/movers.c"

static const char no_rdma[] = "rdma: false\ndata_digest: none\nheader_digest: crc32c\n"
			      "max_receive: 8K\ntargets: []\n";

static struct target_set *set;
static struct config *config;
static struct daemon_worker worker;

static int setup(void **state)
{
	static const struct worker_config wc = {.commands = 16, .arena_size = 16 << 20};
	struct config_report report = {0};

	(void)state;
	config = kit_config(no_rdma);
	assert_int_equal(target_set_new(config, 1, kit_open, &report, &set), 0);
	worker = (struct daemon_worker){.worker = worker_new(0, &wc, set)};
	assert_non_null(worker.worker);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	worker_free(worker.worker);
	target_set_free(set);
	config_release(config);
	return alloc_live() == 0 ? 0 : -1;
}

/* Of the first bytes `text`, which protocol's they are; -1: nobody's, -2: they do not decide yet.
 */
static int protocol_of(const char *text, size_t length)
{
	int verdict = -1;

	for (int i = 0; i < DAEMON_PROTOCOLS; i++)
		switch (daemon_protocols[i].match((const uint8_t *)text, length)) {
		case LISTENER_YES:
			return i;
		case LISTENER_MORE:
			verdict = -2;
			break;
		default:
			break;
		}
	return verdict;
}

/* RFC 7143 section 11.12: a Login Request begins with 43h; RFC 5044 section 7.1: MPA with its key.
 */
static void the_first_bytes_choose_the_protocol(void **state)
{
	static const char mpa[20] = "MPA ID Req Frame\x40\x01\x00\x04";

	(void)state;
	assert_int_equal(protocol_of("\x43\x87", 2), 0);
	assert_int_equal(protocol_of(mpa, 20), 1);
	for (size_t n = 1; n < 16; n++)
		assert_int_equal(protocol_of(mpa, n), -2);
	assert_int_equal(protocol_of("GET / HTTP/1.1\r\n\r\n", 18), -1);
	assert_int_equal(protocol_of("MPA ID Rep Frame\x40\x01\x00\x04", 20), -1);
	assert_int_equal(protocol_of("\x16\x03\x01", 3), -1); /* TLS */
}

static void without_rdma_devices_there_are_two_movers(void **state)
{
	(void)state;
	assert_int_equal(movers_new(&worker, config), 0);
	assert_int_equal(worker.worker->mover_count, 2);
	assert_non_null(worker.tcp);
	assert_non_null(worker.iser);
	assert_null(worker.verbs);
	assert_ptr_equal(worker.worker->platform, &worker);
}

/* What the configuration says is what the mover offers. */
static void keys_of_the_configuration_reach_the_mover(void **state)
{
	struct iscsi_params offer = {0};
	int fd[2];

	(void)state;
	assert_int_equal(movers_new(&worker, config), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
	assert_int_equal(daemon_protocols[0].adopt(worker.worker, fd[0]), 0);
	for (int i = 0; i < 10; i++)
		loop_turn(worker.worker->loop, 0);
	assert_false(list_empty(&worker.worker->conns));
	dm_declare_keys(
		list_first(&worker.worker->conns, struct tgt_conn, worker_link)->dm, &offer);
	assert_int_equal(offer.max_recv_data_segment_length, 8192);
	assert_int_equal(offer.header_digest, ISCSI_DIGEST_CRC32C);
	assert_int_equal(offer.data_digest, ISCSI_DIGEST_NONE);
	close(fd[1]);
	for (int i = 0; i < 10; i++)
		loop_turn(worker.worker->loop, 0);
	assert_true(list_empty(&worker.worker->conns));
}

static void any_failed_allocation_is_told_and_freed_with_the_worker(void **state)
{
	int err = -1;

	for (unsigned long n = 1; err; n++) {
		alloc_fail_nth(n);
		err = movers_new(&worker, config);
		alloc_fail_nth(0);
		assert_true(err == 0 || err == -ENOMEM);
		if (err) {
			assert_int_equal(teardown(state), 0);
			setup(state);
		}
		assert_true(n < 100);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_bytes_choose_the_protocol),
		TEST(without_rdma_devices_there_are_two_movers),
		TEST(keys_of_the_configuration_reach_the_mover),
		TEST(any_failed_allocation_is_told_and_freed_with_the_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
