/* Requests of jobs: operations and their options by table, the record that says how to log in, and
 * the check that nobody writes below a device in use. Called by job.c, on the daemon's loop. */
#include "initiator/daemon/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/suggest.h"
#include "initiator/daemon/sessions.h"

static bool always(const struct job *j)
{
	(void)j;
	return true;
}

#define COPY .disk = true, .file = true, .start = job_copy_start, .release = job_copy_release

static const struct job_operation operations[] = {
	{.name = "list"},
	{.name = "read", COPY, .file_write = true},
	{.name = "write", COPY, .writes = always},
	{.name = "copy-in", COPY, .writes = always},
	{.name = "copy-out", COPY, .file_write = true},
	{.name = "verify", COPY},
	{.name = "reset", .disk = true, .writes = always, .start = job_reset_start},
	{.name = "bench",
		.disk = true,
		.writes = job_bench_writes,
		.start = job_bench_start,
		.release = job_bench_release},
};

/* ---- operation and options ---- */

static bool refuse_unknown(
	struct control_request *r, const char *what, const char *word, struct suggestion *s)
{
	if (!word)
		control_fail(r, STATUS_USAGE, "%s: there is none in the request", what);
	else if (s->best)
		control_fail(r, STATUS_USAGE, "%s '%.40s' is not known; did you mean '%s'?", what,
			word, s->best);
	else
		control_fail(r, STATUS_USAGE,
			"%s '%.40s' is not known; iseradm -m lun --help lists them", what, word);
	return false;
}

static bool read_operation(struct job *j, struct control_request *r, struct json_object *json)
{
	const char *word = request_text(json, "operation");
	struct suggestion s = suggestion(word ? word : "");

	for (size_t i = 0; word && i < ARRAY_SIZE(operations); i++) {
		suggestion_consider(&s, operations[i].name);
		if (strcmp(operations[i].name, word) == 0) {
			j->operation = &operations[i];
			return true;
		}
	}
	return refuse_unknown(r, "operation", word, &s);
}

static const char *const rw_names[] = {
	[JOB_READ] = "read",
	[JOB_WRITE] = "write",
	[JOB_RANDREAD] = "randread",
	[JOB_RANDWRITE] = "randwrite",
	[JOB_RANDRW] = "randrw",
	[JOB_RW] = "rw",
};

static bool read_rw(struct job *j, struct control_request *r, struct json_object *json)
{
	const char *word = request_text(json, "rw");
	struct suggestion s = suggestion(word ? word : "");

	j->options.rw = JOB_RANDREAD;
	if (!word)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(rw_names); i++) {
		suggestion_consider(&s, rw_names[i]);
		if (strcmp(rw_names[i], word) == 0) {
			j->options.rw = i;
			return true;
		}
	}
	return refuse_unknown(r, "pattern", word, &s);
}

const char *job_rw_name(const struct job *j)
{
	return rw_names[j->options.rw];
}

static const struct {
	const char *key;
	size_t at;
	uint64_t min, max, otherwise;
} numbers[] = {
#define NUMBER(key, field, ...)                                                                    \
	{                                                                                          \
		key, offsetof(struct job_options, field), __VA_ARGS__                              \
	}
	NUMBER("lun", lun, 0, SCAN_LUNS_MAX - 1, 0),
	NUMBER("offset", offset, 0, INT64_MAX, 0),
	NUMBER("length", length, 0, INT64_MAX, UINT64_MAX),
	NUMBER("bs", block_size, 512, JOB_BLOCK_MAX, 4096),
	NUMBER("iodepth", depth, 1, JOB_DEPTH_MAX, 1),
	NUMBER("runtime_ms", runtime_ms, 1, 24 * 3600 * 1000, 5000),
	NUMBER("rwmixread", read_percent, 0, 100, 50),
	NUMBER("busy_poll_us", busy_poll_us, 0, 1000000, 0),
#undef NUMBER
};

static bool read_numbers(struct job *j, struct control_request *r, struct json_object *json)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		uint64_t *field = (uint64_t *)((char *)&j->options + numbers[i].at);

		if (request_number(json, numbers[i].key, numbers[i].max, numbers[i].otherwise,
			    field) < 0 ||
			*field < numbers[i].min) {
			control_fail(r, STATUS_USAGE, "%s: a whole number within %llu..%llu",
				numbers[i].key, (unsigned long long)numbers[i].min,
				(unsigned long long)numbers[i].max);
			return false;
		}
	}
	if (j->options.depth * j->options.block_size <= JOB_MEMORY_MAX)
		return true;
	control_fail(r, STATUS_USAGE,
		"bs times iodepth is %llu MiB of buffers; %llu MiB is the most",
		(unsigned long long)(j->options.depth * j->options.block_size >> 20),
		JOB_MEMORY_MAX >> 20);
	return false;
}

