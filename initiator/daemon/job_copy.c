/* Copies between a LUN and a file, and their comparison: `iseradm -m lun -o read, write, copy-in,
 * copy-out, verify`. COPY_SLOTS pieces are under way at a time, each with a part of one registered
 * buffer. Holes and zeroes of an image become WRITE SAME, zeroes of a LUN become holes. Called by
 * job_run.c through the table of operations. */
#include "initiator/daemon/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/alloc.h"
#include "initiator/daemon/job_file.h"

#define COPY_SLOTS 8
#define COPY_PIECE (1024 * 1024)	  /* bytes; larger ones win nothing over loopback */
#define COPY_ZEROES (64ull * 1024 * 1024) /* bytes of zeroes asked for at a time */
#define COPY_HOLE (64 * 1024)		  /* bytes: shorter runs of zeroes are written */

struct copy;

/* One piece: an I/O, and where its bytes are. */
struct copy_slot {
	struct copy *copy;
	struct list link; /* in copy->idle */
	struct disk_io io;
	uint8_t *data, *file_data;
	uint64_t at; /* from the beginning of the range */
};

struct copy {
	struct job *job;
	/* What becomes of a piece: before its I/O (1: the slot was not needed, negative errno: of
	 * the file) and after it. */
	int (*prepare)(struct copy *c, struct copy_slot *s);
	int (*complete)(struct copy *c, struct copy_slot *s);
	uint64_t start;	      /* in the file */
	uint64_t length;      /* of the range, whole blocks */
	uint64_t file_length; /* what of it the file has, or shall have */
	uint64_t next;	      /* handed out so far */
	uint64_t zeroes;      /* of what was copied, bytes that were not moved */
	uint64_t differs;     /* the first byte that differs; UINT64_MAX: none */
	uint64_t began_ns;
	bool sparse, skip; /* zeroes become WRITE SAME; zeroes need not go to the file */
	bool flushed, writes;
	unsigned under_way;
	struct list idle;
	struct copy_slot slots[COPY_SLOTS];
	uint8_t *memory;
	struct dm_region *region;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * LOOP_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void fail_file(struct copy *c, int error)
{
	job_fail(c->job, STATUS_FAILED, "the file: %s", strerror(-error));
}

/* ---- into the LUN ---- */

/* A whole hole at once, without reading it. */
static bool prepare_hole(struct copy *c, struct copy_slot *s)
{
	uint64_t left = c->length - s->at;
	uint64_t hole = job_file_hole(
		c->job->file, c->start + s->at, left < COPY_ZEROES ? left : COPY_ZEROES);

	hole -= hole % disk_info(c->job->disk)->block_size;
	if (hole == 0)
		return false;
	s->io.operation = DISK_WRITE_ZEROES;
	s->io.length = hole;
	return true;
}

static int prepare_write(struct copy *c, struct copy_slot *s)
{
	int rc;

	s->io.operation = DISK_WRITE;
	if (c->sparse && prepare_hole(c, s)) {
		c->zeroes += s->io.length;
		return 0;
	}
	rc = job_file_read(c->job->file, s->data, s->io.length, c->start + s->at);
	if (rc < 0)
		return rc;
	if (c->sparse && job_is_zero(s->data, s->io.length)) {
		s->io.operation = DISK_WRITE_ZEROES;
		c->zeroes += s->io.length;
	}
	return 0;
}

static int complete_write(struct copy *c, struct copy_slot *s)
{
	(void)c;
	(void)s;
	return 0;
}

/* ---- out of it ---- */

static int prepare_read(struct copy *c, struct copy_slot *s)
{
	(void)c;
	s->io.operation = DISK_READ;
	return 0;
}

/* Runs of zeroes stay holes. */
static int complete_read(struct copy *c, struct copy_slot *s)
{
	int rc = 0;

	for (uint64_t at = 0; at < s->io.length && rc == 0; at += COPY_HOLE) {
		size_t n = (size_t)min_u64(COPY_HOLE, s->io.length - at);

		if (c->skip && job_is_zero(s->data + at, n))
			c->zeroes += n;
		else
			rc = job_file_write(c->job->file, s->data + at, n, c->start + s->at + at);
	}
	return rc;
}

static void find_difference(struct copy *c, const struct copy_slot *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s->data[i] != s->file_data[i]) {
			c->differs = min_u64(c->differs, s->at + i);
			return;
		}
}

