/* Disks over every mover: found by the scan, written and read through registered and other memory,
 * flushed, discarded, zeroed, and kept over lost connections. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/disk.h"
#include "initiator/scan.h"
#include "tests/kit/stories.h"

#define SIZE (4u << 20)
#define IOS 32u

struct room {
	struct two_ends *ends;
	struct two_session session;
	struct disk *disks[2];
	size_t found;
	bool scanned;
	unsigned freed, gone, done;
	uint8_t *out, *in;	  /* SIZE bytes each */
	struct dm_region *region; /* of `in` and `out` as one */
	struct disk_io ios[IOS];
	int status[IOS];
};

/* ---- a room of its own for each story ---- */

static void disk_gone(void *owner, const char *why)
{
	(void)why;
	((struct room *)owner)->gone++;
}

static void scan_done(void *owner, int error, const struct disk_info *luns, size_t count)
{
	static const struct disk_events events = {.gone = disk_gone};
	struct room *r = owner;

	assert_int_equal(error, 0);
	assert_int_equal(count, 2);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(
			disk_new(r->session.session, &luns[i], &events, r, &r->disks[i]), 0);
	r->scanned = true;
}

static bool is_scanned(void *arg)
{
	return ((struct room *)arg)->scanned;
}

static void room_open(struct room *r, const struct two_ends_config *config)
{
	struct ini_session_config c;
	struct ini_scan *scan;

	*r = (struct room){.ends = two_ends_new(config)};
	c = two_session_config(r->ends, TWO_ENDS_IQN);
	two_session_login(&r->session, r->ends, &c);
	assert_int_equal(ini_scan_start(r->session.session, scan_done, r, &scan), 0);
	two_ends_until(r->ends, is_scanned, r);
	r->out = aligned_alloc(4096, 2 * SIZE);
	r->in = r->out + SIZE;
	assert_int_equal(disk_register(r->disks[0], r->out, 2 * SIZE, &r->region), 0);
	for (size_t i = 0; i < SIZE; i++)
		r->out[i] = (uint8_t)(i * 13 + i / 509);
	memset(r->in, 0, SIZE);
}

static void disk_freed(void *owner)
{
	((struct room *)owner)->freed++;
}

static bool are_freed(void *arg)
{
	return ((struct room *)arg)->freed == 2;
}

static void room_close(struct room *r)
{
	disk_unregister(r->disks[0], r->region);
	disk_free(r->disks[0], disk_freed, r);
	disk_free(r->disks[1], disk_freed, r);
	two_ends_until(r->ends, are_freed, r);
	two_session_end(&r->session);
	two_ends_free(r->ends);
	free(r->out);
}

static struct room *room_of; /* of the story that runs */

static void io_done(struct disk_io *io, int status)
{
	room_of->status[io - room_of->ios] = status;
	room_of->done++;
}

static void io_submit(struct room *r, unsigned i, unsigned disk, struct disk_io io)
{
	room_of = r;
	r->status[i] = 1;
	io.done = io_done;
	r->ios[i] = io;
	disk_submit(r->disks[disk], &r->ios[i]);
	assert_int_equal(r->status[i], 1); /* never from inside */
}

static bool first_is_done(void *arg)
{
	return ((struct room *)arg)->status[0] <= 0;
}

static int io_run(struct room *r, struct disk_io io)
{
	io_submit(r, 0, 0, io);
	two_ends_until(r->ends, first_is_done, r);
	return r->status[0];
}

/* ---- stories ---- */

static void the_scan_tells_what_the_target_has(const struct two_ends_config *config)
{
	struct room r;
	const struct disk_info *info;

	room_open(&r, config);
	info = disk_info(r.disks[0]);
	assert_int_equal(info->lun, 0);
	assert_int_equal(info->size, 64 << 20);
	assert_int_equal(info->block_size, 512);
	assert_true(info->max_transfer >= 512 * 1024);
	assert_true(strlen(info->wwid) > 4);
	assert_true(strlen(info->serial) > 0);
	assert_int_equal(disk_info(r.disks[1])->lun, 1);
	assert_int_equal(disk_info(r.disks[1])->size, 16 << 20);
	assert_string_not_equal(disk_info(r.disks[1])->wwid, info->wwid);
	room_close(&r);
}

