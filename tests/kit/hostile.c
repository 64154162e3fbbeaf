/* See hostile.h: worlds, connections, rows and their page. */
#include "tests/kit/hostile.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/datamover/tcp.h"
#include "common/rdma/softiwarp.h"
#include "tests/kit/two_ends_internal.h"
#include "tests/kit/two_faults.h"

#define PAGE "docs/hostile-peers.md"
#define TURNS 20000 /* of the loop until it must come to rest */
#define MOVERS 3

/* A target and an initiator that know each other, in which the rows of one mover are played. The
 * bystander is a session between the two that must not notice. */
struct world {
	struct two_ends *ends;
	struct two_session bystander;
	unsigned long live;
	bool in_use; /* a row failed in it: it is left alone */
	bool open;   /* the initiator may connect to the target */
	struct hostile *awaiting;
	__typeof__(((struct dm_ops *)0)->connect) dm_connect;
	__typeof__(((struct rdma_ops *)0)->connect) rdma_connect;
};

struct test_case {
	const struct hostile_row *row;
	enum two_ends_mover mover;
	bool target;
	struct world *world;
	char name[240];
};

static struct world *present; /* whose row is played */

/* ---- connections ---- */

static int pair(int ends[2])
{
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
	return 0;
}

/* The initiator's end of a new pair for the peer that is awaited; -1: nobody is. */
static int awaited(void)
{
	struct hostile *h = present->awaiting;
	int ends[2];

	if (!h)
		return -1;
	present->awaiting = NULL;
	pair(ends);
	h->fd = ends[0];
	return ends[1];
}

static int tcp_connect(struct dm_mover *m, const struct address *to, uint64_t timeout_ns,
	const struct dm_upcalls *up, void *owner, struct dm_conn **ret)
{
	int fd;

	if (present->open)
		return present->dm_connect(m, to, timeout_ns, up, owner, ret);
	fd = awaited();
	return fd < 0 ? -ECONNREFUSED : tcp_mover_adopt_active(m, fd, up, owner, ret);
}

static int iser_connect(struct rdma_provider *p, const struct address *to, uint64_t timeout_ns,
	const struct rdma_conn_limits *limits, const struct rdma_private_data *pd,
	const struct rdma_conn_upcalls *up, void *owner, struct rdma_conn **ret)
{
	int fd, r;

	if (present->open)
		return present->rdma_connect(p, to, timeout_ns, limits, pd, up, owner, ret);
	fd = awaited();
	if (fd < 0)
		return -ECONNREFUSED;
	r = softiwarp_connect_fd(p, fd, timeout_ns, limits, pd, up, owner, ret);
	if (r == 0)
		two_ends_cover_conn(present->ends, *ret);
	return r;
}

static struct hostile *peer_new(struct two_ends *ends, const struct hostile_row *row, bool target)
{
	struct hostile *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	h->ends = ends;
	h->row = row;
	h->fd = -1;
	h->rdma = ends->config.mover >= TWO_ENDS_ISER_MEMORY;
	h->crc = ends->config.mover == TWO_ENDS_ISER_SOFTIWARP_CRC;
	h->target = target;
	return h;
}

void hostile_close(struct hostile *h)
{
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
}

void hostile_reconnect(struct hostile *h)
{
	struct two_ends *e = h->ends;
	int ends[2];

	hostile_close(h);
	h->used = 0;
	h->mpa_done = h->closed = false;
	h->cmd_sn = h->stat_sn = h->send_msn = h->read_msn = 1;
	h->exp_stat_sn = 0;
	h->advertise = (struct iser_header){.opcode = ISER_CONTROL};
	pair(ends);
	h->fd = ends[0];
	if (h->rdma)
		assert_int_equal(
			softiwarp_adopt(e->target_provider, ends[1], &e->hooked_acceptor), 0);
	else
		assert_int_equal(tcp_mover_adopt(e->target, ends[1], &e->acceptor.base), 0);
	hostile_settle(h);
}

struct hostile *hostile_another(struct hostile *h)
{
	struct hostile *other = peer_new(h->ends, h->row, h->target);

	if (!other->target)
		hostile_reconnect(other);
	return other;
}

struct ini_session_config hostile_config(struct hostile *h)
{
	struct ini_session_config c = two_session_config(h->ends, HOSTILE_NAME);

	c.login_attempts = 1;
	return c;
}

void hostile_expect(struct hostile *h)
{
	h->cmd_sn = h->stat_sn = h->send_msn = h->read_msn = 1;
	present->awaiting = h;
}

