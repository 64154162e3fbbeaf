/* The LUN scan, see scan.h: REPORT LUNS (SPC-4 section 6.33), then a probe of each LUN in turn. */
#include "initiator/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/scsi/capacity.h"
#include "common/scsi/cdb.h"
#include "initiator/probe.h"

/* The first REPORT LUNS asks for this many; a second one for all that there can be. */
#define SCAN_LUNS_FIRST 256

struct ini_scan {
	struct ini_session *session;
	void (*done)(void *owner, int error, const struct disk_info *luns, size_t count);
	void *owner;
	struct ini_task task;
	uint8_t *list;	  /* REPORT LUNS data */
	size_t list_luns; /* that fit in it */
	uint16_t *luns;
	size_t luns_count, next;
	struct disk_info *found;
	size_t found_count;
	struct probe probe;
	bool cancelled;
};

static void scan_free(struct ini_scan *scan)
{
	alloc_free(scan->list);
	alloc_free(scan->luns);
	alloc_free(scan->found);
	alloc_free(scan);
}

static void scan_finish(struct ini_scan *scan, int error)
{
	if (error < 0)
		scan->done(scan->owner, error, NULL, 0);
	else
		scan->done(scan->owner, 0, scan->found, scan->found_count);
	scan_free(scan);
}

/* ---- LUNs, one by one ---- */

static void scan_next(struct ini_scan *scan)
{
	if (scan->cancelled || scan->next == scan->luns_count) {
		scan_finish(scan, scan->cancelled ? -ECANCELED : 0);
		return;
	}
	scan->probe.lun = scan->luns[scan->next++];
	probe_start(&scan->probe);
}

/* Errors of the session end the scan; those of a LUN leave it out. */
static bool error_of_session(int error)
{
	return error == -ESHUTDOWN || error == -ECANCELED || error == -ENOTCONN;
}

static void scan_probed(struct probe *p, int error)
{
	struct ini_scan *scan = container_of(p, struct ini_scan, probe);

	if (error_of_session(error)) {
		scan_finish(scan, error);
		return;
	}
	if (error == 0)
		scan->found[scan->found_count++] = p->info;
	else if (error != -ENODEV)
		log_warning("scan", "%s: LUN %u is left out: %s",
			ini_session_config(scan->session)->target_name, p->lun, p->why);
	scan_next(scan);
}

/* ---- REPORT LUNS ---- */

static int compare_luns(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* A target may list a LUN twice; it is one disk all the same. */
static size_t unique_luns(uint16_t *luns, size_t count)
{
	size_t kept = 0;

	qsort(luns, count, sizeof(*luns), compare_luns);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || luns[i] != luns[i - 1])
			luns[kept++] = luns[i];
	return kept;
}

/* Those of the list that are numbers 0..16383; other forms (well-known LUNs, hierarchies) are
 * passed over. */
static void take_luns(struct ini_scan *scan, const uint64_t *wire, size_t count)
{
	scan->luns_count = 0;
	for (size_t i = 0; i < count; i++)
		if (iscsi_lun_decode(wire[i], &scan->luns[scan->luns_count]) == 0) {
			ini_session_lun_seen(scan->session, wire[i]);
			scan->luns_count++;
		}
	scan->luns_count = unique_luns(scan->luns, scan->luns_count);
}

static int reserve_luns(struct ini_scan *scan, size_t luns)
{
	size_t length = REPORT_LUNS_HEADER_SIZE + luns * sizeof(uint64_t);
	uint8_t *list = alloc_zeroed(length);

	if (!list)
		return -ENOMEM;
	alloc_free(scan->list);
	scan->list = list;
	scan->list_luns = luns;
	return 0;
}

static int prepare_probes(struct ini_scan *scan, size_t luns)
{
	scan->luns = alloc_array(luns, sizeof(*scan->luns));
	scan->found = alloc_array(luns, sizeof(*scan->found));
	return scan->luns && scan->found ? 0 : -ENOMEM;
}

/* A target that does not know REPORT LUNS has LUN 0, or none. */
static void only_lun_zero(struct ini_scan *scan)
{
	if (prepare_probes(scan, 1) < 0) {
		scan_finish(scan, -ENOMEM);
		return;
	}
	scan->luns_count = 1;
	scan_next(scan);
}

static void ask_report_luns(struct ini_scan *scan);

static int take_report(struct ini_scan *scan, size_t count, size_t *ret_total)
{
	uint64_t *wire = alloc_array(scan->list_luns, sizeof(*wire));
	int r;

	if (!wire)
		return -ENOMEM;
	r = report_luns_decode(scan->list, scan->task.received, wire, scan->list_luns, ret_total);
	if (r >= 0 && *ret_total <= count) {
		count = (size_t)r;
		r = prepare_probes(scan, count ? count : 1);
		if (r == 0)
			take_luns(scan, wire, count);
	}
	alloc_free(wire);
	return r < 0 ? r : 0;
}

static void take_report_luns(struct ini_scan *scan)
{
	size_t total = 0, limit = scan->list_luns;
	int r;

	if (limit == SCAN_LUNS_MAX)
		limit = SIZE_MAX; /* there is no asking for more */
	r = take_report(scan, limit, &total);
	if (r == 0 && total > limit) {
		r = reserve_luns(scan, SCAN_LUNS_MAX);
		if (r == 0) {
			ask_report_luns(scan);
			return;
		}
	}
	if (r < 0)
		scan_finish(scan, r);
	else
		scan_next(scan);
}

static void report_luns_answered(struct ini_task *t, int error)
{
	struct ini_scan *scan = container_of(t, struct ini_scan, task);

	if (error < 0 || scan->cancelled)
		scan_finish(scan, scan->cancelled ? -ECANCELED : error);
	else if (task_result(t, NULL, 0) < 0)
		only_lun_zero(scan);
	else
		take_report_luns(scan);
}

static void ask_report_luns(struct ini_scan *scan)
{
	uint32_t length = (uint32_t)(REPORT_LUNS_HEADER_SIZE + scan->list_luns * sizeof(uint64_t));

	scan->task = (struct ini_task){
		.read = {.data = scan->list, .length = length},
		.repeatable = true,
		.done = report_luns_answered,
	};
	cdb_report_luns(scan->task.cdb, length);
	ini_session_submit(scan->session, &scan->task);
}

/* ---- life ---- */

int ini_scan_start(struct ini_session *s,
	void (*done)(void *owner, int error, const struct disk_info *luns, size_t count),
	void *owner, struct ini_scan **ret)
{
	struct ini_scan *scan = alloc_zeroed(sizeof(*scan));
	int r = -ENOMEM;

	if (!scan)
		return r;
	scan->session = s;
	scan->done = done;
	scan->owner = owner;
	scan->probe.session = s;
	scan->probe.done = scan_probed;
	r = reserve_luns(scan, SCAN_LUNS_FIRST);
	if (r < 0)
		goto fail;
	ask_report_luns(scan);
	*ret = scan;
	return 0;
fail:
	scan_free(scan);
	return r;
}

void ini_scan_cancel(struct ini_scan *scan)
{
	scan->cancelled = true;
	if (scan->luns)
		probe_cancel(&scan->probe);
	else
		ini_session_abort(scan->session, &scan->task);
}
