/* Every chunking, every order, every loss (RFC 7143 section 7.5, error recovery level 0): streams
 * in single bytes and in random pieces, messages of both directions in every order, connections
 * lost behind every byte of a login, of a READ and of a WRITE, and behind every message of a busy
 * story. After each nothing is left, no task is lost or told twice, no buffer is touched once its
 * task was told. On a virtual clock. SEED=n chooses what is random (it is printed), STRESS=1 does
 * more of it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/alloc.h"
#include "tests/kit/busy_story.h"
#include "tests/kit/stories.h"
#include "tests/kit/two_faults.h"

static uint32_t seed_chosen(void)
{
	const char *text = getenv("SEED");

	return text ? (uint32_t)strtoul(text, NULL, 0) : 1;
}

static unsigned seeds_wanted(void)
{
	return getenv("STRESS") ? 1000 : 12;
}

/* ---- a run: log in, be busy, log out ---- */

struct run {
	struct two_ends *ends;
	bool resets, immediate_data;
	uint8_t generation;
	unsigned good;	      /* tasks that were told GOOD */
	uint64_t messages[2]; /* of the last connection */
	uint64_t bytes;
};

static struct ini_session_config run_config(const struct run *r)
{
	struct ini_session_config c = two_session_config(r->ends, TWO_ENDS_IQN);

	c.offer.immediate_data = r->immediate_data;
	return c;
}

static void run_once(struct run *r)
{
	struct ini_session_config c = run_config(r);
	struct busy b;

	busy_init(&b, r->ends, ++r->generation);
	two_session_login(&b.session, r->ends, &c);
	if (b.session.ended) {
		busy_free(&b);
		two_session_end(&b.session);
		return;
	}
	busy_submit(&b, r->resets);
	busy_wait(&b);
	r->messages[0] = two_ends_messages(r->ends, 0);
	r->messages[1] = two_ends_messages(r->ends, 1);
	r->bytes = two_ends_bytes(r->ends);
	two_session_end(&b.session);
	two_ends_rest(r->ends, 0);
	busy_check(&b);
	r->good = busy_good(&b);
	busy_free(&b);
}

static struct two_ends *ends_new(
	const struct two_ends_config *config, enum pipe_chunking chunking, uint32_t seed)
{
	struct two_ends_config c = *config;

	c.shallow = true;
	c.chunking = chunking;
	c.seed = seed;
	return two_ends_new(&c);
}

/* ---- chunkings and orders ---- */

static void run_all(struct run *r)
{
	for (unsigned variant = 0; variant < 4; variant++) {
		r->resets = variant & 1;
		r->immediate_data = variant & 2;
		run_once(r);
		assert_true(r->good >= BUSY_TASKS - 1); /* but for the one that was aborted */
	}
}

static void busy_at_once(const struct two_ends_config *config)
{
	struct run r = {.ends = ends_new(config, PIPE_WHOLE, 0)};

	run_all(&r);
	two_ends_free(r.ends);
}

static void busy_in_single_bytes(const struct two_ends_config *config)
{
	struct run r = {.immediate_data = true};

	r.ends = ends_new(config, PIPE_BYTES, 0);
	run_once(&r);
	assert_int_equal(r.good, BUSY_TASKS);
	two_ends_free(r.ends);
}

static void busy_seeded(const struct two_ends_config *config, enum pipe_chunking chunking)
{
	struct run r = {0};

	for (uint32_t i = 0; i < seeds_wanted(); i++) {
		r.ends = ends_new(config, chunking, seed_chosen() + i * 1000);
		run_all(&r);
		two_ends_free(r.ends);
	}
}

static void busy_in_random_pieces(const struct two_ends_config *config)
{
	busy_seeded(config, PIPE_RANDOM);
}

static void busy_with_messages_in_random_order(const struct two_ends_config *config)
{
	busy_seeded(config, PIPE_MESSAGES);
}

/* One direction stands still behind each of its messages until all else has happened. */
static void busy_with_each_way_held_at_every_message(const struct two_ends_config *config)
{
	struct run r = {.ends = ends_new(config, PIPE_WHOLE, 0), .immediate_data = true};

	for (unsigned way = 0; way < 2; way++) {
		struct pipe_plan plan = {.stall_way = way};
		uint64_t count;

		two_ends_plan(r.ends, &plan);
		run_once(&r);
		count = r.messages[way];
		assert_true(count > 10);
		for (uint64_t n = 1; n <= count; n++) {
			plan.stall_messages = n;
			r.resets = n & 1;
			two_ends_plan(r.ends, &plan);
			run_once(&r);
			assert_true(r.good >= BUSY_TASKS - 1);
		}
	}
	two_ends_free(r.ends);
}

/* ---- losses ---- */

static void lost_behind_every_message(const struct two_ends_config *config)
{
	struct run r = {.ends = ends_new(config, PIPE_WHOLE, 0), .resets = true};
	struct pipe_plan plan = {0};
	unsigned long live;
	uint64_t count;

	two_ends_plan(r.ends, &plan);
	run_once(&r);
	count = r.messages[0] + r.messages[1];
	assert_true(count > 30);
	run_once(&r);
	live = two_ends_rest(r.ends, 0);
	for (uint64_t n = 1; n <= count; n++) {
		plan.cut_messages = n;
		r.immediate_data = n & 1;
		two_ends_plan(r.ends, &plan);
		run_once(&r);
		assert_true(r.good >= BUSY_TASKS - 1);
		assert_int_equal(two_ends_rest(r.ends, 0), live);
	}
	two_ends_free(r.ends);
}

