/* See initiator_role.h. An input is options (one byte), then records. A record begins with a kind:
 *   bits 0-1  what peer.c makes of it
 *   bit 3     time passes after it: 250 ms
 *   bit 4     the connection is closed after it
 *   bits 5-7  7: no bytes, but the login of a new connection is answered; 6: 5 seconds pass;
 *             5: one more task is submitted */
#include "tests/fuzz/initiator_role.h"

#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/datamover/iser.h"
#include "common/datamover/tcp.h"
#include "common/iscsi/login.h"
#include "common/loop/loop.h"
#include "common/rdma/softiwarp.h"
#include "common/scsi/cdb.h"
#include "initiator/discovery.h"
#include "initiator/scan.h"
#include "initiator/session.h"
#include "tests/fuzz/peer.h"
#include "tests/fuzz/random.h"

enum options {
	RAW = 1, /* the first login is the input's */
	DISCOVERY = 2,
	SCAN = 4, /* a scan in place of tasks */
	PINGS = 8,
	IMMEDIATE_DATA = 16, /* the target allows it */
	DIGESTS = 32,	     /* TCP: both */
};

enum record {
	TIME = 8,
	CLOSE = 16,
	LOGIN = 0xe0,
	LONG_TIME = 0xc0,
	SUBMIT = 0xa0,
};

#define TASKS 6
#define RECORDS_MAX 200

struct role_task {
	struct ini_task task;
	struct role *role;
	uint8_t *data; /* of its exact size, freed when it is done */
	struct dm_region *region;
	bool submitted;
	unsigned done;
};

/* A mover's, or a provider's, operations with another `connect`. */
struct role_hook {
	struct role *role;
	struct dm_ops dm;
	struct rdma_ops rdma;
};

struct role {
	struct loop *loop;
	struct dm_mover *mover;
	struct rdma_provider *provider;
	struct role_hook hook;
	struct ini_session *session;
	struct discovery *discovery;
	struct ini_scan *scan;
	struct role_task tasks[TASKS];
	struct peer peer;
	uint8_t options;
	bool rdma, ended, scanned, discovered;
	unsigned long live;
};

/* ---- connecting ---- */

static int connect_pair(struct role *r, int *ret)
{
	int ends[2];

	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
	peer_open(&r->peer, ends[0], r->rdma, false);
	*ret = ends[1];
	return 0;
}

static int tcp_connect(struct dm_mover *m, const struct address *to, uint64_t timeout_ns,
	const struct dm_upcalls *up, void *owner, struct dm_conn **ret)
{
	struct role *r = container_of(m->ops, struct role_hook, dm)->role;
	int fd;

	(void)to, (void)timeout_ns;
	connect_pair(r, &fd);
	return tcp_mover_adopt_active(m, fd, up, owner, ret);
}

static int rdma_connect_pair(struct rdma_provider *p, const struct address *to, uint64_t timeout_ns,
	const struct rdma_conn_limits *limits, const struct rdma_private_data *pd,
	const struct rdma_conn_upcalls *up, void *owner, struct rdma_conn **ret)
{
	struct role *r = container_of(p->ops, struct role_hook, rdma)->role;
	int fd;

	(void)to;
	connect_pair(r, &fd);
	return softiwarp_connect_fd(p, fd, timeout_ns, limits, pd, up, owner, ret);
}

static void mover_make(struct role *r)
{
	static const struct tcp_mover_config tcp = {
		.header_digest = ISCSI_DIGEST_NONE | ISCSI_DIGEST_CRC32C,
		.data_digest = ISCSI_DIGEST_NONE | ISCSI_DIGEST_CRC32C};
	static const struct softiwarp_config softiwarp = {.crc = SOFTIWARP_CRC_OFF};
	static const struct iser_mover_config iser = {
		.queue_depth = 8, .allow_remote_invalidate = true};

	r->hook.role = r;
	if (r->rdma) {
		r->provider = softiwarp_new(r->loop, &softiwarp);
		r->hook.rdma = *r->provider->ops;
		r->hook.rdma.connect = rdma_connect_pair;
		r->provider->ops = &r->hook.rdma;
		r->mover = iser_mover_new(r->loop, r->provider, &iser);
	} else {
		r->mover = tcp_mover_new(r->loop, &tcp);
		r->hook.dm = *r->mover->ops;
		r->hook.dm.connect = tcp_connect;
		r->mover->ops = &r->hook.dm;
	}
	FUZZ_CHECK(r->mover);
}

/* ---- turning ---- */

static void turn(struct role *r)
{
	for (unsigned i = 0; loop_turn(r->loop, 0); i++) {
		FUZZ_CHECK(i < 10000);
		peer_read(&r->peer);
	}
	peer_read(&r->peer);
}

static void advance(struct role *r, uint64_t ns)
{
	loop_advance(r->loop, ns);
	turn(r);
}

