/* `iseradm -m lun -o bench`: the same I/O over and over, `iodepth` of them at a time, for a bounded
 * time; rates, latencies and the thread's CPU time. Nothing is allocated and nothing is asked of
 * the system while it runs but what the loop does (the clock is read without a system call). Called
 * by job_run.c through the table of operations. */
#include "initiator/daemon/job.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "common/base/alloc.h"
#include "common/base/histogram.h"

/* So many I/Os may fail before the measurement is given up. */
#define ERRORS_MAX 100

struct bench_slot {
	struct bench *bench;
	struct disk_io io;
	uint64_t began_ns;
};

struct bench {
	struct job *job;
	struct bench_slot *slots;
	uint8_t *memory;
	struct dm_region *region;
	uint64_t blocks; /* places that an I/O may go to */
	uint64_t cursor; /* sequential: the next of them */
	uint64_t random; /* state of the generator, never 0 */
	uint64_t began_ns, until_ns, last_ns;
	double cpu_at_start; /* seconds */
	unsigned under_way;
	uint64_t reads, writes, errors;
	bool random_order;
	unsigned read_percent;
	struct loop_timer timer;
	struct histogram latency; /* nanoseconds */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * LOOP_NS_PER_S + (uint64_t)t.tv_nsec;
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

bool job_bench_writes(const struct job *j)
{
	return j->options.rw != JOB_READ && j->options.rw != JOB_RANDREAD;
}

/* xorshift64* */
static uint64_t bench_random(struct bench *b)
{
	b->random ^= b->random >> 12;
	b->random ^= b->random << 25;
	b->random ^= b->random >> 27;
	return b->random * UINT64_C(0x2545F4914F6CDD1D);
}

/* ---- the result ---- */

static void put_us(struct json_object *o, const char *key, uint64_t ns)
{
	json_object_object_add(o, key, json_object_new_double((double)ns / 1000));
}

static void put_double(struct json_object *o, const char *key, double value)
{
	json_object_object_add(o, key, json_object_new_double(value));
}

static void bench_end(struct bench *b)
{
	const struct job_options *options = &b->job->options;
	struct json_object *o = json_object_new_object();
	double seconds = (double)(b->last_ns - b->began_ns) / 1e9;
	double ios = (double)b->latency.count, cpu = cpu_seconds() - b->cpu_at_start;

	put_text(o, "rw", job_rw_name(b->job));
	put_number(o, "bs", options->block_size);
	put_number(o, "iodepth", options->depth);
	put_double(o, "runtime_s", seconds);
	put_number(o, "ios", b->latency.count);
	put_number(o, "reads", b->reads);
	put_number(o, "writes", b->writes);
	put_double(o, "iops", ios / seconds);
	put_double(o, "mb_s", ios * (double)options->block_size / 1e6 / seconds);
	put_us(o, "mean_us", histogram_mean(&b->latency));
	put_us(o, "p50_us", histogram_quantile(&b->latency, 500));
	put_us(o, "p90_us", histogram_quantile(&b->latency, 900));
	put_us(o, "p99_us", histogram_quantile(&b->latency, 990));
	put_us(o, "p999_us", histogram_quantile(&b->latency, 999));
	put_us(o, "max_us", b->latency.max);
	put_double(o, "cpu_us_per_io", cpu * 1e6 / ios);
	put_number(o, "errors", b->errors);
	job_finish(b->job, o);
}

/* ---- the run ---- */

static void bench_issue(struct bench *b, struct bench_slot *s)
{
	uint64_t place;

	if (b->random_order) {
		place = bench_random(b) % b->blocks;
	} else {
		place = b->cursor;
		b->cursor = place + 1 == b->blocks ? 0 : place + 1;
	}
	s->io.offset = b->job->options.offset + place * b->job->options.block_size;
	s->io.operation = b->read_percent == 100		    ? DISK_READ
			  : b->read_percent == 0		    ? DISK_WRITE
			  : bench_random(b) % 100 < b->read_percent ? DISK_READ
								    : DISK_WRITE;
	b->under_way++;
	s->began_ns = now_ns();
	disk_submit(b->job->disk, &s->io);
}

static void bench_count(struct bench *b, const struct bench_slot *s, uint64_t now)
{
	histogram_add(&b->latency, now - s->began_ns);
	b->last_ns = now;
	if (s->io.operation == DISK_READ)
		b->reads++;
	else
		b->writes++;
}

static void bench_done(struct disk_io *io, int status)
{
	struct bench_slot *s = container_of(io, struct bench_slot, io);
	struct bench *b = s->bench;
	uint64_t now = now_ns();

	b->under_way--;
	if (status == 0)
		bench_count(b, s, now);
	else if (!b->job->over && ++b->errors > ERRORS_MAX)
		job_fail_io(b->job, io, status);
	if (b->job->over)
		return;
	if (now < b->until_ns)
		bench_issue(b, s);
	else if (!b->under_way && b->latency.count)
		bench_end(b);
	else if (!b->under_way)
		job_fail_io(b->job, io, status);
}

/* How far it is, in milliseconds, for the progress line. */
static void bench_tick(struct loop_timer *t)
{
	struct bench *b = container_of(t, struct bench, timer);

	atomic_store(&b->job->done, min_u64((loop_now(b->job->loop) - b->began_ns) / LOOP_NS_PER_MS,
					    b->job->options.runtime_ms));
	loop_timer_arm(b->job->loop, t, 200 * LOOP_NS_PER_MS);
}

/* ---- the beginning ---- */

static bool bench_range(struct bench *b)
{
	const struct disk_info *info = disk_info(b->job->disk);
	const struct job_options *o = &b->job->options;

	if (!job_check_range(b->job))
		return false;
	b->blocks = o->length / o->block_size;
	if (o->block_size % info->block_size == 0 && b->blocks > 0)
		return true;
	job_fail(b->job, STATUS_USAGE,
		"bs %llu: a multiple of %u (the LUN's blocks) that fits into %llu bytes would be "
		"right",
		(unsigned long long)o->block_size, info->block_size, (unsigned long long)o->length);
	return false;
}

static int bench_memory(struct bench *b)
{
	const struct job_options *o = &b->job->options;
	size_t size = (size_t)(o->depth * o->block_size);

	b->slots = alloc_array((size_t)o->depth, sizeof(*b->slots));
	b->memory = alloc_aligned(4096, size);
	if (!b->slots || !b->memory)
		return -ENOMEM;
	/* data that no target can make less of; pages are there before the clock runs */
	for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
		uint64_t word = bench_random(b);

		memcpy(b->memory + at, &word, sizeof(word));
	}
	return disk_register(b->job->disk, b->memory, size, &b->region);
}

