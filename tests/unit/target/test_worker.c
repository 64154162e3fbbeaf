/* A worker: its movers, its channels to the logical units, the last flush (target/worker.c). */
#include "tests/unit/target/target_kit.h"

#include <errno.h>

static const char two_luns[] = "targets:\n- name: " KIT_TARGET "\n  luns:\n"
			       "  - {lun: 0, backend: memory, size: 1M}\n"
			       "  - {lun: 1, backend: memory, size: 1M}\n";

static struct kit kit;
static unsigned flushed, flushes_failed;

static int setup(void **state)
{
	(void)state;
	kit_start(&kit, two_luns);
	flushed = flushes_failed = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kit_stop(&kit);
	return 0;
}

static struct tgt_lun *lun(unsigned i)
{
	return list_first(&kit.set->targets, struct tgt_target, link)->luns[i];
}

static size_t channels(void)
{
	struct list *node;
	size_t count = 0;

	for (node = kit.worker->channels.next; node != &kit.worker->channels; node = node->next)
		count++;
	return count;
}

static void users_of_a_lun_share_one_channel(void **state)
{
	struct backend_channel *a, *b, *other;

	(void)state;
	assert_int_equal(worker_channel_get(kit.worker, lun(0), &a), 0);
	assert_int_equal(worker_channel_get(kit.worker, lun(0), &b), 0);
	assert_int_equal(worker_channel_get(kit.worker, lun(1), &other), 0);
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, other);
	assert_int_equal(channels(), 2);
	worker_channel_put(kit.worker, lun(0));
	worker_channel_put(kit.worker, lun(0));
	worker_channel_put(kit.worker, lun(1));
	/* Kept for the next session. */
	assert_int_equal(channels(), 2);
}

static void the_channel_of_a_removed_lun_goes_with_its_last_user(void **state)
{
	struct tgt_lun *l = tgt_lun_hold(lun(0));
	struct backend_channel *c;

	(void)state;
	assert_int_equal(worker_channel_get(kit.worker, l, &c), 0);
	assert_int_equal(worker_channel_get(kit.worker, l, &c), 0);
	atomic_store(&l->removed, true);
	worker_channel_put(kit.worker, l);
	worker_sweep_channels(kit.worker);
	assert_int_equal(channels(), 1);
	worker_channel_put(kit.worker, l);
	assert_int_equal(channels(), 0);
	tgt_lun_release(l);
}

static void a_sweep_takes_what_nobody_uses_and_a_reload_removed(void **state)
{
	struct tgt_lun *l = tgt_lun_hold(lun(0));
	struct backend_channel *c;

	(void)state;
	worker_channel_get(kit.worker, l, &c);
	worker_channel_put(kit.worker, l);
	worker_channel_get(kit.worker, lun(1), &c);
	worker_channel_put(kit.worker, lun(1));
	worker_sweep_channels(kit.worker);
	assert_int_equal(channels(), 2);
	atomic_store(&l->removed, true);
	worker_sweep_channels(kit.worker);
	assert_int_equal(channels(), 1);
	tgt_lun_release(l);
}

static void memory_is_registered_with_the_mover(void **state)
{
	struct backend_channel *c;
	struct dm_region *r;
	size_t length;

	(void)state;
	assert_int_equal(worker_channel_get(kit.worker, lun(0), &c), 0);
	r = worker_channel_region(kit.mover, lun(0));
	assert_non_null(r);
	assert_ptr_equal(r->address, c->backend->ops->memory(c->backend, &length));
	assert_int_equal(r->length, length);
	worker_channel_put(kit.worker, lun(0));
}

static int refuse(struct dm_mover *m, void *address, size_t length, struct dm_region **ret)
{
	(void)m, (void)address, (void)length, (void)ret;
	return -ENOMEM;
}

/* It is copied then, and tried again for the next user. */
static void memory_that_cannot_be_registered_is_done_without(void **state)
{
	struct dm_ops ops = kit_ops;
	struct backend_channel *c;

	(void)state;
	ops.register_region = refuse;
	kit.mover->mover->ops = &ops;
	assert_int_equal(worker_channel_get(kit.worker, lun(0), &c), 0);
	assert_null(worker_channel_region(kit.mover, lun(0)));
	kit.mover->mover->ops = &kit_ops;
	assert_int_equal(worker_channel_get(kit.worker, lun(0), &c), 0);
	assert_non_null(worker_channel_region(kit.mover, lun(0)));
	worker_channel_put(kit.worker, lun(0));
	worker_channel_put(kit.worker, lun(0));
}

static enum dm_pinning pinning;

static enum dm_pinning tell_pinning(struct dm_mover *m)
{
	(void)m;
	return pinning;
}

/* A LUN's memory is told to an RDMA device once there is one, and to the backend before that. */
static void memory_is_pinned_once_there_is_a_device(void **state)
{
	struct dm_ops ops = kit_ops;

	(void)state;
	ops.pinning = tell_pinning;
	kit.mover->mover->ops = &ops;
	pinning = DM_PINS_LATER;
	worker_open_memory(kit.worker);
	assert_int_equal(channels(), 2);
	assert_null(worker_channel_region(kit.mover, lun(0)));
	pinning = DM_PINS;
	worker_open_memory(kit.worker);
	assert_int_equal(channels(), 2);
	assert_non_null(worker_channel_region(kit.mover, lun(0)));
	assert_non_null(worker_channel_region(kit.mover, lun(1)));
	kit.mover->mover->ops = &kit_ops;
}

