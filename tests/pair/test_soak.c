/* Many writes and reads at a time, at random places of random lengths, while the connection is cut
 * again and again at random moments: after every round the content is what was acknowledged. Each
 * slot of the medium has one writer at a time, so that what must be there is known. */
#include <stdlib.h>
#include <string.h>

#include "tests/kit/stories.h"

#define SLOTS 24u
#define SLOT_BLOCKS 512u
#define BLOCK 512u
#define ROUNDS 40u
#define CUTS 8u
#define TURNS 300u /* of the loop before a cut: fewer than a round takes over a stream */

struct slot {
	struct two_task task;
	uint8_t *data, *back; /* what the slot of the medium should hold; what it does */
	uint16_t lun;
	uint64_t lba;
	uint32_t from, blocks; /* of the I/O under way */
	bool writes;
};

struct soak {
	struct two_ends *ends;
	struct two_session session;
	struct slot slots[SLOTS];
	uint8_t *memory;
	struct dm_region *region;
	uint32_t random;
};

static uint32_t random_below(struct soak *k, uint32_t n)
{
	k->random = k->random * 1664525u + 1013904223u;
	return (k->random >> 8) % n;
}

static void soak_open(struct soak *k, const struct two_ends_config *config)
{
	struct ini_session_config c;
	size_t size = 2 * SLOTS * SLOT_BLOCKS * BLOCK;

	*k = (struct soak){.ends = two_ends_new(config), .random = config->seed + 1};
	c = two_session_config(k->ends, TWO_ENDS_IQN);
	two_session_login(&k->session, k->ends, &c);
	k->memory = calloc(1, size);
	assert_non_null(k->memory);
	assert_int_equal(ini_session_register(k->session.session, k->memory, size, &k->region), 0);
	for (uint32_t i = 0; i < SLOTS; i++) {
		k->slots[i].data = k->memory + (size_t)i * 2 * SLOT_BLOCKS * BLOCK;
		k->slots[i].back = k->slots[i].data + SLOT_BLOCKS * BLOCK;
		k->slots[i].lun = i & 1; /* the slow one has a middle over every mover */
		k->slots[i].lba = i * SLOT_BLOCKS;
	}
}

static void slot_start(struct soak *k, struct slot *s)
{
	struct dm_region *region = random_below(k, 4) ? k->region : NULL;
	uint8_t *data;

	s->blocks = 1 + random_below(k, random_below(k, 2) ? 16 : SLOT_BLOCKS);
	s->from = random_below(k, SLOT_BLOCKS - s->blocks + 1);
	s->writes = random_below(k, 2);
	data = (s->writes ? s->data : s->back) + s->from * BLOCK;
	if (s->writes) {
		for (uint32_t i = 0; i < s->blocks * BLOCK; i += 4)
			memcpy(data + i, &(uint32_t){random_below(k, 1u << 24)}, 4);
		two_task_write(&s->task, s->lun, s->lba + s->from, s->blocks, data, region);
	} else {
		memset(data, 0x5a, s->blocks * BLOCK);
		two_task_read(&s->task, s->lun, s->lba + s->from, s->blocks, data, region);
	}
	two_task_submit(&k->session, &s->task);
}

static bool round_is_over(void *arg)
{
	struct soak *k = arg;

	for (uint32_t i = 0; i < SLOTS; i++) {
		if (!k->slots[i].task.done)
			return false;
	}
	return true;
}

static void slot_verify(const struct slot *s)
{
	assert_int_equal(s->task.error, 0);
	assert_int_equal(s->task.task.status, 0);
	if (!s->writes)
		assert_memory_equal(
			s->back + s->from * BLOCK, s->data + s->from * BLOCK, s->blocks * BLOCK);
}

/* Either what moves is in the middle, or what the slow LUN has been asked for. */
static void wait_and_cut(struct soak *k)
{
	if (random_below(k, 2))
		two_ends_turn_for(k->ends, random_below(k, 2 * TWO_ENDS_SLOW_NS));
	else
		for (uint32_t turns = random_below(k, TURNS); turns; turns--)
			loop_turn(two_ends_loop(k->ends), 0);
	two_ends_cut(k->ends);
}

static void round_run(struct soak *k, bool cut)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		slot_start(k, &k->slots[i]);
	if (cut)
		wait_and_cut(k);
	two_ends_until(k->ends, round_is_over, k);
	for (uint32_t i = 0; i < SLOTS; i++)
		slot_verify(&k->slots[i]);
}

static void content_survives_random_cuts(const struct two_ends_config *config)
{
	struct two_ends_config pieces = *config;
	struct soak k;

	pieces.chunking = PIPE_RANDOM;
	pieces.seed = (uint32_t)config->mover;
	soak_open(&k, &pieces);
	for (uint32_t i = 0; i < ROUNDS; i++)
		round_run(&k, i % (ROUNDS / CUTS) == 3);
	assert_true(k.session.logged_in > 1);
	ini_session_unregister(k.session.session, k.region);
	two_session_end(&k.session);
	two_ends_free(k.ends);
	free(k.memory);
}

int main(void)
{
	static const struct story stories[] = {
		STORY(content_survives_random_cuts),
	};

	return stories_run(stories, sizeof(stories) / sizeof(stories[0]));
}
