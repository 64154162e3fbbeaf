/* See busy_story.h. */
#include "tests/kit/busy_story.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "target/backend/backend.h"
#include "target/target_set.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define forbid(p, size) __asan_poison_memory_region(p, size)
#define permit(p, size) __asan_unpoison_memory_region(p, size)
#else
#define forbid(p, size) ((void)(p), (void)(size))
#define permit(p, size) ((void)(p), (void)(size))
#endif

#define BLOCK 512u
#define POISON 0xee
#define WRITTEN_BLOCKS 128u /* of LUN 0: what tasks write lies below */
#define READ_FROM 1000u	    /* what they read lies from here on */
#define GENERATION_READ 0
#define ABORTED_TASK 8u

enum kind {
	READS,
	WRITES,
	NO_DATA,
};

static const struct row {
	enum kind kind;
	uint16_t lun;
	uint32_t lba, blocks;
} rows[BUSY_TASKS] = {
	{WRITES, 0, 0, 1},
	{READS, 0, READ_FROM, 1},
	{WRITES, 0, 10, 40},
	{READS, 0, READ_FROM + 100, 40},
	{WRITES, 1, 0, 3},
	{READS, 1, 100, 3},
	{NO_DATA, 0, 0, 0},
	{READS, 0, READ_FROM + 200, 8},
	{READS, 1, 200, 2},
	{WRITES, 0, 60, 2},
};

/* What block `lba` holds; never POISON. */
static uint8_t content(uint32_t lba, size_t at, uint8_t generation)
{
	uint8_t byte = (uint8_t)(lba * 31 + at * 7 + generation * 101);

	return byte == POISON ? 0 : byte;
}

static bool is_content(const uint8_t *p, uint32_t lba, uint32_t blocks, uint8_t generation)
{
	for (size_t i = 0; i < blocks * BLOCK; i++)
		if (p[i] != content(lba, i, generation))
			return false;
	return true;
}

static void fill(uint8_t *p, uint32_t lba, uint32_t blocks, uint8_t generation)
{
	for (size_t i = 0; i < blocks * BLOCK; i++)
		p[i] = content(lba, i, generation);
}

/* LUN 0 as it is in the target. */
static uint8_t *medium(struct two_ends *e)
{
	struct target_set *set = two_ends_worker(e)->targets;
	struct tgt_target *t = target_set_find(set, TWO_ENDS_IQN);
	struct backend *b = t->luns[0]->device->backend;
	size_t length;
	uint8_t *memory = b->ops->memory(b, &length);

	tgt_target_release(t);
	assert_non_null(memory);
	return memory;
}

/* ---- tasks ---- */

static bool read_is_wrong(const struct busy_task *t)
{
	const struct row *row = &rows[t - t->story->tasks];

	return row->kind == READS && row->lun == 0 && t->task.error == 0 &&
	       t->task.task.status == 0 &&
	       !is_content(t->data, row->lba, row->blocks, GENERATION_READ);
}

static void task_told(struct ini_task *task, int error)
{
	struct busy_task *t = container_of(task, struct busy_task, task.task);

	t->task.error = error;
	if (t->task.done++)
		t->wrong++;
	else if (read_is_wrong(t))
		t->wrong++;
	t->story->told++;
	if (!t->data)
		return;
	memset(t->data, POISON, t->length);
	forbid(t->data, t->length);
}

static void task_prepare(struct busy_task *t, const struct row *row, uint8_t generation)
{
	t->length = row->blocks * BLOCK;
	t->data = t->length ? malloc(t->length) : NULL;
	if (row->kind == WRITES) {
		fill(t->data, row->lba, row->blocks, generation);
		two_task_write(&t->task, row->lun, row->lba, row->blocks, t->data, NULL);
	} else if (row->kind == READS) {
		memset(t->data, POISON, t->length);
		two_task_read(&t->task, row->lun, row->lba, row->blocks, t->data, NULL);
	} else {
		two_task_ready(&t->task, row->lun);
	}
	t->task.task.done = task_told;
}