static void movers_have_a_limit_and_are_owned_at_once(void **state)
{
	struct worker_mover *m;
	unsigned long live;

	(void)state;
	assert_int_equal(worker_add_mover(kit.worker, NULL, &m), -ENOMEM);
	while (kit.worker->mover_count < WORKER_MOVERS_MAX) {
		struct dm_mover *dm = alloc_zeroed(sizeof(*dm));

		dm->ops = &kit_ops;
		assert_int_equal(worker_add_mover(kit.worker, dm, &m), 0);
		assert_ptr_equal(m->worker, kit.worker);
	}
	live = alloc_live();
	for (unsigned i = 0; i < 2; i++) {
		struct dm_mover *dm = alloc_zeroed(sizeof(*dm));

		dm->ops = &kit_ops;
		assert_int_equal(worker_add_mover(kit.worker, dm, &m), -ENOSPC);
	}
	assert_int_equal(alloc_live(), live); /* freed by who refused it */
}

static void flush_ended(struct worker *w)
{
	assert_ptr_equal(w, kit.worker);
	flushed++;
	worker_close_channels(w);
}

static void the_last_flush_ends_when_every_channel_is_flushed(void **state)
{
	struct backend_channel *c;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		worker_channel_get(kit.worker, lun(i), &c);
		worker_channel_put(kit.worker, lun(i));
	}
	assert_int_equal(worker_flush_channels(kit.worker, flush_ended), 0);
	assert_int_equal(flushed, 0);
	kit_turn(&kit);
	assert_int_equal(flushed, 1);
	assert_int_equal(channels(), 0);
}

static void a_flush_of_nothing_is_over_at_once(void **state)
{
	(void)state;
	assert_int_equal(worker_flush_channels(kit.worker, flush_ended), 0);
	assert_int_equal(flushed, 1);
}

static void a_flush_without_memory_has_not_begun(void **state)
{
	(void)state;
	alloc_fail_nth(1);
	assert_int_equal(worker_flush_channels(kit.worker, flush_ended), -ENOMEM);
	alloc_fail_nth(0);
	kit_turn(&kit);
	assert_int_equal(flushed, 0);
}

static void count_errors(void *argument, enum log_level level, const char *line)
{
	(void)argument;
	if (level == LOG_LEVEL_ERROR && strstr(line, "LUN 0"))
		flushes_failed++;
}

static int open_broken(
	const struct config_lun *row, struct backend **ret, char *why, size_t why_size)
{
	const struct fault_config fault = {
		.rules = {{.operation = BACKEND_FLUSH, .error = EIO}},
		.rule_count = 1,
	};
	struct backend *b;

	assert_int_equal(kit_open(row, &b, why, why_size), 0);
	return fault_backend_new(b, &fault, ret, why, why_size);
}

/* Whoever stops the daemon must be told that data may be lost; the stop goes on. */
static void a_last_flush_that_fails_is_logged_and_ends(void **state)
{
	struct config_report report = {0};
	struct config *next = kit_config("targets:\n- name: " KIT_TARGET "\n  luns:\n"
					 "  - {lun: 0, backend: memory, size: 2M}\n");
	struct backend_channel *c;

	(void)state;
	kit.set->open_backend = open_broken;
	assert_int_equal(target_set_reload(kit.set, next, &report), 0);
	config_release(next);
	worker_channel_get(kit.worker, lun(0), &c);
	worker_channel_put(kit.worker, lun(0));
	log_set_sink(count_errors, NULL);
	assert_int_equal(worker_flush_channels(kit.worker, flush_ended), 0);
	kit_turn(&kit);
	assert_int_equal(flushed, 1);
	assert_int_equal(flushes_failed, 1);
}

static void any_failed_allocation_leaves_no_worker_behind(void **state)
{
	const struct worker_config config = {.commands = 16, .arena_size = 16 << 20};
	unsigned long live = alloc_live();
	struct worker *w = NULL;
	unsigned long n;

	(void)state;
	for (n = 1; !w; n++) {
		alloc_fail_nth(n);
		w = worker_new(1, &config, kit.set);
		alloc_fail_nth(0);
		if (!w)
			assert_int_equal(alloc_live(), live);
		assert_true(n < 100);
	}
	assert_true(n > 3);
	assert_int_equal(w->index, 1);
	worker_free(w);
	worker_free(NULL);
	assert_int_equal(alloc_live(), live);
}

static void any_failed_allocation_leaves_no_channel_behind(void **state)
{
	struct backend_channel *c = NULL;
	int err = -1;

	(void)state;
	for (unsigned long n = 1; err; n++) {
		unsigned long live = alloc_live();

		alloc_fail_nth(n);
		err = worker_channel_get(kit.worker, lun(0), &c);
		alloc_fail_nth(0);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(alloc_live(), live);
			assert_null(c);
		}
		assert_true(n < 10);
	}
	worker_channel_put(kit.worker, lun(0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(users_of_a_lun_share_one_channel),
		TEST(the_channel_of_a_removed_lun_goes_with_its_last_user),
		TEST(a_sweep_takes_what_nobody_uses_and_a_reload_removed),
		TEST(memory_is_registered_with_the_mover),
		TEST(memory_that_cannot_be_registered_is_done_without),
		TEST(memory_is_pinned_once_there_is_a_device),
		TEST(movers_have_a_limit_and_are_owned_at_once),
		TEST(the_last_flush_ends_when_every_channel_is_flushed),
		TEST(a_flush_of_nothing_is_over_at_once),
		TEST(a_flush_without_memory_has_not_begun),
		TEST(a_last_flush_that_fails_is_logged_and_ends),
		TEST(any_failed_allocation_leaves_no_worker_behind),
		TEST(any_failed_allocation_leaves_no_channel_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