/* ---- the target's login ---- */

static unsigned identify(void *owner, const struct login_identity *who, struct login_auth *ret_auth,
	struct iscsi_params *params)
{
	(void)owner, (void)who, (void)ret_auth, (void)params;
	return LOGIN_SUCCESS;
}

static unsigned establish(void *owner, const struct login_identity *who, uint16_t *ret_tsih)
{
	(void)owner, (void)who;
	*ret_tsih = 7;
	return LOGIN_SUCCESS;
}

static bool digests(const struct role *r)
{
	return !r->rdma && (r->options & DIGESTS) && !(r->options & DISCOVERY);
}

static struct login *target_login(const struct role *r)
{
	struct login_target_config config = {
		.policy = {identify, establish, NULL, NULL}, .rdma = r->rdma};

	iscsi_params_default(&config.offer);
	config.offer.header_digest = config.offer.data_digest =
		digests(r) ? ISCSI_DIGEST_CRC32C : ISCSI_DIGEST_NONE;
	config.offer.immediate_data = r->options & IMMEDIATE_DATA;
	config.offer.rdma_extensions = r->rdma;
	config.offer.target_recv_data_segment_length = 8192;
	config.offer.initiator_recv_data_segment_length = 8192;
	return login_target_new(&config);
}

/* Answers Login Requests until the login is over. */
static void answer_login(struct role *r)
{
	static const struct iser_header plain = {.opcode = ISER_CONTROL};
	struct peer *p = &r->peer;
	struct login *l = target_login(r);
	enum login_step step = LOGIN_SEND;
	uint8_t bhs[ISCSI_BHS_SIZE];
	unsigned answered = 0;
	const void *data;

	if (r->rdma)
		peer_send_mpa(p);
	turn(r);
	while (step == LOGIN_SEND && p->pdus != answered && p->pdu.opcode == ISCSI_LOGIN_REQUEST) {
		answered = p->pdus;
		step = login_target_receive(l, &p->pdu, p->data, p->pdu.data_length);
		iscsi_pdu_encode(login_out(l, &data), bhs);
		peer_send_pdu(
			p, PEER_FIX_SN, bhs, NULL, data, login_out(l, &data)->data_length, &plain);
		p->digests = step == LOGIN_SEND_LAST && digests(r);
		turn(r);
	}
	login_free(l);
}

/* ---- the initiator ---- */

static void silence(void *arg, enum log_level level, const char *line)
{
	(void)arg, (void)level, (void)line;
}

static void on_ended(void *owner, int error, unsigned status, const char *why)
{
	struct role *r = owner;

	(void)error, (void)status, (void)why;
	FUZZ_CHECK(!r->ended);
	r->ended = true;
}

static const struct ini_session_events events = {.ended = on_ended};

static void task_done(struct ini_task *t, int error)
{
	struct role_task *x = container_of(t, struct role_task, task);

	FUZZ_CHECK(x->submitted && x->done++ == 0);
	if (!error) {
		FUZZ_CHECK(t->received <= t->read.length);
		FUZZ_CHECK(t->sense_length <= INI_SENSE_MAX);
	}
	ini_session_unregister(x->role->session, x->region);
	free(x->data);
	x->data = NULL;
}

static void task_make(struct role *r, unsigned i)
{
	struct role_task *x = &r->tasks[i];
	static const uint32_t lengths[TASKS] = {512, 512, 8192, 4096, 16384, 36};
	uint32_t length = lengths[i];
	bool write = i & 1;
	unsigned size;

	x->role = r;
	x->data = calloc(1, length);
	x->task = (struct ini_task){
		.repeatable = i != 3, .done = task_done, .timeout_ns = LOOP_NS_PER_S};
	if (i == 5) {
		cdb_inquiry(x->task.cdb, 36);
		write = false;
	} else {
		cdb_read_write(x->task.cdb, write ? SCSI_DATA_OUT : SCSI_DATA_IN, i, length / 512,
			false, &size);
	}
	FUZZ_CHECK(ini_session_register(r->session, x->data, length, &x->region) == 0);
	*(write ? &x->task.write : &x->task.read) = (struct dm_buffer){x->data, length, x->region};
}

static void task_submit(struct role *r)
{
	for (unsigned i = 0; i < TASKS; i++)
		if (!r->tasks[i].submitted) {
			task_make(r, i);
			r->tasks[i].submitted = true;
			ini_session_submit(r->session, &r->tasks[i].task);
			return;
		}
}

static void on_scanned(void *owner, int error, const struct disk_info *luns, size_t count)
{
	struct role *r = owner;

	FUZZ_CHECK(!r->scanned && (error == 0 || count == 0));
	for (size_t i = 0; i < count; i++)
		FUZZ_CHECK(luns[i].block_size > 0 && luns[i].max_transfer >= luns[i].block_size);
	r->scanned = true;
	r->scan = NULL;
}