/* What is behind the end of the file, in its last block, is not compared. */
static int complete_verify(struct copy *c, struct copy_slot *s)
{
	size_t n = (size_t)min_u64(s->io.length, c->file_length - s->at);
	int rc = job_file_read(c->job->file, s->file_data, n, c->start + s->at);

	if (rc == 0 && memcmp(s->data, s->file_data, n) != 0)
		find_difference(c, s, n);
	return rc;
}

/* ---- the engine ---- */

static void put_rate(struct json_object *o, uint64_t bytes, double seconds)
{
	json_object_object_add(o, "seconds", json_object_new_double(seconds));
	json_object_object_add(
		o, "mb_s", json_object_new_double(seconds > 0 ? (double)bytes / 1e6 / seconds : 0));
}

static void copy_succeed(struct copy *c)
{
	struct json_object *result = json_object_new_object();

	put_text(result, "operation", c->job->operation->name);
	put_number(result, "lun", c->job->options.lun);
	put_number(result, "bytes", min_u64(c->file_length, c->length));
	put_number(result, "zeroes", c->zeroes);
	put_rate(result, c->file_length, (double)(now_ns() - c->began_ns) / 1e9);
	job_finish(c->job, result);
}

static void copy_flush(struct copy *c)
{
	struct copy_slot *s = &c->slots[0];

	c->flushed = true;
	c->under_way++;
	list_remove(&s->link);
	s->io.operation = DISK_FLUSH;
	s->io.offset = s->io.length = 0;
	disk_submit(c->job->disk, &s->io);
}

/* Everything was handed out and has come back. */
static void copy_end(struct copy *c)
{
	int rc = 0;

	if (c->differs != UINT64_MAX) {
		job_fail(c->job, STATUS_FAILED,
			"LUN %u differs from the file: the first difference is at byte %llu",
			(unsigned)c->job->options.lun, (unsigned long long)c->differs);
	} else if (c->writes && !c->flushed) {
		copy_flush(c);
	} else {
		if (c->skip)
			rc = job_file_finish(c->job->file, c->start + c->length);
		if (rc < 0)
			fail_file(c, rc);
		else
			copy_succeed(c);
	}
}

static void copy_begin_piece(struct copy *c, struct copy_slot *s)
{
	int rc;

	s->at = c->next;
	s->io.offset = c->job->options.offset + s->at;
	s->io.length = min_u64(COPY_PIECE, c->length - s->at);
	rc = c->prepare(c, s);
	if (rc < 0) {
		fail_file(c, rc);
		return;
	}
	list_remove(&s->link);
	c->next += s->io.length;
	c->under_way++;
	disk_submit(c->job->disk, &s->io);
}

static void copy_pump(struct copy *c)
{
	while (!c->job->over && !list_empty(&c->idle) && c->next < c->length &&
		c->differs == UINT64_MAX)
		copy_begin_piece(c, list_first(&c->idle, struct copy_slot, link));
	if (!c->job->over && !c->under_way)
		copy_end(c);
}

static void piece_done(struct disk_io *io, int status)
{
	struct copy_slot *s = container_of(io, struct copy_slot, io);
	struct copy *c = s->copy;
	int rc = 0;

	c->under_way--;
	list_append(&c->idle, &s->link);
	if (status < 0)
		job_fail_io(c->job, io, status);
	else if (!c->job->over && io->operation != DISK_FLUSH)
		rc = c->complete(c, s);
	if (rc < 0)
		fail_file(c, rc);
	if (status == 0)
		atomic_fetch_add_explicit(&c->job->done, io->length, memory_order_relaxed);
	copy_pump(c);
}

/* ---- the beginning ---- */

static int copy_memory(struct copy *c)
{
	/* verify compares with as much of the file */
	size_t size = COPY_SLOTS * COPY_PIECE * 2;
	int rc;

	c->memory = alloc_aligned(4096, size);
	if (!c->memory)
		return -ENOMEM;
	rc = disk_register(c->job->disk, c->memory, size / 2, &c->region);
	for (size_t i = 0; i < COPY_SLOTS; i++) {
		struct copy_slot *s = &c->slots[i];

		s->copy = c;
		s->data = c->memory + i * COPY_PIECE;
		s->file_data = c->memory + (COPY_SLOTS + i) * COPY_PIECE;
		s->io.done = piece_done;
		s->io.data = s->data;
		s->io.region = c->region;
		list_append(&c->idle, &s->link);
	}
	return rc;
}