void busy_init(struct busy *b, struct two_ends *e, uint8_t generation)
{
	uint8_t *m = medium(e);

	*b = (struct busy){.ends = e, .generation = generation};
	memset(m, 0, WRITTEN_BLOCKS * BLOCK);
	for (unsigned i = 0; i < BUSY_TASKS; i++) {
		if (rows[i].kind == READS && rows[i].lun == 0)
			fill(m + rows[i].lba * BLOCK, rows[i].lba, rows[i].blocks, GENERATION_READ);
		b->tasks[i].story = b;
		task_prepare(&b->tasks[i], &rows[i], generation);
	}
}

static void tmf_told(void *arg, int response)
{
	(void)response;
	((struct busy *)arg)->tmf_told++;
}

void busy_submit(struct busy *b, bool resets)
{
	struct ini_session *s = b->session.session;

	for (unsigned i = 0; i < BUSY_TASKS; i++)
		ini_session_submit(s, &b->tasks[i].task.task);
	if (!resets)
		return;
	two_ends_turn_for(b->ends, TWO_ENDS_SLOW_NS / 4);
	if (!b->tasks[ABORTED_TASK].task.done)
		ini_session_abort(s, &b->tasks[ABORTED_TASK].task.task);
	two_ends_turn_for(b->ends, TWO_ENDS_SLOW_NS / 4);
	if (ini_session_reset_lun(s, 1, tmf_told, b) == 0)
		b->tmf_asked++;
}

static bool is_over(void *arg)
{
	const struct busy *b = arg;

	return b->told >= BUSY_TASKS && b->tmf_told >= b->tmf_asked;
}

void busy_wait(struct busy *b)
{
	two_ends_until(b->ends, is_over, b);
}

unsigned busy_good(const struct busy *b)
{
	unsigned good = 0;

	for (unsigned i = 0; i < BUSY_TASKS; i++)
		good += b->tasks[i].task.done == 1 && b->tasks[i].task.error == 0 &&
			b->tasks[i].task.task.status == 0;
	return good;
}

/* ---- checks ---- */

static void buffer_check(const struct busy_task *t)
{
	if (!t->data)
		return;
	permit(t->data, t->length);
	for (size_t i = 0; i < t->length; i++)
		if (t->data[i] != POISON)
			fail_msg("a buffer was written after its task was told");
	forbid(t->data, t->length);
}

/* Each block is as it was before or as it was sent; if its task was told GOOD, as it was sent. */
static void medium_check(struct busy *b, const struct row *row, bool good)
{
	const uint8_t *m = medium(b->ends) + row->lba * BLOCK;

	for (uint32_t i = 0; i < row->blocks; i++, m += BLOCK) {
		bool sent = true, old = true;

		for (size_t at = 0; at < BLOCK; at++) {
			sent &= m[at] == content(row->lba, i * BLOCK + at, b->generation);
			old &= m[at] == 0;
		}
		if (!(sent || (old && !good)))
			fail_msg("block %u is not what was sent", row->lba + i);
	}
}

void busy_check(struct busy *b)
{
	for (unsigned i = 0; i < BUSY_TASKS; i++) {
		struct busy_task *t = &b->tasks[i];
		bool good = t->task.error == 0 && t->task.task.status == 0;

		assert_int_equal(t->task.done, 1);
		assert_int_equal(t->wrong, 0);
		buffer_check(t);
		if (rows[i].kind == WRITES && rows[i].lun == 0)
			medium_check(b, &rows[i], good);
	}
	assert_int_equal(b->tmf_told, b->tmf_asked);
}

void busy_free(struct busy *b)
{
	for (unsigned i = 0; i < BUSY_TASKS; i++) {
		if (!b->tasks[i].data)
			continue;
		permit(b->tasks[i].data, b->tasks[i].length);
		free(b->tasks[i].data);
	}
}
