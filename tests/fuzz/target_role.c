/* See target_role.h. An input is options (one byte), then records. A record begins with a kind:
 *   bits 0-1  what peer.c makes of it
 *   bit 2     for the second peer
 *   bit 3     time passes after it: 250 ms
 *   bit 4     the peer closes after it
 *   bits 5-7  7: no bytes, but a new connection, whose login is made (but for raw ones, bit 0)
 *             6: no bytes, but 5 seconds pass */
#include "tests/fuzz/target_role.h"

#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/pool.h"
#include "common/datamover/iser.h"
#include "common/datamover/tcp.h"
#include "common/rdma/softiwarp.h"
#include "target/backend/stores.h"
#include "target/command.h"
#include "target/drain.h"
#include "target/portal.h"
#include "target/target_set.h"
#include "tests/fuzz/peer.h"
#include "tests/fuzz/random.h"

enum options {
	RAW = 1, /* the first connection gets no login */
	IMMEDIATE_DATA = 2,
	DISCOVERY = 4, /* logins are of discovery sessions */
	CHAP_TARGET = 8,
	SMALL_BURSTS = 16,
	DIGESTS = 32, /* TCP: both */
};

enum record {
	SECOND = 4,
	TIME = 8,
	CLOSE = 16,
	CONNECT = 0xe0,
	LONG_TIME = 0xc0,
};

#define PEERS 2
#define RECORDS_MAX 200
#define ARENA (4u << 20)

struct role {
	struct worker worker;
	struct target_set *set;
	struct dm_mover *mover;
	struct rdma_provider *provider;
	struct tgt_acceptor acceptor;
	struct rdma_acceptor *rdma_acceptor;
	struct peer peers[PEERS];
	uint8_t options;
	bool rdma;
	unsigned long live;
};

static const char yaml[] = "immediate_data: true\n"
			   "max_sessions: 4\n"
			   "max_logins: 2\n"
			   "queue_depth: 8\n"
			   "targets:\n"
			   "  - name: iqn.2026-01.org.example:disk\n"
			   "    alias: fuzz\n"
			   "    luns:\n"
			   "      - {lun: 0, backend: memory, size: 1M}\n"
			   "      - {lun: 1, backend: memory, size: 1M,\n"
			   "         delay: {read: 50ms, write: 50ms, flush: 50ms}}\n"
			   "  - name: iqn.2026-01.org.example:chap\n"
			   "    chap: {name: alice, secret: \"alice's secret of 24\"}\n"
			   "    luns:\n"
			   "      - {lun: 0, backend: memory, size: 1M}\n";

/* ---- the target ---- */

static void silence(void *arg, enum log_level level, const char *line)
{
	(void)arg, (void)level, (void)line;
}

static int open_backend(
	const struct config_lun *row, struct backend **ret, char *why, size_t why_size)
{
	const struct memory_config memory = {.size = row->size};
	struct delay_config delay;
	int r = memory_backend_new(&memory, ret, why, why_size);

	if (r < 0 || !row->delay)
		return r;
	delay = (struct delay_config){row->delay->read, row->delay->write, row->delay->flush};
	return delay_backend_new(*ret, &delay, ret, why, why_size);
}

static void settled(struct loop_call *c)
{
	(void)c;
}

/* As worker_new(), but on a virtual clock, and with memory that is made once. */
static void worker_make(struct role *r)
{
	static const struct loop_config virtual = {.virtual_clock = true};
	static struct arena *arena;
	static struct pool *commands;
	struct worker *w = &r->worker;

	if (!arena) {
		arena = arena_new(ARENA);
		commands = pool_new(32, sizeof(struct command));
	}
	r->live = alloc_live();
	w->settle.call = settled;
	list_init(&w->starved);
	list_init(&w->sessions);
	list_init(&w->conns);
	list_init(&w->channels);
	w->loop = loop_new(&virtual);
	w->arena = arena;
	w->commands = commands;
}

static void set_make(struct role *r)
{
	struct config_report report = {0};
	struct config *config;

	FUZZ_CHECK(config_parse("fuzz", NULL, yaml, strlen(yaml), &report, &config) == 0);
	FUZZ_CHECK(target_set_new(config, 1, open_backend, &report, &r->set) == 0);
	config_report_free(&report);
	config_release(config);
	r->worker.targets = r->set;
}

static void mover_make(struct role *r)
{
	static const struct tcp_mover_config tcp = {
		.header_digest = ISCSI_DIGEST_NONE | ISCSI_DIGEST_CRC32C,
		.data_digest = ISCSI_DIGEST_NONE | ISCSI_DIGEST_CRC32C};
	static const struct softiwarp_config softiwarp = {.crc = SOFTIWARP_CRC_OFF};
	static const struct iser_mover_config iser = {
		.queue_depth = 8, .allow_remote_invalidate = true};
	struct worker_mover *mover;

	if (r->rdma) {
		r->provider = softiwarp_new(r->worker.loop, &softiwarp);
		r->mover = iser_mover_new(r->worker.loop, r->provider, &iser);
	} else {
		r->mover = tcp_mover_new(r->worker.loop, &tcp);
	}
	FUZZ_CHECK(r->mover && worker_add_mover(&r->worker, r->mover, &mover) == 0);
	tgt_acceptor_init(&r->acceptor, mover);
	if (r->rdma)
		r->rdma_acceptor = iser_mover_acceptor(r->mover, &r->acceptor.base);
}