static void on_discovered(void *owner, const struct discovery_result *result)
{
	struct role *r = owner;

	FUZZ_CHECK(!r->discovered && (result->error == 0 || result->why));
	r->discovered = true;
	r->discovery = NULL;
}

static void session_make(struct role *r)
{
	struct ini_session_config c = {
		.loop = r->loop,
		.mover = r->mover,
		.initiator_name = "iqn.2026-01.org.example:host",
		.target_name = "iqn.2026-01.org.example:disk",
		.isid = {{0x80, 0, 0, 0, 0, 1}},
		.login_timeout_ns = 2 * LOOP_NS_PER_S,
		.logout_timeout_ns = LOOP_NS_PER_S,
		.replacement_timeout_ns = 20 * LOOP_NS_PER_S,
		.login_attempts = 2,
	};

	if (r->options & PINGS)
		c.noop_interval_ns = c.noop_timeout_ns = LOOP_NS_PER_S / 2;
	iscsi_params_default(&c.offer);
	FUZZ_CHECK(address_parse("192.0.2.1:3260", 0, &c.portal, &(const char *){NULL}) == 0);
	FUZZ_CHECK(ini_session_new(&c, &events, r, &r->session) == 0);
	ini_session_start(r->session);
}

static void discovery_make(struct role *r)
{
	struct discovery_config c = {
		.loop = r->loop,
		.mover = r->mover,
		.initiator_name = "iqn.2026-01.org.example:host",
		.login_timeout_ns = 2 * LOOP_NS_PER_S,
	};

	FUZZ_CHECK(address_parse("192.0.2.1:3260", 0, &c.portal, &(const char *){NULL}) == 0);
	FUZZ_CHECK(discovery_start(&c, on_discovered, r, &r->discovery) == 0);
}

static struct role *role_new(uint8_t options, bool rdma)
{
	static const struct loop_config virtual = {.virtual_clock = true};
	struct role *r = calloc(1, sizeof(*r));

	if (!getenv("FUZZ_VERBOSE"))
		log_set_sink(silence, NULL);
	fuzz_random_restart();
	r->live = alloc_live();
	r->options = options;
	r->rdma = rdma;
	r->loop = loop_new(&virtual);
	mover_make(r);
	if (options & DISCOVERY)
		discovery_make(r);
	else
		session_make(r);
	turn(r);
	return r;
}

/* All that was submitted comes to its end, whatever the target does. */
static void role_free(struct role *r)
{
	if (r->scan)
		ini_scan_cancel(r->scan);
	if (r->discovery)
		discovery_cancel(r->discovery);
	if (r->session && !r->ended)
		ini_session_logout(r->session);
	for (unsigned i = 0; i < 100 && ((r->session && !r->ended) || r->scan || r->discovery); i++)
		advance(r, LOOP_NS_PER_S / 2);
	FUZZ_CHECK(!r->session || r->ended);
	FUZZ_CHECK(!r->scan && !r->discovery);
	turn(r);
	for (unsigned i = 0; i < TASKS; i++)
		FUZZ_CHECK(r->tasks[i].done == (r->tasks[i].submitted ? 1 : 0));
	ini_session_free(r->session);
	peer_close(&r->peer);
	turn(r);
	dm_mover_free(r->mover);
	rdma_provider_free(r->provider);
	loop_free(r->loop);
	FUZZ_CHECK(alloc_live() == r->live);
	free(r);
}

static void begin_work(struct role *r)
{
	if (!r->session || r->ended)
		return;
	if (!(r->options & SCAN))
		for (unsigned i = 0; i < 4; i++)
			task_submit(r);
	else
		FUZZ_CHECK(ini_scan_start(r->session, on_scanned, r, &r->scan) == 0);
	turn(r);
}

static void record(struct role *r, struct fuzz_input *in)
{
	uint8_t kind = fuzz_u8(in);

	switch (kind & LOGIN) {
	case LOGIN:
		answer_login(r);
		break;
	case LONG_TIME:
		advance(r, 5 * LOOP_NS_PER_S);
		break;
	case SUBMIT:
		if (r->session && !r->ended)
			task_submit(r);
		break;
	default:
		peer_record(&r->peer, kind, in);
	}
	turn(r);
	if (kind & TIME)
		advance(r, LOOP_NS_PER_S / 4);
	if (kind & CLOSE)
		peer_close(&r->peer);
}

void initiator_role_run(const uint8_t *data, size_t size, bool rdma)
{
	struct fuzz_input in = fuzz_input(data, size);
	struct role *r = role_new(fuzz_u8(&in), rdma);

	if (!(r->options & RAW))
		answer_login(r);
	begin_work(r);
	for (unsigned i = 0; in.left && i < RECORDS_MAX; i++)
		record(r, &in);
	role_free(r);
}
