/* Reads and writes from initiator to target and back, every length that means something, compared
 * byte by byte. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/stories.h"

#define BLOCK 512u
#define LARGEST (16u << 20)

struct world {
	struct two_ends *ends;
	struct two_session session;
	uint8_t *out, *in; /* LARGEST bytes each, in one registered range */
	struct dm_region *region;
	uint32_t random;
};

static void fill(struct world *w, uint8_t *p, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		w->random = w->random * 1664525u + 1013904223u;
		p[i] = (uint8_t)(w->random >> 24);
	}
}

static void world_open(struct world *w, const struct two_ends_config *config, bool immediate_data)
{
	struct ini_session_config c;

	*w = (struct world){.ends = two_ends_new(config), .random = 1};
	c = two_session_config(w->ends, TWO_ENDS_IQN);
	c.offer.immediate_data = immediate_data;
	two_session_login(&w->session, w->ends, &c);
	assert_int_equal(w->session.logged_in, 1);
	w->out = calloc(2, LARGEST);
	assert_non_null(w->out);
	w->in = w->out + LARGEST;
	assert_int_equal(
		ini_session_register(w->session.session, w->out, 2 * LARGEST, &w->region), 0);
}

static void world_close(struct world *w)
{
	ini_session_unregister(w->session.session, w->region);
	two_session_end(&w->session);
	two_ends_free(w->ends);
	free(w->out);
}

static void round_trip(struct world *w, uint64_t lba, uint32_t blocks, struct dm_region *region)
{
	struct two_task t;
	size_t length = (size_t)blocks * BLOCK;

	fill(w, w->out, length);
	memset(w->in, 0xa5, length);
	two_task_write(&t, 0, lba, blocks, w->out, region);
	two_task_run(&w->session, &t);
	two_task_read(&t, 0, lba, blocks, w->in, region);
	two_task_run(&w->session, &t);
	assert_int_equal(t.task.received, length);
	assert_int_equal(t.task.residual, 0);
	assert_memory_equal(w->in, w->out, length);
}

static const uint32_t lengths[] = {1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 128, 129, 256, 511, 512,
	1024, 2047, 2048, 2049, 4096, 16384, LARGEST / BLOCK};

static void every_length_to_16_mib(const struct two_ends_config *config)
{
	struct world w;

	world_open(&w, config, true);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		round_trip(&w, i * 3, lengths[i], w.region);
	world_close(&w);
}

static void every_length_without_immediate_data(const struct two_ends_config *config)
{
	struct world w;

	world_open(&w, config, false);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		round_trip(&w, i * 3, lengths[i], w.region);
	world_close(&w);
}

static void target_that_refuses_immediate_data(const struct two_ends_config *config)
{
	struct two_ends_config refusing = *config;
	struct world w;

	refusing.immediate_data = false;
	world_open(&w, &refusing, true);
	round_trip(&w, 5, 8, w.region);
	round_trip(&w, 5, 300, w.region);
	world_close(&w);
}

static void buffers_that_were_not_registered(const struct two_ends_config *config)
{
	struct world w;

	world_open(&w, config, true);
	round_trip(&w, 9, 1, NULL);
	round_trip(&w, 9, 33, NULL);
	round_trip(&w, 9, 4096, NULL);
	world_close(&w);
}

static void no_block_at_all(const struct two_ends_config *config)
{
	struct two_task t;
	struct world w;

	world_open(&w, config, true);
	two_task_read(&t, 0, 100, 0, w.in, w.region);
	two_task_run(&w.session, &t);
	two_task_write(&t, 0, 100, 0, w.out, w.region);
	two_task_run(&w.session, &t);
	world_close(&w);
}

static void beyond_the_last_block(const struct two_ends_config *config)
{
	struct two_task t;
	struct world w;

	world_open(&w, config, true);
	round_trip(&w, (64u << 20) / BLOCK - 8, 8, w.region);
	two_task_read(&t, 0, (64u << 20) / BLOCK - 7, 8, w.in, w.region);
	two_task_submit(&w.session, &t);
	two_task_wait(&w.session, &t);
	assert_int_equal(t.error, 0);
	assert_int_equal(t.task.status, 2);
	assert_int_equal(t.task.sense[2] & 0x0f, 5);
	assert_int_equal(t.task.sense[12], 0x21);
	/* The connection has not suffered. */
	round_trip(&w, 0, 8, w.region);
	world_close(&w);
}

#define MANY 128
#define MANY_BLOCKS 16u

static bool all_done(void *arg)
{
	const struct two_task *t = arg;

	for (unsigned i = 0; i < MANY; i++) {
		if (!t[i].done)
			return false;
	}
	return true;
}

static void many_run(struct world *w, struct two_task *t)
{
	for (unsigned i = 0; i < MANY; i++)
		two_task_submit(&w->session, &t[i]);
	two_ends_until(w->ends, all_done, t);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(t[i].error, 0);
		assert_int_equal(t[i].task.status, 0);
	}
}

static void many_at_once(const struct two_ends_config *config)
{
	static struct two_task t[MANY];
	struct two_task ready;
	struct world w;

	world_open(&w, config, true);
	two_task_ready(&ready, 0);
	two_task_run(&w.session, &ready);
	fill(&w, w.out, MANY * MANY_BLOCKS * BLOCK);
	for (unsigned i = 0; i < MANY; i++)
		two_task_write(&t[i], 0, i * MANY_BLOCKS, MANY_BLOCKS,
			w.out + i * MANY_BLOCKS * BLOCK, w.region);
	many_run(&w, t);
	for (unsigned i = 0; i < MANY; i++)
		two_task_read(&t[i], 0, i * MANY_BLOCKS, MANY_BLOCKS,
			w.in + i * MANY_BLOCKS * BLOCK, w.region);
	many_run(&w, t);
	assert_memory_equal(w.in, w.out, MANY * MANY_BLOCKS * BLOCK);
	world_close(&w);
}

static void in_pieces_of_random_size(const struct two_ends_config *config)
{
	static const uint32_t some[] = {1, 8, 16, 17, 100, 129, 1000};
	struct two_ends_config pieces = *config;
	struct world w;

	pieces.chunking = PIPE_RANDOM;
	for (pieces.seed = 1; pieces.seed <= 3; pieces.seed++) {
		world_open(&w, &pieces, true);
		for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
			round_trip(&w, i, some[i], w.region);
		world_close(&w);
	}
}

static void in_single_bytes(const struct two_ends_config *config)
{
	struct two_ends_config bytes = *config;
	struct world w;

	bytes.chunking = PIPE_BYTES;
	world_open(&w, &bytes, true);
	round_trip(&w, 0, 1, w.region);
	round_trip(&w, 0, 40, w.region);
	world_close(&w);
}

int main(void)
{
	static const struct story stories[] = {
		STORY(every_length_to_16_mib),
		STORY(every_length_without_immediate_data),
		STORY(target_that_refuses_immediate_data),
		STORY(buffers_that_were_not_registered),
		STORY(no_block_at_all),
		STORY(beyond_the_last_block),
		STORY(many_at_once),
		STORY(in_pieces_of_random_size),
		STORY(in_single_bytes),
	};

	return stories_run(stories, sizeof(stories) / sizeof(stories[0]));
}
