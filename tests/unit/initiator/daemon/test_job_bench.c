/* Measurements: which I/O is issued where, and what is told of it. */
#include "tests/unit/initiator/daemon/job_kit.h"

/* Each look at the clock takes 10 us, so that a measurement is the same on every machine. */
static int look_at_clock(clockid_t id, struct timespec *t)
{
	static uint64_t ns;

	(void)id;
	ns += 10000;
	*t = (struct timespec){(time_t)(ns / LOOP_NS_PER_S), (long)(ns % LOOP_NS_PER_S)};
	return 0;
}

#define clock_gettime look_at_clock
#include "initiator/daemon/job_bench.c"
#undef clock_gettime

const char *job_rw_name(const struct job *j)
{
	static const char *const names[] = {
		"read", "write", "randread", "randwrite", "randrw", "rw"};

	return names[j->options.rw];
}

static const struct job_operation op_bench = {
	.name = "bench", .start = job_bench_start, .release = job_bench_release};

#define RUNTIME_MS 20

/* What was sent is forgotten where the fake has no place for more. */
static bool forget(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	(void)pdu;
	(void)task;
	if (f->sent_count > FAKE_SENT - 2)
		f->sent_count = 0;
	return false;
}

static void setup(enum job_rw rw, uint64_t block_size, uint64_t depth)
{
	job_setup(&op_bench, -1);
	it.job.options.rw = rw;
	it.job.options.block_size = block_size;
	it.job.options.depth = depth;
	it.job.options.runtime_ms = RUNTIME_MS;
	it.job.options.read_percent = 50;
	it.disk.o.fake->override = forget;
}

static void go_on(void)
{
	while (!it.ends)
		loop_turn(it.job.loop, 0);
	fake_turns(it.disk.o.fake);
	assert_int_equal(1, it.ends);
}

static void run(void)
{
	job_bench_start(&it.job);
	go_on();
}

static uint64_t lba_of(const struct iscsi_pdu *pdu)
{
	struct cdb_block b;

	assert_int_equal(0, cdb_block_decode(pdu->command.cdb, &b));
	return b.lba;
}

static void a_measurement_tells_rates_and_latencies(void **state)
{
	(void)state;
	setup(JOB_RANDREAD, 4096, 4);
	run();
	assert_int_equal(STATUS_OK, it.status);
	assert_true(result("ios") > 0);
	assert_true(result("ios") == result("reads"));
	assert_true(result("writes") == 0);
	assert_true(result("errors") == 0);
	assert_true(result("runtime_s") > RUNTIME_MS / 1000.0 * 0.5);
	/* figures that must agree with each other */
	assert_true(result("iops") * result("runtime_s") > result("ios") * 0.99);
	assert_true(result("iops") * result("runtime_s") < result("ios") * 1.01);
	assert_true(result("mb_s") * 1e6 < result("iops") * 4096 * 1.01);
	assert_true(result("mb_s") * 1e6 > result("iops") * 4096 * 0.99);
	assert_true(result("p50_us") <= result("p90_us"));
	assert_true(result("p90_us") <= result("p99_us"));
	assert_true(result("p99_us") <= result("p999_us"));
	assert_true(result("p999_us") <= result("max_us") * 1.05);
	assert_int_equal(RUNTIME_MS, it.job.total);
	job_teardown();
}

static void sequential_places_follow_each_other_and_begin_again(void **state)
{
	const struct fake *f;

	(void)state;
	setup(JOB_READ, 4096, 2);
	it.job.options.offset = 8192;
	it.job.options.length = 3 * 4096;
	job_bench_start(&it.job);
	f = it.disk.o.fake;
	for (int i = 0; i < 4; i++)
		loop_turn(it.job.loop, 0);
	assert_true(f->sent_count >= 6);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(16 + i % 3 * 8, lba_of(&f->sent[i]));
	go_on();
	job_teardown();
}

