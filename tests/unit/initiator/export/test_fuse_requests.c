/* The kernel's requests as disk I/O: a disk over the scripted target, and libfuse's end played by
 * the test, which hands in requests and keeps the replies. */
#define io_done fake_disk_io_done /* the file under test has one, too */
#include "tests/unit/initiator/fake_disk.h"
#undef io_done

#include <errno.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* /dev/fuse as replies see it: so many fail. */
static unsigned write_failures;
static int write_error;

static ssize_t failing_writev(int fd, const struct iovec *iov, int count)
{
	(void)fd;
	(void)count;
	if (!write_failures)
		return (ssize_t)iov->iov_len;
	write_failures--;
	errno = write_error;
	return -1;
}

#define writev(fd, iov, count) failing_writev(fd, iov, count)
#include "initiator/export/fuse_requests.c"
#undef writev

/* ---- libfuse's end ---- */

struct fuse_req {
	unsigned replies;
	int error;
	size_t size; /* read or written */
	const void *data;
	struct stat attributes;
	struct statvfs file_system;
};

static struct {
	struct fake_disk disk;
	struct fuse_export export;
	/* requests that /dev/fuse has, as calls */
	void (*waiting[200])(struct fuse_req *r);
	struct fuse_req requests[200];
	unsigned waiting_count, taken;
	int error; /* of reading when there are no more; 0: -EAGAIN */
	unsigned idle_calls;
} it;

void *fuse_req_userdata(fuse_req_t r)
{
	(void)r;
	return &it.export;
}

static void replied(fuse_req_t r)
{
	assert_int_equal(r->replies++, 0);
}

int fuse_reply_err(fuse_req_t r, int error)
{
	replied(r);
	r->error = error;
	return 0;
}

int fuse_reply_attr(fuse_req_t r, const struct stat *attributes, double timeout)
{
	replied(r);
	assert_true(timeout > 0);
	r->attributes = *attributes;
	return 0;
}

int fuse_reply_open(fuse_req_t r, const struct fuse_file_info *fi)
{
	replied(r);
	assert_false(fi->keep_cache);
	return 0;
}

int fuse_reply_statfs(fuse_req_t r, const struct statvfs *st)
{
	replied(r);
	r->file_system = *st;
	return 0;
}

int fuse_reply_buf(fuse_req_t r, const char *data, size_t size)
{
	replied(r);
	r->data = data;
	r->size = size;
	return 0;
}

int fuse_reply_write(fuse_req_t r, size_t size)
{
	replied(r);
	r->size = size;
	return 0;
}

int fuse_session_receive_buf(struct fuse_session *s, struct fuse_buf *buffer)
{
	(void)s;
	assert_ptr_equal(buffer->mem, it.export.current->memory);
	return it.taken < it.waiting_count ? 1 : it.error ? it.error : -EAGAIN;
}

void fuse_session_process_buf(struct fuse_session *s, const struct fuse_buf *buffer)
{
	(void)s;
	(void)buffer;
	it.taken++;
	it.waiting[it.taken - 1](&it.requests[it.taken - 1]);
}

void fuse_export_idle(struct fuse_export *e)
{
	assert_int_equal(0, e->busy);
	it.idle_calls++;
}

/* ---- what tests begin with ---- */