void hostile_await(struct hostile *h, const struct ini_session_config *config)
{
	hostile_expect(h);
	two_session_start(&h->session, h->ends, config);
	hostile_settle(h);
	assert_true(h->fd >= 0);
}

static bool session_is_over(void *arg)
{
	return ((struct hostile *)arg)->session.ended > 0;
}

void hostile_free(struct hostile *h)
{
	hostile_close(h);
	if (h->session.session) {
		ini_session_close(h->session.session);
		two_ends_until(h->ends, session_is_over, h);
		ini_session_free(h->session.session);
	}
	free(h->in);
	free(h->memory);
	free(h);
}

/* ---- turning ---- */

void hostile_settle(struct hostile *h)
{
	struct loop *l = two_ends_loop(h->ends);

	for (unsigned i = 0; loop_turn(l, 0); i++) {
		if (i > TURNS)
			fail_msg("the loop does not come to rest");
		hostile_listen(h);
	}
	hostile_listen(h);
	loop_turn(l, 0);
	hostile_listen(h);
}

/* In steps that leave others time to answer their pings. */
void hostile_wait(struct hostile *h, uint64_t ns)
{
	while (ns) {
		uint64_t step = min_u64(ns, LOOP_NS_PER_S);

		loop_advance(two_ends_loop(h->ends), step);
		hostile_settle(h);
		ns -= step;
	}
}

/* ---- worlds ---- */

static void world_open(struct world *w, enum two_ends_mover mover)
{
	const struct two_ends_config config = {
		.mover = mover, .immediate_data = true, .shallow = true, .direct = true};
	struct ini_session_config c;
	struct two_task ready;

	w->ends = two_ends_new(&config);
	w->dm_connect = w->ends->hook.dm.connect;
	w->rdma_connect = w->ends->connect;
	w->ends->hook.dm.connect = tcp_connect;
	w->ends->connect = iser_connect;
	present = w;
	w->open = true;
	c = two_session_config(w->ends, TWO_ENDS_IQN);
	two_session_login(&w->bystander, w->ends, &c);
	assert_int_equal(w->bystander.logged_in, 1);
	w->open = false;
	two_task_ready(&ready, 0);
	two_task_run(&w->bystander, &ready);
	w->live = two_ends_rest(w->ends, 1);
}

/* The bystander's session is what it was, and nothing else is there. What a pool has grown by may
 * stay, but not grow again. */
static bool world_check(struct world *w, bool may_grow)
{
	struct two_task ready;
	unsigned long live = two_ends_rest(w->ends, 1);

	two_task_ready(&ready, 0);
	two_task_run(&w->bystander, &ready);
	assert_int_equal(w->bystander.lost, 0);
	if (live == w->live)
		return true;
	if (!may_grow)
		assert_int_equal(live, w->live);
	w->live = live;
	return false;
}

static void world_close(struct world *w)
{
	if (!w->ends || w->in_use)
		return;
	present = w;
	two_session_end(&w->bystander);
	two_ends_free(w->ends);
	w->ends = NULL;
}

/* The last one first: each counts what lives besides. */
static void worlds_close(void **state)
{
	struct world *worlds = *state;

	for (size_t i = MOVERS; i > 0; i--)
		world_close(&worlds[i - 1]);
}

/* ---- rows ---- */

static void say_session(struct hostile *h)
{
	if (h->quiet || (!h->session.ended && !h->session.lost))
		return;
	hostile_say(h, h->session.error ? strerrorname_np(-h->session.error) : "no error");
}

static void row_play(const struct test_case *c, unsigned turn)
{
	struct hostile *h = peer_new(c->world->ends, c->row, !c->target);

	h->turn = turn;
	if (c->target)
		hostile_reconnect(h);
	c->row->play(h);
	if (h->fd >= 0)
		hostile_settle(h);
	say_session(h);
	if (strcmp(hostile_heard(h), c->row->answer) != 0)
		fail_msg("turn %u: heard \"%s\", not \"%s\"", turn, hostile_heard(h),
			c->row->answer);
	hostile_free(h);
}

static void row_run(void **state)
{
	struct test_case *c = *state;
	struct world *w = c->world;
	unsigned times = c->row->times ? c->row->times : 1;

	if (w->in_use)
		*w = (struct world){0};
	if (!w->ends)
		world_open(w, c->mover);
	present = w;
	w->in_use = true;
	for (unsigned i = 0; i < times; i++) {
		row_play(c, i);
		if (!world_check(w, true)) {
			row_play(c, i);
			world_check(w, false);
		}
	}
	w->in_use = false;
}