static const struct {
	bool random;
	int read_percent; /* -1: as the request says */
} patterns[] = {
	[JOB_READ] = {false, 100},
	[JOB_WRITE] = {false, 0},
	[JOB_RANDREAD] = {true, 100},
	[JOB_RANDWRITE] = {true, 0},
	[JOB_RANDRW] = {true, -1},
	[JOB_RW] = {false, -1},
};

static int bench_new(struct job *j)
{
	struct bench *b = alloc_zeroed(sizeof(*b));
	int percent = patterns[j->options.rw].read_percent;

	if (!b)
		return -ENOMEM;
	j->work = b;
	b->job = j;
	b->random = now_ns() | 1;
	b->random_order = patterns[j->options.rw].random;
	b->read_percent = percent < 0 ? (unsigned)j->options.read_percent : (unsigned)percent;
	b->timer.expired = bench_tick;
	return bench_memory(b);
}

static void bench_run(struct bench *b)
{
	const struct job_options *o = &b->job->options;

	atomic_store(&b->job->total, o->runtime_ms);
	loop_timer_arm(b->job->loop, &b->timer, 0);
	b->cpu_at_start = cpu_seconds();
	b->began_ns = now_ns();
	b->until_ns = b->began_ns + o->runtime_ms * LOOP_NS_PER_MS;
	for (uint64_t i = 0; i < o->depth; i++) {
		struct bench_slot *s = &b->slots[i];

		s->bench = b;
		s->io.done = bench_done;
		s->io.length = o->block_size;
		s->io.data = b->memory + i * o->block_size;
		s->io.region = b->region;
		bench_issue(b, s);
	}
}

void job_bench_start(struct job *j)
{
	int rc = bench_new(j);

	if (rc < 0)
		job_fail(j, STATUS_NO_MEMORY, "no memory for the measurement: %s", strerror(-rc));
	else if (bench_range(j->work))
		bench_run(j->work);
}

void job_bench_release(struct job *j)
{
	struct bench *b = j->work;

	if (!b)
		return;
	loop_timer_cancel(&b->timer);
	if (b->region)
		ini_session_unregister(j->session, b->region);
	alloc_free(b->memory);
	alloc_free(b->slots);
	alloc_free(b);
	j->work = NULL;
}