/* CHAP_I of both ends is random, and has 1 to 3 digits. */
#define LOGIN_VARIES 8

/* One attempt: the login goes well, or it ends with a reason. */
static bool login_once(struct two_ends *e, uint64_t cut, uint64_t *ret_bytes)
{
	const struct pipe_plan plan = {.cut_bytes = cut};
	struct ini_session_config c = two_session_config(e, TWO_ENDS_CHAP_IQN);
	struct two_session s;
	bool logged_in;

	c.auth = (struct login_auth){
		.chap_required = true,
		.name = TWO_ENDS_NAME,
		.secret = TWO_ENDS_SECRET,
		.mutual_name = TWO_ENDS_MUTUAL_NAME,
		.mutual_secret = TWO_ENDS_MUTUAL_SECRET,
	};
	c.login_attempts = 1;
	two_ends_plan(e, &plan);
	two_session_login(&s, e, &c);
	*ret_bytes = two_ends_bytes(e);
	logged_in = s.logged_in;
	if (!logged_in) {
		assert_true(s.error < 0);
		assert_true(s.why[0] != '\0');
	}
	two_session_end(&s);
	assert_int_equal(s.ended, 1);
	return logged_in;
}

static void lost_behind_every_byte_of_a_login(const struct two_ends_config *config)
{
	struct two_ends *e;
	unsigned long live;
	uint64_t count, bytes;

	e = ends_new(config, PIPE_WHOLE, 0);
	assert_true(login_once(e, 0, &count));
	live = two_ends_rest(e, 0);
	for (uint64_t n = 1; n <= count; n++) {
		bool logged_in = login_once(e, n, &bytes);

		assert_true(!logged_in || n + LOGIN_VARIES >= count);
		assert_int_equal(two_ends_rest(e, 0), live);
	}
	two_ends_free(e);
}

/* A READ and a WRITE of one block; the session comes back and repeats what was lost. */
static void io_once(struct two_ends *e, uint64_t cut, bool immediate_data, uint64_t ret_bytes[2])
{
	const struct pipe_plan plan = {.cut_bytes = cut};
	struct ini_session_config c = two_session_config(e, TWO_ENDS_IQN);
	struct two_session s;
	struct two_task t;
	uint8_t out[512], in[512];

	for (size_t i = 0; i < sizeof(out); i++) {
		out[i] = (uint8_t)(i * 3 + cut);
		in[i] = 0;
	}
	c.offer.immediate_data = immediate_data;
	two_ends_plan(e, &plan);
	two_session_login(&s, e, &c);
	assert_int_equal(s.logged_in, 1);
	ret_bytes[0] = two_ends_bytes(e);
	two_task_write(&t, 0, 77, 1, out, NULL);
	two_task_run(&s, &t);
	two_task_read(&t, 0, 77, 1, in, NULL);
	two_task_run(&s, &t);
	ret_bytes[1] = two_ends_bytes(e);
	assert_memory_equal(in, out, sizeof(in));
	two_session_end(&s);
	assert_int_equal(s.ended, 1);
}

static bool checksums(const struct two_ends_config *config)
{
	return config->mover == TWO_ENDS_TCP_DIGESTS ||
	       config->mover == TWO_ENDS_ISER_SOFTIWARP_CRC;
}

static void lost_behind_every_byte_of_io(const struct two_ends_config *config)
{
	struct two_ends *e;
	unsigned long live;

	e = ends_new(config, PIPE_WHOLE, 0);
	/* Checksums are under way alike, with and without. */
	for (unsigned immediate = checksums(config); immediate < 2; immediate++) {
		uint64_t bytes[2], unused[2];

		io_once(e, 0, immediate, bytes);
		assert_true(bytes[1] > bytes[0] + 1024);
		two_ends_rest(e, 0);
		io_once(e, 0, immediate, bytes);
		live = two_ends_rest(e, 0);
		for (uint64_t n = bytes[0]; n <= bytes[1]; n++) {
			io_once(e, n, immediate, unused);
			assert_int_equal(two_ends_rest(e, 0), live);
		}
	}
	two_ends_free(e);
}

int main(void)
{
	static const struct story stories[] = {
		STORY(busy_at_once),
		STREAM_STORY(busy_in_single_bytes),
		STREAM_STORY(busy_in_random_pieces),
		STREAM_STORY(busy_with_messages_in_random_order),
		STORY(busy_with_each_way_held_at_every_message),
		STORY(lost_behind_every_message),
		STREAM_STORY(lost_behind_every_byte_of_a_login),
		STREAM_STORY(lost_behind_every_byte_of_io),
	};

	printf("# SEED=%u\n", seed_chosen());
	return stories_run(stories, sizeof(stories) / sizeof(stories[0]));
}