static void random_places_stay_in_the_range(void **state)
{
	const struct fake *f;
	uint64_t first, other = 0;

	(void)state;
	setup(JOB_RANDWRITE, 4096, 8);
	it.job.options.offset = 1 << 20;
	it.job.options.length = 1 << 20;
	run();
	f = it.disk.o.fake;
	first = lba_of(&f->sent[0]);
	for (unsigned i = 0; i < f->sent_count; i++) {
		uint64_t lba = lba_of(&f->sent[i]);

		assert_true(f->sent[i].command.write);
		assert_true(lba >= 2048 && lba + 8 <= 4096 && lba % 8 == 0);
		other += lba != first;
	}
	assert_true(other > 0);
	assert_true(result("writes") == result("ios"));
	job_teardown();
}

static void a_mix_is_about_what_was_asked_for(void **state)
{
	double share;

	(void)state;
	setup(JOB_RANDRW, 512, 8);
	it.job.options.read_percent = 70;
	it.job.options.runtime_ms = 50;
	run();
	share = result("reads") / result("ios");
	/* of at least a few hundred I/Os: 70 % within 5 standard deviations of 400 */
	if (result("ios") > 400)
		assert_true(share > 0.585 && share < 0.815);
	assert_true(result("reads") + result("writes") == result("ios"));
	job_teardown();
}

static void only_reading_patterns_do_not_write(void **state)
{
	static const struct {
		enum job_rw rw;
		bool writes;
	} patterns_written[] = {
		{JOB_READ, false},
		{JOB_RANDREAD, false},
		{JOB_WRITE, true},
		{JOB_RANDWRITE, true},
		{JOB_RW, true},
		{JOB_RANDRW, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(patterns_written); i++) {
		struct job j = {.options.rw = patterns_written[i].rw};

		assert_int_equal(patterns_written[i].writes, job_bench_writes(&j));
	}
}

static void a_block_size_that_is_none_is_refused(void **state)
{
	static const uint64_t sizes[] = {1000, 16 << 20};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		setup(JOB_RANDREAD, sizes[i], 1); /* no multiple of 512; larger than the disk */
		job_bench_start(&it.job);
		assert_int_equal(1, it.ends);
		assert_int_equal(STATUS_USAGE, it.status);
		assert_non_null(strstr(it.line, "a multiple of 512"));
		assert_int_equal(0, it.disk.o.fake->sent_count);
		job_teardown();
	}
}

static bool fail_all(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	if (pdu->opcode != ISCSI_SCSI_COMMAND)
		return false;
	fake_check(f, pdu, task, SENSE_MEDIUM_ERROR, 0x1100); /* UNRECOVERED READ ERROR */
	return true;
}

static void a_disk_that_fails_ends_it_soon(void **state)
{
	(void)state;
	setup(JOB_RANDREAD, 512, 2);
	it.job.options.runtime_ms = 3600 * 1000;
	it.disk.o.fake->override = fail_all;
	run();
	assert_int_equal(STATUS_FAILED, it.status);
	assert_null(it.result);
	job_teardown();
}

static void progress_is_time(void **state)
{
	(void)state;
	setup(JOB_RANDREAD, 512, 1);
	job_bench_start(&it.job);
	assert_int_equal(RUNTIME_MS, it.job.total);
	while (!it.ends) {
		loop_turn(it.job.loop, 0);
		assert_true(it.job.done <= RUNTIME_MS);
	}
	job_teardown();
}

static void without_memory_it_fails_in_one_line(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 4; n++) {
		setup(JOB_RANDREAD, 4096, 4);
		alloc_fail_nth(n);
		job_bench_start(&it.job);
		alloc_fail_nth(0);
		assert_int_equal(1, it.ends);
		assert_non_null(strstr(it.line, "no memory for the measurement"));
		job_teardown();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_measurement_tells_rates_and_latencies),
		cmocka_unit_test(sequential_places_follow_each_other_and_begin_again),
		cmocka_unit_test(random_places_stay_in_the_range),
		cmocka_unit_test(a_mix_is_about_what_was_asked_for),
		cmocka_unit_test(only_reading_patterns_do_not_write),
		cmocka_unit_test(a_block_size_that_is_none_is_refused),
		cmocka_unit_test(a_disk_that_fails_ends_it_soon),
		cmocka_unit_test(progress_is_time),
		cmocka_unit_test(without_memory_it_fails_in_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
