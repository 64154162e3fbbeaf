/* The n-th allocation, system call or provider operation fails, for every n until the story passes:
 * the process lives, no task is lost, nothing leaks, the reason is logged, once, and another
 * session of the same process goes on. On a virtual clock. Backends have their own: tests/unit. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/sys.h"
#include "initiator/discovery.h"
#include "tests/kit/busy_story.h"
#include "tests/kit/stories.h"
#include "tests/kit/two_faults.h"

#define NTH_MAX 5000 /* no story asks for more */

/* ---- what was logged in one attempt ---- */

#define LINES_MAX 64

struct lines {
	unsigned count, repeated;
	char text[LINES_MAX][200];
};

static void line_keep(void *arg, enum log_level level, const char *line)
{
	struct lines *l = arg;

	if (getenv("STORIES_LOG"))
		fprintf(stderr, "# %s\n", line);
	if (level > LOG_LEVEL_WARNING)
		return;
	for (unsigned i = 0; i < l->count; i++)
		l->repeated += !strncmp(l->text[i], line, sizeof(l->text[i]) - 1);
	if (l->count < LINES_MAX)
		snprintf(l->text[l->count++], sizeof(l->text[0]), "%s", line);
}

/* ---- the world: a session that must not suffer ---- */

struct world {
	struct two_ends *ends;
	struct two_session witness;
	unsigned long live;
	struct lines lines;
	uint8_t generation;
	unsigned hit; /* attempts in which the failure came */
};

/* What shall fail. */
struct trouble {
	void (*arm)(struct world *w, unsigned long n, int error); /* n = 0: nothing any more */
	bool (*happened)(struct world *w);
	int error;
};

static void witness_works(struct world *w)
{
	struct two_task t;

	two_task_ready(&t, 0);
	two_task_run(&w->witness, &t);
	assert_int_equal(w->witness.lost, 0);
}

static void world_open(struct world *w, const struct two_ends_config *config)
{
	struct two_ends_config c = *config;
	struct ini_session_config s;

	c.shallow = true;
	c.direct = true;
	memset(w, 0, sizeof(*w));
	w->ends = two_ends_new(&c);
	s = two_session_config(w->ends, TWO_ENDS_IQN);
	s.isid.bytes[5] = 77;
	two_session_login(&w->witness, w->ends, &s);
	assert_int_equal(w->witness.logged_in, 1);
	witness_works(w);
	log_set_sink(line_keep, &w->lines);
}

static void world_close(struct world *w)
{
	two_session_end(&w->witness);
	two_ends_free(w->ends);
	log_set_sink(NULL, NULL);
}

static struct ini_session_config configuration(struct world *w, unsigned long n)
{
	struct ini_session_config c = two_session_config(w->ends, TWO_ENDS_IQN);

	c.login_attempts = 2;
	c.offer.immediate_data = n & 1;
	return c;
}

static bool is_decided(void *arg)
{
	struct two_session *s = arg;

	return s->logged_in || s->ended;
}

static void tell(struct world *w, unsigned long n, const char *what)
{
	two_ends_provider_fail_nth(w->ends, 0);
	sys_fail_nth(0, 0);
	alloc_fail_nth(0);
	for (unsigned i = 0; i < w->lines.count; i++)
		fprintf(stderr, "# %s\n", w->lines.text[i]);
	fail_msg("n = %lu: %s", n, what);
}

/* Login, the busy story, logout, with the n-th failing. False once the story passed untouched. */
static bool be_busy(struct world *w, const struct trouble *t, unsigned long n)
{
	struct ini_session_config c = configuration(w, n);
	bool happened, submitted = false;
	struct busy b;

	busy_init(&b, w->ends, ++w->generation);
	w->lines.count = w->lines.repeated = 0;
	t->arm(w, n, t->error);
	if (two_session_try(&b.session, w->ends, &c) == 0) {
		two_ends_until(w->ends, is_decided, &b.session);
		submitted = !b.session.ended;
	}
	if (submitted) {
		busy_submit(&b, true);
		busy_wait(&b);
	}
	if (b.session.session && !b.session.ended)
		ini_session_logout(b.session.session);
	if (b.session.session)
		two_session_end(&b.session);
	two_ends_rest(w->ends, 1);
	happened = t->happened(w);
	t->arm(w, 0, 0);
	if (submitted)
		busy_check(&b);
	if (b.session.unexplained)
		tell(w, n, "a session suffered, and nobody was told why");
	if (w->lines.repeated)
		tell(w, n, "a line was logged twice");
	busy_free(&b);
	witness_works(w);
	w->hit += happened;
	return happened;
}

/* ---- the other story: a discovery ---- */

struct found {
	unsigned told;
	int error;
	size_t count;
};

static void discovery_told(void *owner, const struct discovery_result *result)
{
	struct found *f = owner;

	f->told++;
	f->error = result->error;
	f->count = result->count;
}

static bool is_found(void *arg)
{
	return ((struct found *)arg)->told > 0;
}

