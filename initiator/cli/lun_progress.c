/* The progress line of -m lun, on stderr: rewritten in place on a terminal, else a line per second.
 * Called by mode_lun.c. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "initiator/cli/iseradm.h"

#define SECOND_NS 1000000000ull

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

void lun_progress_init(struct lun_progress *p, bool wanted, bool time)
{
	*p = (struct lun_progress){.terminal = isatty(STDERR_FILENO), .time = time};
	p->show = wanted || p->terminal;
	p->began_ns = now_ns();
}

void lun_progress_line(uint64_t done, uint64_t total, double seconds, char *out, size_t size)
{
	char have[32], all[32], left[48] = "";
	double rate = seconds > 0 ? (double)done / seconds : 0;
	unsigned percent = total ? (unsigned)((double)done * 100 / (double)total) : 0;

	if (rate > 0 && total >= done) {
		unsigned long long s = (unsigned long long)((double)(total - done) / rate + 0.5);

		snprintf(left, sizeof(left), ", %llu:%02llu left", s / 60, s % 60);
	}
	snprintf(out, size, "%s of %s, %u %%, %.0f MB/s%s", bytes_text(done, have),
		bytes_text(total, all), percent, rate / 1e6, left);
}

void lun_progress_show(void *progress, struct json_object *json)
{
	struct lun_progress *p = progress;
	uint64_t done = field_number(json, "done"), total = field_number(json, "total");
	uint64_t now = now_ns();
	char line[160];

	if (!p->show || !total || (!p->terminal && now - p->last_ns < SECOND_NS))
		return;
	p->last_ns = now;
	if (p->time)
		snprintf(line, sizeof(line), "%.1f of %.1f s", (double)done / 1000,
			(double)total / 1000);
	else
		lun_progress_line(
			done, total, (double)(now - p->began_ns) / SECOND_NS, line, sizeof(line));
	fprintf(stderr, p->terminal ? "\r%s\033[K" : "%s\n", line);
	fflush(stderr);
	p->shown = true;
}

void lun_progress_end(struct lun_progress *p)
{
	if (p->shown && p->terminal)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