static void what_was_written_is_read(const struct two_ends_config *config)
{
	static const uint32_t lengths[] = {512, 4096, 65536, 1 << 20, SIZE};
	struct room r;

	room_open(&r, config);
	for (unsigned i = 0; i < 2 * sizeof(lengths) / sizeof(*lengths); i++) {
		struct dm_region *region = i & 1 ? r.region : NULL;
		uint32_t length = lengths[i / 2];
		struct disk_io io = {
			.operation = DISK_WRITE,
			.offset = 512 * (i + 1),
			.length = length,
			.data = r.out + SIZE - length,
			.region = region,
			.fua = i & 1,
		};

		assert_int_equal(io_run(&r, io), 0);
		io.operation = DISK_READ;
		io.data = r.in;
		memset(r.in, 0, length);
		assert_int_equal(io_run(&r, io), 0);
		assert_memory_equal(r.in, r.out + SIZE - length, length);
	}
	room_close(&r);
}

static void zeroes_discard_and_flush_reach_the_target(const struct two_ends_config *config)
{
	struct disk_io io = {.operation = DISK_WRITE, .length = SIZE};
	struct room r;

	room_open(&r, config);
	io.data = r.out;
	assert_int_equal(io_run(&r, io), 0);
	assert_int_equal(io_run(&r, (struct disk_io){.operation = DISK_FLUSH}), 0);
	io.operation = DISK_WRITE_ZEROES;
	io.offset = 512;
	io.length = SIZE / 2;
	io.fua = true;
	assert_int_equal(io_run(&r, io), 0);
	memset(r.out + 512, 0, SIZE / 2);
	io = (struct disk_io){.operation = DISK_READ, .length = SIZE, .data = r.in};
	assert_int_equal(io_run(&r, io), 0);
	assert_memory_equal(r.in, r.out, SIZE);
	io.operation = DISK_DISCARD;
	if (disk_info(r.disks[0])->max_discard)
		assert_int_equal(io_run(&r, io), 0);
	room_close(&r);
}

static bool all_are_done(void *arg)
{
	return ((struct room *)arg)->done >= IOS;
}

/* The slow LUN, so that there is a middle; the connection is cut in it, twice. */
static void writes_survive_lost_connections(const struct two_ends_config *config)
{
	const uint32_t length = SIZE / IOS;
	struct room r;

	room_open(&r, config);
	r.done = 0;
	for (unsigned i = 0; i < IOS; i++)
		io_submit(&r, i, 1,
			(struct disk_io){
				.operation = DISK_WRITE,
				.offset = i * length,
				.length = length,
				.data = r.out + i * length,
				.region = i & 1 ? r.region : NULL,
			});
	for (unsigned i = 0; i < 2; i++) {
		two_ends_turn_for(r.ends, 50 * LOOP_NS_PER_MS);
		two_ends_cut(r.ends);
		two_ends_turn_for(r.ends, 300 * LOOP_NS_PER_MS);
	}
	two_ends_until(r.ends, all_are_done, &r);
	for (unsigned i = 0; i < IOS; i++)
		assert_int_equal(r.status[i], 0);
	assert_true(r.session.logged_in > 1);
	assert_int_equal(r.gone, 0);
	io_submit(&r, 0, 1, (struct disk_io){.operation = DISK_READ, .length = SIZE, .data = r.in});
	two_ends_until(r.ends, first_is_done, &r);
	assert_int_equal(r.status[0], 0);
	assert_memory_equal(r.in, r.out, SIZE);
	room_close(&r);
}

static void a_disk_is_freed_in_the_middle_of_io(const struct two_ends_config *config)
{
	struct room r;

	room_open(&r, config);
	r.done = 0;
	for (unsigned i = 0; i < IOS; i++)
		io_submit(&r, i, 1,
			(struct disk_io){
				.operation = i & 1 ? DISK_WRITE : DISK_READ,
				.offset = i * 4096,
				.length = 4096,
				.data = r.in + i * 4096,
				.region = r.region,
			});
	two_ends_turn_for(r.ends, 20 * LOOP_NS_PER_MS);
	disk_free(r.disks[1], disk_freed, &r);
	r.disks[1] = NULL;
	two_ends_until(r.ends, all_are_done, &r);
	two_ends_turn_for(r.ends, 20 * LOOP_NS_PER_MS);
	assert_int_equal(r.freed, 1);
	room_close(&r);
}

int main(void)
{
	static const struct story stories[] = {
		STORY(the_scan_tells_what_the_target_has),
		STORY(what_was_written_is_read),
		STORY(zeroes_discard_and_flush_reach_the_target),
		STORY(writes_survive_lost_connections),
		STORY(a_disk_is_freed_in_the_middle_of_io),
	};

	return stories_run(stories, sizeof(stories) / sizeof(*stories));
}