static struct role *role_new(uint8_t options, bool rdma)
{
	struct role *r = calloc(1, sizeof(*r));

	if (!getenv("FUZZ_VERBOSE"))
		log_set_sink(silence, NULL);
	fuzz_random_restart();
	r->options = options;
	r->rdma = rdma;
	worker_make(r);
	set_make(r);
	mover_make(r);
	return r;
}

static void turn(struct role *r)
{
	/* Bounded: a peer must not be able to keep the loop busy for ever. */
	for (unsigned i = 0; loop_turn(r->worker.loop, 0); i++) {
		FUZZ_CHECK(i < 10000);
		for (unsigned k = 0; k < PEERS; k++)
			peer_read(&r->peers[k]);
	}
	for (unsigned k = 0; k < PEERS; k++)
		peer_read(&r->peers[k]);
}

static void advance(struct role *r, uint64_t ns)
{
	loop_advance(r->worker.loop, ns);
	turn(r);
}

static void role_free(struct role *r)
{
	struct worker *w = &r->worker;

	for (unsigned i = 0; i < PEERS; i++)
		peer_close(&r->peers[i]);
	turn(r);
	drain_abort(w);
	for (unsigned i = 0; i < 100 && !(list_empty(&w->conns) && list_empty(&w->sessions)); i++)
		advance(r, LOOP_NS_PER_S / 4);
	FUZZ_CHECK(list_empty(&w->conns) && list_empty(&w->sessions) && list_empty(&w->starved));
	worker_close_channels(w);
	turn(r);
	dm_unregister_region(r->mover, w->movers[0].arena);
	dm_mover_free(r->mover);
	rdma_provider_free(r->provider);
	loop_call_cancel(&w->settle);
	loop_free(w->loop);
	target_set_free(r->set);
	FUZZ_CHECK(alloc_live() == r->live);
	free(r);
}

/* ---- the peers ---- */

static struct peer *connect_peer(struct role *r, unsigned i)
{
	int ends[2];

	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
	peer_open(&r->peers[i], ends[0], r->rdma, true);
	if (r->rdma)
		softiwarp_adopt(r->provider, ends[1], r->rdma_acceptor);
	else
		tcp_mover_adopt(r->mover, ends[1], &r->acceptor.base);
	turn(r);
	return &r->peers[i];
}

static size_t login_text(const struct role *r, char *out, size_t size)
{
	struct bytes_writer w = bytes_writer(out, size);

	keys_put(&w, "InitiatorName", "iqn.2026-01.org.example:host");
	keys_put(&w, "SessionType", r->options & DISCOVERY ? "Discovery" : "Normal");
	if (!(r->options & DISCOVERY))
		keys_put(&w, "TargetName",
			r->options & CHAP_TARGET ? "iqn.2026-01.org.example:chap"
						 : "iqn.2026-01.org.example:disk");
	keys_put(&w, "ImmediateData", r->options & IMMEDIATE_DATA ? "Yes" : "No");
	if (!r->rdma && (r->options & DIGESTS)) {
		keys_put(&w, "HeaderDigest", "CRC32C");
		keys_put(&w, "DataDigest", "CRC32C");
	}
	if (r->options & SMALL_BURSTS)
		keys_put_number(&w, "MaxBurstLength", 2048);
	keys_put_number(
		&w, r->rdma ? "InitiatorRecvDataSegmentLength" : "MaxRecvDataSegmentLength", 8192);
	if (r->rdma && !(r->options & DISCOVERY))
		keys_put(&w, "RDMAExtensions", "Yes");
	return w.used;
}

static void login(struct role *r, struct peer *p)
{
	static const struct iser_header plain = {.opcode = ISER_CONTROL};
	uint8_t bhs[ISCSI_BHS_SIZE] = {0x43, 0x87, [8] = 0x80, [13] = 1};
	char text[512];
	size_t n = login_text(r, text, sizeof(text));

	if (r->rdma) {
		peer_send_mpa(p);
		turn(r);
	}
	put_be32(bhs + 24, p->cmd_sn);
	peer_send_pdu(p, 0, bhs, NULL, text, n, &plain);
	turn(r);
	p->digests = !r->rdma && (r->options & DIGESTS) && !(r->options & DISCOVERY);
}

static void record(struct role *r, struct fuzz_input *in)
{
	uint8_t kind = fuzz_u8(in);
	unsigned i = kind & SECOND ? 1 : 0;

	if ((kind & CONNECT) == CONNECT) {
		struct peer *p = connect_peer(r, i);

		if (!(kind & 1))
			login(r, p);
	} else if ((kind & CONNECT) == LONG_TIME) {
		advance(r, 5 * LOOP_NS_PER_S);
	} else {
		peer_record(&r->peers[i], kind, in);
		turn(r);
	}
	if (kind & TIME)
		advance(r, LOOP_NS_PER_S / 4);
	if (kind & CLOSE)
		peer_close(&r->peers[i]);
}

void target_role_run(const uint8_t *data, size_t size, bool rdma)
{
	struct fuzz_input in = fuzz_input(data, size);
	struct role *r = role_new(fuzz_u8(&in), rdma);
	struct peer *first = connect_peer(r, 0);

	if (!(r->options & RAW))
		login(r, first);
	for (unsigned i = 0; in.left && i < RECORDS_MAX; i++)
		record(r, &in);
	role_free(r);
}