/* ---- the page ---- */

static const struct {
	enum hostile_movers bit;
	enum two_ends_mover mover;
	const char *name;
} movers[MOVERS] = {
	{HOSTILE_TCP, TWO_ENDS_TCP, "TCP"},
	{HOSTILE_ISER, TWO_ENDS_ISER_SOFTIWARP, "iSER"},
	{HOSTILE_ISER_CRC, TWO_ENDS_ISER_SOFTIWARP_CRC, "iSER with CRC"},
};

static void row_print(FILE *to, const struct hostile_row *row)
{
	const char *comma = "";

	fprintf(to, "| %s | %s | %s | ", row->phase, row->input, row->answer);
	for (size_t i = 0; i < ARRAY_SIZE(movers); i++) {
		if (!(row->movers & movers[i].bit))
			continue;
		fprintf(to, "%s%s", comma, movers[i].name);
		comma = ", ";
	}
	fprintf(to, " | %s |\n", row->section);
}

static void page_print(FILE *to, const char *title, const struct hostile_row *rows, size_t count)
{
	fprintf(to,
		"## %s\n\n| Phase | What the peer does | What it hears | Over | Where it says so "
		"|\n"
		"|---|---|---|---|---|\n",
		title);
	for (size_t i = 0; i < count; i++)
		row_print(to, &rows[i]);
	fputc('\n', to);
}

struct page {
	const char *title;
	const struct hostile_row *rows;
	size_t count;
};

static void page_agrees(void **state)
{
	const struct page *p = *state;
	static char whole[512 * 1024];
	char *expected;
	size_t size, n;
	FILE *to = open_memstream(&expected, &size), *from = fopen(PAGE, "r");

	page_print(to, p->title, p->rows, p->count);
	fclose(to);
	expected[size - 1] = '\0'; /* the blank line behind it is missing at the end of the page */
	if (!from)
		fail_msg("there is no " PAGE ": run this in the top directory");
	n = fread(whole, 1, sizeof(whole) - 1, from);
	whole[n] = '\0';
	fclose(from);
	if (!strstr(whole, expected))
		fail_msg("\"%s\" differs in " PAGE ": make it anew by tests/hostile-page.sh",
			p->title);
	free(expected);
}

/* ---- the program ---- */

static void hush(void *arg, enum log_level level, const char *line)
{
	(void)arg, (void)level;
	if (getenv("STORIES_LOG"))
		fprintf(stderr, "%s\n", line);
}

static size_t cases_make(struct test_case *cases, struct CMUnitTest *tests, struct world *worlds,
	bool target, const struct hostile_row *rows, size_t count)
{
	const char *only = getenv("HOSTILE_ONLY");
	size_t n = 0;

	for (size_t m = 0; m < ARRAY_SIZE(movers); m++) {
		for (size_t i = 0; i < count; i++) {
			struct test_case *c = &cases[n];

			if (!(rows[i].movers & movers[m].bit))
				continue;
			*c = (struct test_case){&rows[i], movers[m].mover, target, &worlds[m], ""};
			snprintf(c->name, sizeof(c->name), "%s: %s, over %s", rows[i].phase,
				rows[i].input, movers[m].name);
			if (only && !strstr(c->name, only))
				continue;
			tests[n++] = (struct CMUnitTest){c->name, row_run, NULL, NULL, c};
		}
	}
	return n;
}

int hostile_run(const char *title, bool target, const struct hostile_row *rows, size_t count)
{
	static struct world worlds[MOVERS];
	struct page page = {title, rows, count};
	size_t n, most = count * ARRAY_SIZE(movers);
	struct test_case *cases;
	struct CMUnitTest *tests;
	int failed;

	if (getenv("HOSTILE_PAGE")) {
		page_print(stdout, title, rows, count);
		return 0;
	}
	cases = calloc(most, sizeof(*cases));
	tests = calloc(most + 2, sizeof(*tests));
	if (!cases || !tests)
		return 1;
	log_set_sink(hush, NULL);
	n = cases_make(cases, tests, worlds, target, rows, count);
	tests[n++] = (struct CMUnitTest){"nothing is left", worlds_close, NULL, NULL, worlds};
	tests[n++] = (struct CMUnitTest){
		"the page of hostile peers agrees", page_agrees, NULL, NULL, &page};
	failed = _cmocka_run_group_tests(title, tests, n, NULL, NULL);
	free(tests);
	free(cases);
	return failed;
}
