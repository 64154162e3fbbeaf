/* A scan over the fake target and what came of it, for the tests of scan.c and probe.c. */
#pragma once

#include "initiator/scan.h"
#include "tests/unit/initiator/fake_target.h"

struct fake_scan {
	struct fake_owner o;
	unsigned done;
	int error;
	size_t count;
	struct disk_info first;
	uint16_t luns[512];
};

static inline void scan_done(void *owner, int error, const struct disk_info *luns, size_t count)
{
	struct fake_scan *s = owner;

	s->done++;
	s->error = error;
	s->count = count;
	if (count)
		s->first = luns[0];
	for (size_t i = 0; i < count && i < ARRAY_SIZE(s->luns); i++)
		s->luns[i] = luns[i].lun;
}

static inline void scan_run(struct fake_scan *s)
{
	struct ini_scan *scan;

	s->done = 0;
	assert_int_equal(ini_scan_start(s->o.session, scan_done, s, &scan), 0);
	assert_int_equal(s->done, 0);
	fake_seconds(s->o.fake, 1);
	assert_int_equal(s->done, 1);
}