/* Without a wait: a pipe could keep the thread, and the daemon's end, for ever. */
static bool read_file(struct job *j, struct control_request *r)
{
	struct stat st;
	int mode;

	j->file = control_request_take_fd(r);
	if (!j->operation->file)
		return true;
	mode = j->file < 0 ? -1 : fcntl(j->file, F_GETFL) & O_ACCMODE;
	if (j->file < 0 || fstat(j->file, &st) < 0 || mode < 0 ||
		!(S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))) {
		control_fail(r, STATUS_USAGE,
			"%s needs a regular file or a block device to come with the request",
			j->operation->name);
		return false;
	}
	if (mode == O_RDWR || mode == (j->operation->file_write ? O_WRONLY : O_RDONLY))
		return true;
	control_fail(r, STATUS_USAGE, "%s: the file is not open for %s", j->operation->name,
		j->operation->file_write ? "writing" : "reading");
	return false;
}

/* ---- the record ---- */

struct record_search {
	struct node_record *found;
	unsigned count; /* portals */
	bool unusable;
	char why[RECORDS_WHY_SIZE]; /* what is wrong with that one */
};

static int consider_record(void *arg, const struct node_record *r, const char *why)
{
	struct record_search *s = arg;

	if (!r) {
		s->unusable = true;
		snprintf(s->why, sizeof(s->why), "%s", why);
		return 0;
	}
	if (s->count && strcmp(s->found->address, r->address) == 0 && s->found->port == r->port) {
		/* the same portal through the other transport: iSER is preferred */
		if (r->transport == NODE_TRANSPORT_ISER)
			*s->found = *r;
		return 0;
	}
	if (s->count++ == 0)
		*s->found = *r;
	return 0;
}

/* No record is needed where the request says all. */
static void record_from_request(struct job *j, const struct request_filter *f)
{
	node_record_default(&j->record, NODE_TRANSPORT_ISER);
	snprintf(j->record.target_name, sizeof(j->record.target_name), "%s", f->record.target_name);
	snprintf(j->record.address, sizeof(j->record.address), "%s", f->record.address);
	j->record.port = f->record.port;
}

static bool choose_record(struct job *j, struct control_request *r, const struct request_filter *f)
{
	struct record_search search = {.found = &j->record};
	struct record_filter any_transport = f->record;

	records_each(j->daemon->records, &f->record, consider_record, &search);
	any_transport.iface = NULL;
	if (!search.count)
		records_each(j->daemon->records, &any_transport, consider_record, &search);
	if (search.count > 1) {
		control_fail(r, STATUS_USAGE,
			"%s is at %u portals; -p says which one, iseradm -m node lists them",
			f->record.target_name, search.count);
		return false;
	}
	if (!search.count && search.unusable) {
		control_fail(r, STATUS_DATABASE, "%s", search.why);
		return false;
	}
	if (!search.count && !f->record.address) {
		control_fail(r, STATUS_NOT_FOUND,
			"%s: no record of this target; -p HOST says where it is",
			f->record.target_name);
		return false;
	}
	if (!search.count)
		record_from_request(j, f);
	return true;
}

static bool read_record(struct job *j, struct control_request *r, struct json_object *json)
{
	struct request_filter f;
	enum node_transport transport;

	if (!request_filter(r, json, &f))
		return false;
	if (!f.record.target_name) {
		control_fail(r, STATUS_USAGE, "which target? -T says it");
		return false;
	}
	if (!choose_record(j, r, &f))
		return false;
	if (f.transport && node_transport_parse(f.transport, &transport) == 0)
		j->record.transport = transport;
	request_provider(&f, &j->record.provider);
	address_print_named(j->record.address, j->record.port, j->portal, sizeof(j->portal));
	return true;
}

/* ---- devices in use ---- */

static bool lun_in_use(const struct daemon_lun *l, struct control_request *r)
{
	const char *device = l->state == LUN_READY ? l->export->ops->device(l->export) : NULL;
	char user[200];

	if (!device || !usage_find(device, user, sizeof(user)))
		return false;
	control_fail(r, STATUS_BUSY,
		"LUN %u is %s here, which is %s; writing below it would spoil that; --force does "
		"it all the same",
		l->number, device, user);
	return true;
}

static bool in_use(const struct job *j, struct control_request *r)
{
	const struct daemon_session *s;
	const struct daemon_lun *l;

	list_for_each(s, &j->daemon->sessions, link) {
		if (strcmp(s->record.target_name, j->record.target_name) != 0)
			continue;
		list_for_each(l, &s->luns, link)
			if (l->number == j->options.lun && lun_in_use(l, r))
				return true;
	}
	return false;
}

bool job_request_read(struct job *j, struct control_request *r, struct json_object *json)
{
	const struct job_operation *o;

	if (!read_operation(j, r, json) || !read_rw(j, r, json) || !read_numbers(j, r, json) ||
		!read_file(j, r) || !read_record(j, r, json))
		return false;
	o = j->operation;
	j->truncate = request_flag(json, "truncate", false);
	if (o->disk && !json_object_object_get_ex(json, "lun", NULL)) {
		control_fail(r, STATUS_USAGE, "which LUN? -l says it; -o list shows them");
		return false;
	}
	return !o->writes || !o->writes(j) || request_flag(json, "force", false) || !in_use(j, r);
}
