/* A disk over the fake target, for tests of disk*.c. */
#pragma once

#include "initiator/disk.h"
#include "initiator/scan.h"
#include "tests/unit/initiator/fake_target.h"

struct fake_disk {
	struct fake_owner o;
	struct disk *disk;
	struct disk_info info;
	unsigned resized, gone, freed;
	size_t found;
};

static inline void scan_done(void *owner, int error, const struct disk_info *luns, size_t count)
{
	struct fake_disk *d = owner;

	assert_int_equal(error, 0);
	d->found = count;
	d->info = luns[0];
}

static inline void disk_was_resized(void *owner)
{
	((struct fake_disk *)owner)->resized++;
}

static inline void disk_is_gone(void *owner, const char *why)
{
	((struct fake_disk *)owner)->gone++;
	assert_true(strlen(why) > 0);
}

static inline void disk_is_free(void *owner)
{
	((struct fake_disk *)owner)->freed++;
}

static const struct disk_events disk_events = {disk_was_resized, disk_is_gone};

static inline void disk_setup_config(
	struct fake_disk *d, uint32_t max_transfer, uint32_t queue_depth)
{
	struct ini_session_config c;
	struct ini_scan *scan;

	*d = (struct fake_disk){.o = {.fake = fake_new()}};
	c = owner_config(d->o.fake);
	c.queue_depth = queue_depth;
	d->o.fake->max_transfer = max_transfer;
	owner_start(&d->o, &c);
	assert_int_equal(ini_scan_start(d->o.session, scan_done, d, &scan), 0);
	fake_turns(d->o.fake);
	assert_int_equal(d->found, 1);
	assert_int_equal(disk_new(d->o.session, &d->info, &disk_events, d, &d->disk), 0);
	d->o.fake->sent_count = 0;
}

static inline void disk_setup(struct fake_disk *d)
{
	disk_setup_config(d, 64, 4); /* 32 KiB per command */
}

static inline void disk_teardown(struct fake_disk *d)
{
	disk_free(d->disk, disk_is_free, d);
	fake_seconds(d->o.fake, 1);
	assert_int_equal(d->freed, 1);
	owner_teardown(&d->o);
}

struct fake_disk_io {
	struct disk_io io;
	unsigned done;
	int status;
};

static inline void io_done(struct disk_io *io, int status)
{
	struct fake_disk_io *f = container_of(io, struct fake_disk_io, io);

	f->done++;
	f->status = status;
}

static inline void io_submit(struct fake_disk *d, struct fake_disk_io *f,
	enum disk_operation operation, uint64_t offset, uint64_t length, void *data)
{
	bool fua = f->io.fua;

	*f = (struct fake_disk_io){.io = {.operation = operation,
					   .offset = offset,
					   .length = length,
					   .data = data,
					   .fua = fua,
					   .done = io_done}};
	disk_submit(d->disk, &f->io);
	assert_int_equal(f->done, 0); /* never from inside */
}

static inline int io_run(struct fake_disk *d, struct fake_disk_io *f, enum disk_operation operation,
	uint64_t offset, uint64_t length, void *data)
{
	io_submit(d, f, operation, offset, length, data);
	fake_turns(d->o.fake);
	assert_int_equal(f->done, 1);
	return f->status;
}