static int setup(void **state)
{
	struct fuse_export *e = &it.export;

	(void)state;
	memset(&it, 0, sizeof(it));
	disk_setup(&it.disk);
	e->disk = it.disk.disk;
	e->loop = it.disk.o.fake->loop;
	e->memory = alloc_aligned(4096, (size_t)FUSE_SLOTS * FUSE_SLOT_SIZE);
	assert_non_null(e->memory);
	list_init(&e->idle);
	for (size_t i = 0; i < FUSE_SLOTS; i++) {
		e->slots[i].export = e;
		e->slots[i].memory = e->memory + i * FUSE_SLOT_SIZE;
		list_append(&e->idle, &e->slots[i].link);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(0, it.export.busy);
	alloc_free(it.export.memory);
	disk_teardown(&it.disk);
	return 0;
}

static void wait_in_line(void (*call)(struct fuse_req *r), unsigned count)
{
	while (count--)
		it.waiting[it.waiting_count++] = call;
}

static struct fuse_req *one(void (*call)(struct fuse_req *r))
{
	wait_in_line(call, 1);
	fuse_requests_receive(&it.export);
	fake_turns(it.disk.o.fake);
	assert_int_equal(1, it.requests[it.taken - 1].replies);
	assert_null(it.export.current);
	return &it.requests[it.taken - 1];
}

#define END ((off_t)FAKE_BLOCKS * FAKE_BLOCK)

static void read_first(struct fuse_req *r)
{
	fuse_requests.read(r, FUSE_ROOT_ID, 4096, 0, NULL);
}

static void read_over_end(struct fuse_req *r)
{
	fuse_requests.read(r, FUSE_ROOT_ID, 4096, END - 1024, NULL);
}

static void read_behind_end(struct fuse_req *r)
{
	fuse_requests.read(r, FUSE_ROOT_ID, 4096, END, NULL);
}

static void read_nowhere(struct fuse_req *r)
{
	fuse_requests.read(r, FUSE_ROOT_ID, 4096, -4096, NULL);
}

static void read_too_much(struct fuse_req *r)
{
	fuse_requests.read(r, FUSE_ROOT_ID, 4 * FUSE_MAX_IO, 0, NULL);
}

static void reads_end_where_the_disk_does(void **state)
{
	(void)state;
	memset(it.disk.o.fake->disk, 0x5a, 4096);
	assert_int_equal(4096, one(read_first)->size);
	assert_memory_equal(it.requests[0].data, it.disk.o.fake->disk, 4096);
	assert_int_equal(1024, one(read_over_end)->size);
	assert_int_equal(0, one(read_behind_end)->size);
	assert_int_equal(0, one(read_nowhere)->size);
	/* never more than a slot has place for */
	assert_int_equal(FUSE_MAX_IO, one(read_too_much)->size);
}

static void write_second(struct fuse_req *r)
{
	uint8_t *data = it.export.current->memory + 4096; /* behind libfuse's header */

	memset(data, 0x77, 1024);
	fuse_requests.write(r, FUSE_ROOT_ID, (const char *)data, 1024, 512, NULL);
}

static void write_beyond(struct fuse_req *r)
{
	fuse_requests.write(
		r, FUSE_ROOT_ID, (const char *)it.export.current->memory, 1024, END, NULL);
}

static void sync_all(struct fuse_req *r)
{
	fuse_requests.fsync(r, FUSE_ROOT_ID, 1, NULL);
}

static const struct iscsi_pdu *last_command(void)
{
	return fake_last(it.disk.o.fake, ISCSI_SCSI_COMMAND);
}

static void writes_and_flushes_reach_the_target(void **state)
{
	const uint8_t *content = it.disk.o.fake->disk;

	(void)state;
	assert_int_equal(1024, one(write_second)->size);
	assert_int_equal(0, content[511]);
	assert_int_equal(0x77, content[512]);
	assert_int_equal(0x77, content[1535]);
	assert_int_equal(0, content[1536]);
	assert_int_equal(0, one(sync_all)->error);
	assert_int_equal(SCSI_SYNCHRONIZE_CACHE_10, last_command()->command.cdb[0]);
	assert_int_equal(ENOSPC, one(write_beyond)->error);
}

static bool refuse(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	if (pdu->opcode != ISCSI_SCSI_COMMAND)
		return false;
	fake_check(f, pdu, task, SENSE_DATA_PROTECT, 0x2700); /* WRITE PROTECTED */
	return true;
}

static void a_targets_refusal_is_the_systems_error(void **state)
{
	(void)state;
	it.disk.o.fake->override = refuse;
	assert_int_equal(EROFS, one(write_second)->error);
	it.disk.o.fake->override = NULL;
}

static void punch(struct fuse_req *r)
{
	fuse_requests.fallocate(
		r, FUSE_ROOT_ID, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096, NULL);
}

static void zero(struct fuse_req *r)
{
	fuse_requests.fallocate(r, FUSE_ROOT_ID, FALLOC_FL_ZERO_RANGE, 4096, 4096, NULL);
}

static void reserve(struct fuse_req *r)
{
	fuse_requests.fallocate(r, FUSE_ROOT_ID, 0, 0, 4096, NULL);
}

/* The target says that what was unmapped reads as zeroes (LBPRZ), and that WRITE SAME unmaps
 * (LBPWS, SBC-3 section 6.6.4). */
static void a_hole_is_unmapped_where_that_reads_as_zeroes(void **state)
{
	(void)state;
	memset(it.disk.o.fake->disk, 0xff, 4096);
	assert_int_equal(0, one(punch)->error);
	assert_int_equal(SCSI_WRITE_SAME_16, last_command()->command.cdb[0]);
	assert_int_equal(CDB_WRITE_SAME_UNMAP, last_command()->command.cdb[1]);
	assert_int_equal(0, it.disk.o.fake->disk[4095]);
}

/* UNMAP may leave blocks as they are (SBC-3 section 4.7.3). */
static void no_hole_is_made_by_a_target_that_only_knows_unmap(void **state)
{
	(void)state;
	it.disk.o.fake->unmap_alone = true;
	fake_drop(it.disk.o.fake, -ECONNRESET); /* it is looked at again */
	fake_seconds(it.disk.o.fake, 1);
	assert_true(disk_info(it.disk.disk)->unmap_zeroes);
	assert_int_equal(EOPNOTSUPP, one(punch)->error);
	assert_int_equal(0, one(zero)->error);
	assert_int_equal(0, last_command()->command.cdb[1]);
}

static void a_range_of_zeroes_is_written(void **state)
{
	(void)state;
	memset(it.disk.o.fake->disk, 0xff, 16384);
	assert_int_equal(0, one(zero)->error);
	assert_int_equal(SCSI_WRITE_SAME_16, last_command()->command.cdb[0]);
	assert_int_equal(0xff, it.disk.o.fake->disk[4095]);
	assert_int_equal(0, it.disk.o.fake->disk[4096]);
	assert_int_equal(0, it.disk.o.fake->disk[8191]);
	assert_int_equal(0xff, it.disk.o.fake->disk[8192]);
	/* space cannot be reserved */
	assert_int_equal(EOPNOTSUPP, one(reserve)->error);
}

static void attributes(struct fuse_req *r)
{
	fuse_requests.getattr(r, FUSE_ROOT_ID, NULL);
}

static void file_system(struct fuse_req *r)
{
	fuse_requests.statfs(r, FUSE_ROOT_ID);
}

static void truncate_it(struct fuse_req *r)
{
	struct stat st = {.st_size = 0};

	fuse_requests.setattr(r, FUSE_ROOT_ID, &st, FUSE_SET_ATTR_SIZE, NULL);
}

static void touch(struct fuse_req *r)
{
	struct stat st = {0};

	fuse_requests.setattr(r, FUSE_ROOT_ID, &st, FUSE_SET_ATTR_MTIME, NULL);
}

static void open_it(struct fuse_req *r)
{
	struct fuse_file_info fi = {.keep_cache = 1};

	fuse_requests.open(r, FUSE_ROOT_ID, &fi);
}

static void the_file_is_as_large_as_the_disk_and_stays_so(void **state)
{
	const struct fuse_req *r;

	(void)state;
	r = one(attributes);
	assert_int_equal(END, r->attributes.st_size);
	assert_true(S_ISREG(r->attributes.st_mode));
	assert_int_equal(0600, r->attributes.st_mode & 0777);
	assert_int_equal(EPERM, one(truncate_it)->error);
	assert_int_equal(END, one(touch)->attributes.st_size);
	r = one(file_system);
	assert_int_equal(END, r->file_system.f_blocks * r->file_system.f_frsize);
	one(open_it);
	/* the target was asked for none of this */
	assert_int_equal(0, it.disk.o.fake->sent_count);
}

static void as_many_are_under_way_as_there_are_slots(void **state)
{
	(void)state;
	it.disk.o.fake->silent = true;
	wait_in_line(read_first, FUSE_SLOTS + 10);
	fuse_requests_receive(&it.export);
	assert_int_equal(FUSE_SLOTS, it.taken);
	assert_int_equal(FUSE_SLOTS, it.export.busy);
	fuse_requests_receive(&it.export); /* nothing is idle: the rest waits in the kernel */
	assert_int_equal(FUSE_SLOTS, it.taken);
	assert_true(list_empty(&it.export.idle));
	disk_free(it.disk.disk, NULL, NULL); /* what is under way fails, and slots come back */
	fake_seconds(it.disk.o.fake, 1);
	assert_int_equal(0, it.export.busy);
	for (unsigned i = 0; i < FUSE_SLOTS; i++) {
		assert_int_equal(1, it.requests[i].replies);
		assert_int_equal(ESHUTDOWN, it.requests[i].error);
	}
	assert_int_equal(0, disk_new(it.disk.o.session, &it.disk.info, NULL, NULL, &it.disk.disk));
	it.disk.o.fake->silent = false;
}

static void an_interrupted_read_of_the_device_is_read_again(void **state)
{
	(void)state;
	it.error = -EINTR; /* for ever: one turn gives up after as many tries as slots */
	fuse_requests_receive(&it.export);
	assert_int_equal(0, it.taken);
	it.error = -ENODEV; /* unmounted */
	it.export.stopping = true;
	fuse_requests_receive(&it.export);
	assert_null(it.export.current);
	assert_int_equal(0, it.export.retry.heap_index);
	it.export.stopping = false;
}

static void on_stopped(void *owner, int status)
{
	(void)owner;
	(void)status;
}

static unsigned told;

static void count_errors(void *arg, enum log_level level, const char *line)
{
	(void)arg;
	(void)line;
	told += level == LOG_LEVEL_ERROR;
}

static void a_device_that_is_being_taken_away_is_not_missed(void **state)
{
	(void)state;
	told = 0;
	log_set_sink(count_errors, NULL);
	it.export.stopped = on_stopped; /* the thread has unmounted it, and is not through */
	it.error = -ENODEV;
	fuse_requests_receive(&it.export);
	assert_int_equal(0, told);
	assert_int_equal(0, it.export.retry.heap_index);
	log_set_sink(NULL, NULL);
}

static void readable(struct loop_watch *w, unsigned events)
{
	(void)events;
	fuse_requests_receive(container_of(w, struct fuse_export, watch));
}

static void a_device_that_cannot_be_read_is_tried_again(void **state)
{
	struct loop *l = it.disk.o.fake->loop;
	int ends[2];

	(void)state;
	assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	assert_int_equal(1, write(ends[1], "x", 1)); /* readable all the time */
	it.export.watch = (struct loop_watch){.fd = ends[0], .ready = readable};
	it.export.retry.expired = fuse_requests_retry;
	assert_int_equal(0, loop_watch_add(l, &it.export.watch, LOOP_READABLE));
	told = 0;
	log_set_sink(count_errors, NULL);
	it.error = -EIO;
	loop_advance(l, LOOP_NS_PER_S);
	assert_int_equal(1, told); /* of many */
	wait_in_line(read_first, 1);
	it.error = 0;
	loop_advance(l, RETRY_NS);
	assert_int_equal(1, it.requests[0].replies);
	loop_timer_cancel(&it.export.retry);
	loop_watch_remove(&it.export.watch);
	log_set_sink(NULL, NULL);
	close(ends[0]);
	close(ends[1]);
}

static void a_reply_that_is_not_taken_is_given_again(void **state)
{
	struct iovec v = {.iov_base = "reply", .iov_len = 5};

	(void)state;
	write_failures = 3;
	write_error = ENOMEM;
	assert_int_equal(5, fuse_requests_io.writev(-1, &v, 1, NULL));
	write_failures = 2; /* nobody waits for it */
	write_error = ENOENT;
	assert_int_equal(-1, fuse_requests_io.writev(-1, &v, 1, NULL));
	assert_int_equal(1, write_failures);
	told = 0;
	log_set_sink(count_errors, NULL);
	write_failures = UINT_MAX;
	write_error = EIO;
	assert_int_equal(-1, fuse_requests_io.writev(-1, &v, 1, NULL));
	assert_int_equal(1, told);
	log_set_sink(NULL, NULL);
	write_failures = 0;
}

static void the_last_slot_ends_a_stopping_export(void **state)
{
	(void)state;
	wait_in_line(read_first, 2);
	fuse_requests_receive(&it.export);
	it.export.stopping = true;
	assert_int_equal(0, it.idle_calls);
	fake_turns(it.disk.o.fake);
	assert_int_equal(1, it.idle_calls);
	it.export.stopping = false;
}

static void splicing_is_not_wanted(void **state)
{
	struct fuse_conn_info c = {.capable = FUSE_CAP_ASYNC_READ | FUSE_CAP_SPLICE_READ,
		.want = FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE};

	(void)state;
	fuse_requests.init(&it.export, &c);
	assert_int_equal(FUSE_CAP_ASYNC_READ, c.want);
	assert_int_equal(FUSE_MAX_IO, c.max_write);
	assert_int_equal(FUSE_SLOTS, c.max_background);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_end_where_the_disk_does),
		TEST(writes_and_flushes_reach_the_target),
		TEST(a_targets_refusal_is_the_systems_error),
		TEST(a_hole_is_unmapped_where_that_reads_as_zeroes),
		TEST(no_hole_is_made_by_a_target_that_only_knows_unmap),
		TEST(a_range_of_zeroes_is_written),
		TEST(the_file_is_as_large_as_the_disk_and_stays_so),
		TEST(as_many_are_under_way_as_there_are_slots),
		TEST(an_interrupted_read_of_the_device_is_read_again),
		TEST(a_device_that_is_being_taken_away_is_not_missed),
		TEST(a_device_that_cannot_be_read_is_tried_again),
		TEST(a_reply_that_is_not_taken_is_given_again),
		TEST(the_last_slot_ends_a_stopping_export),
		TEST(splicing_is_not_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