static const struct {
	const char *name;
	int (*prepare)(struct copy *c, struct copy_slot *s);
	int (*complete)(struct copy *c, struct copy_slot *s);
	bool writes, sparse, fill; /* fill: the last block may be filled up with zeroes */
} kinds[] = {
	{"read", prepare_read, complete_read, .writes = false},
	{"copy-out", prepare_read, complete_read, .writes = false},
	{"write", prepare_write, complete_write, .writes = true},
	{"copy-in", prepare_write, complete_write, .writes = true, .sparse = true, .fill = true},
	{"verify", prepare_read, complete_verify, .fill = true},
};

/* The range is as long as the file, unless the request has a length. */
static bool range_of_file(struct copy *c, bool fill)
{
	const struct disk_info *info = disk_info(c->job->disk);
	struct job_options *o = &c->job->options;
	uint64_t length = o->length == UINT64_MAX ? c->file_length : o->length;

	if (length > c->file_length) {
		job_fail(c->job, STATUS_USAGE, "the file has %llu bytes; %llu are asked for",
			(unsigned long long)c->file_length, (unsigned long long)length);
		return false;
	}
	c->file_length = length;
	if (length > info->size || o->offset > info->size - length) {
		job_fail(c->job, STATUS_USAGE,
			"the file is too large: %llu bytes, where LUN %u has %llu from byte %llu "
			"on; nothing was %s",
			(unsigned long long)length, info->lun,
			(unsigned long long)(info->size - min_u64(info->size, o->offset)),
			(unsigned long long)o->offset, c->writes ? "written" : "compared");
		return false;
	}
	if (fill && length % info->block_size)
		length += info->block_size - length % info->block_size;
	o->length = length;
	return true;
}

static bool copy_range(struct copy *c, bool to_file, bool fill)
{
	struct job_options *o = &c->job->options;
	int rc = job_file_extent(c->job->file, &c->start, &c->file_length);

	if (rc < 0) {
		fail_file(c, rc);
		return false;
	}
	if (!to_file && !range_of_file(c, fill))
		return false;
	if (!job_check_range(c->job))
		return false;
	c->length = o->length;
	if (to_file)
		c->file_length = o->length;
	return true;
}

static int copy_new(struct job *j)
{
	struct copy *c = alloc_zeroed(sizeof(*c));

	if (!c)
		return -ENOMEM;
	j->work = c;
	c->job = j;
	c->differs = UINT64_MAX;
	c->began_ns = now_ns();
	list_init(&c->idle);
	return copy_memory(c);
}

/* Into a file: it is emptied only now that there is something to write. */
static bool copy_prepare_file(struct copy *c)
{
	struct job *j = c->job;
	int rc = j->truncate ? job_file_truncate(j->file, c->start) : 0;

	if (rc < 0)
		fail_file(c, rc);
	c->skip = job_file_may_skip(j->file, c->start);
	return rc == 0;
}

static bool copy_choose(struct copy *c)
{
	struct job *j = c->job;
	size_t i = 0;

	while (strcmp(kinds[i].name, j->operation->name) != 0)
		i++;
	c->prepare = kinds[i].prepare;
	c->complete = kinds[i].complete;
	c->writes = kinds[i].writes;
	c->sparse = kinds[i].sparse;
	if (!copy_range(c, j->operation->file_write, kinds[i].fill))
		return false;
	return !j->operation->file_write || copy_prepare_file(c);
}

void job_copy_start(struct job *j)
{
	int rc = copy_new(j);
	struct copy *c = j->work;

	if (rc < 0) {
		job_fail(j, STATUS_NO_MEMORY, "no memory for the copy: %s", strerror(-rc));
		return;
	}
	if (!copy_choose(c))
		return;
	atomic_store(&j->total, c->length);
	copy_pump(c);
}

void job_copy_release(struct job *j)
{
	struct copy *c = j->work;

	if (!c)
		return;
	if (c->region)
		ini_session_unregister(j->session, c->region);
	alloc_free(c->memory);
	alloc_free(c);
	j->work = NULL;
}