static bool discover(struct world *w, const struct trouble *t, unsigned long n)
{
	struct discovery_config c = {
		.loop = two_ends_loop(w->ends),
		.mover = two_ends_initiator_mover(w->ends),
		.portal = two_session_config(w->ends, TWO_ENDS_IQN).portal,
		.initiator_name = TWO_ENDS_INITIATOR,
		.login_timeout_ns = 5 * LOOP_NS_PER_S,
	};
	struct discovery *d;
	struct found f = {0};
	bool happened;

	w->lines.count = w->lines.repeated = 0;
	t->arm(w, n, t->error);
	if (discovery_start(&c, discovery_told, &f, &d) == 0) {
		two_ends_until(w->ends, is_found, &f);
		if (f.error == 0 && f.count != 2)
			tell(w, n,
				"a discovery found less than there is, and said that it went well");
	}
	two_ends_rest(w->ends, 1);
	happened = t->happened(w);
	t->arm(w, 0, 0);
	if (f.told > 1)
		tell(w, n, "a discovery was told twice");
	if (w->lines.repeated)
		tell(w, n, "a line was logged twice");
	witness_works(w);
	return happened;
}

typedef bool story_attempt(struct world *w, const struct trouble *t, unsigned long n);

static void every_nth_of(const struct two_ends_config *config, const struct trouble *t,
	unsigned least, story_attempt *attempt)
{
	struct trouble none = *t;
	struct world w;
	unsigned long n = 1;

	world_open(&w, config);
	none.error = 0;
	attempt(&w, &none, NTH_MAX);
	attempt(&w, &none, NTH_MAX);
	w.live = two_ends_rest(w.ends, 1);
	while (attempt(&w, t, n)) {
		if (two_ends_rest(w.ends, 1) != w.live)
			tell(&w, n, "memory is left");
		assert_true(n++ < NTH_MAX);
	}
	assert_true(n > least);
	if (getenv("STORIES_LOG"))
		fprintf(stderr, "# %lu failed in turn\n", n - 1);
	world_close(&w);
}

static void every_nth(const struct two_ends_config *config, const struct trouble *t, unsigned least)
{
	every_nth_of(config, t, least, be_busy);
	every_nth_of(config, t, least / 2, discover);
}

/* ---- allocations ---- */

static unsigned long asked_before; /* one story at a time */
static unsigned long asked_nth;

static void alloc_arm(struct world *w, unsigned long n, int error)
{
	(void)w;
	(void)error;
	asked_before = alloc_asked();
	asked_nth = n;
	alloc_fail_nth(n);
}

static bool alloc_happened(struct world *w)
{
	(void)w;
	return alloc_asked() - asked_before >= asked_nth;
}

static void every_allocation_fails(const struct two_ends_config *config)
{
	const struct trouble t = {alloc_arm, alloc_happened, ENOMEM};

	every_nth(config, &t, 10);
}

/* ---- system calls ---- */

static void sys_arm(struct world *w, unsigned long n, int error)
{
	(void)w;
	sys_fail_nth(n, error);
}

static bool sys_happened(struct world *w)
{
	(void)w;
	return sys_fail_happened();
}

static void every_call_fails_with(const struct two_ends_config *config, int error)
{
	const struct trouble t = {sys_arm, sys_happened, error};

	every_nth(config, &t, 10);
}

static void every_call_is_interrupted(const struct two_ends_config *config)
{
	every_call_fails_with(config, EINTR);
}

static void every_call_would_block(const struct two_ends_config *config)
{
	every_call_fails_with(config, EAGAIN);
}

static void every_call_has_no_memory(const struct two_ends_config *config)
{
	every_call_fails_with(config, ENOMEM);
}

static void every_call_has_an_io_error(const struct two_ends_config *config)
{
	every_call_fails_with(config, EIO);
}

static void every_call_has_no_space(const struct two_ends_config *config)
{
	every_call_fails_with(config, ENOSPC);
}

static void every_call_finds_the_connection_reset(const struct two_ends_config *config)
{
	every_call_fails_with(config, ECONNRESET);
}

static void every_call_is_short(const struct two_ends_config *config)
{
	every_call_fails_with(config, SYS_SHORT);
}

/* ---- provider operations ---- */

static unsigned long provider_nth;

static void provider_arm(struct world *w, unsigned long n, int error)
{
	(void)error;
	provider_nth = n;
	two_ends_provider_fail_nth(w->ends, n);
}

static bool provider_happened(struct world *w)
{
	return two_ends_provider_asked(w->ends) >= provider_nth;
}

static void every_provider_operation_fails(const struct two_ends_config *config)
{
	const struct trouble t = {provider_arm, provider_happened, 0};

	if (config->mover > TWO_ENDS_TCP_DIGESTS)
		every_nth(config, &t, 50);
}

int main(void)
{
	static const struct story stories[] = {
		STORY(every_allocation_fails),
		STREAM_STORY(every_call_is_interrupted),
		STREAM_STORY(every_call_would_block),
		STREAM_STORY(every_call_has_no_memory),
		STREAM_STORY(every_call_has_an_io_error),
		STREAM_STORY(every_call_has_no_space),
		STREAM_STORY(every_call_finds_the_connection_reset),
		STREAM_STORY(every_call_is_short),
		STORY(every_provider_operation_fails),
	};

	return stories_run(stories, sizeof(stories) / sizeof(stories[0]));
}
