/* What tests of iserd's files share: a daemon with a virtual clock and a record database of its
 * own, and requests that keep their answers. The file under test is included, since a program's
 * files are in no library; what it calls in the others is given by each test. */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "initiator/daemon/sessions.h"

/* Names of their own: files under test have such tables, too. */
#define rows failure_rows
#define ROOM failure_room
#include "initiator/daemon/failure.c"
#include "initiator/daemon/request.c"
#undef rows
#undef ROOM

#define TARGET "iqn.2026-11.org.example:disk"

static char kit_why[RECORDS_WHY_SIZE];

/* ---- requests, in place of the control server ---- */

#define KIT_PROGRESS_MAX 16

struct control_request {
	struct json_object *json;
	bool unprivileged;
	int fd;
	unsigned answered;
	int status; /* of the answer; -1: there is none yet */
	char error[600];
	struct json_object *reply; /* NULL: none, or {} */
	char progress[KIT_PROGRESS_MAX][512];
	unsigned told;
	void (*closed)(void *arg);
	void *closed_arg;
};

static inline struct control_request request(const char *text)
{
	struct control_request r = {.json = json_tokener_parse(text), .fd = -1, .status = -1};

	assert_non_null(r.json);
	return r;
}

static inline void request_free(struct control_request *r)
{
	json_object_put(r->json);
	json_object_put(r->reply);
	*r = (struct control_request){.status = -1, .fd = -1};
}

/* The answer as JSON without blanks, or the line of a refusal. */
static inline const char *answer(const struct control_request *r)
{
	if (r->status)
		return r->error;
	return r->reply ? json_object_to_json_string_ext(
				  r->reply, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
			: "";
}

bool control_request_is_privileged(const struct control_request *r)
{
	return !r->unprivileged;
}

void control_request_on_close(struct control_request *r, void (*closed)(void *arg), void *arg)
{
	r->closed = closed;
	r->closed_arg = arg;
}

int control_request_take_fd(struct control_request *r)
{
	int fd = r->fd;

	r->fd = -1;
	return fd;
}

void control_reply(struct control_request *r, struct json_object *json)
{
	assert_int_equal(r->answered++, 0);
	r->status = STATUS_OK;
	r->reply = json;
}

void control_progress(struct control_request *r, struct json_object *json)
{
	assert_int_equal(r->answered, 0);
	assert_true(r->told < KIT_PROGRESS_MAX);
	snprintf(r->progress[r->told++], sizeof(r->progress[0]), "%s",
		json_object_to_json_string_ext(
			json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(json);
}

void control_fail(struct control_request *r, int status, const char *format, ...)
{
	va_list args;

	assert_int_equal(r->answered++, 0);
	assert_int_not_equal(status, STATUS_OK);
	r->status = status;
	va_start(args, format);
	vsnprintf(r->error, sizeof(r->error), format, args);
	va_end(args);
}

/* ---- the daemon ---- */

#ifndef KIT_NO_SETTLE
static unsigned settled_count;

void daemon_settle(struct daemon *d)
{
	(void)d;
	settled_count++;
}
#endif

static char logged[4096];

static inline void kit_log(void *arg, enum log_level level, const char *line)
{
	size_t used = strlen(logged);

	(void)arg;
	(void)level;
	snprintf(logged + used, sizeof(logged) - used, "%s\n", line);
}

struct kit {
	struct daemon d;
	char directory[64];
};

static inline int kit_setup(void **state)
{
	static const struct loop_config config = {.virtual_clock = true};
	struct kit *k = calloc(1, sizeof(*k));

	/* each record is written with fsync(): a disk would take its time for hundreds */
	strcpy(k->directory, access("/dev/shm", W_OK) == 0 ? "/dev/shm/iseran-daemon-XXXXXX"
							   : "/tmp/iseran-daemon-XXXXXX");
	assert_non_null(mkdtemp(k->directory));
	logged[0] = '\0';
	log_set_sink(kit_log, NULL);
	k->d.loop = loop_new(&config);
	assert_non_null(k->d.loop);
	assert_int_equal(records_open(k->directory, &k->d.records, kit_why), 0);
	k->d.config.runtime_directory = k->d.config.state_directory = k->directory;
	k->d.pid_file = -1;
	list_init(&k->d.sessions);
	list_init(&k->d.autologins);
	list_init(&k->d.discoveries);
	*state = k;
	return 0;
}

static inline int kit_teardown(void **state)
{
	struct kit *k = *state;
	char command[128];
	int r;

	records_close(k->d.records);
	loop_free(k->d.loop);
	log_set_sink(NULL, NULL);
	assert_int_equal(alloc_live(), 0);
	snprintf(command, sizeof(command), "rm -rf %s", k->directory);
	r = system(command);
	free(k);
	return r;
}

#define KIT_TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)

static inline void turns(struct daemon *d)
{
	while (loop_turn(d->loop, 0))
		;
}

static inline void keep(struct daemon *d, const struct node_record *r)
{
	assert_int_equal(records_write(d->records, r, kit_why), 0);
}

static inline struct node_record record(const char *target, const char *address, uint32_t tpgt)
{
	struct node_record r;

	node_record_default(&r, NODE_TRANSPORT_TCP);
	strcpy(r.target_name, target);
	strcpy(r.address, address);
	r.tpgt = tpgt;
	return r;
}

/* A session that only is there, for those who look for it. */
static inline struct daemon_session *session_of(
	struct daemon *d, const struct node_record *r, unsigned number)
{
	struct daemon_session *s = calloc(1, sizeof(*s));

	s->daemon = d;
	s->record = *r;
	s->number = number;
	s->suffix = "";
	s->phase = SESSION_UP;
	list_init(&s->luns);
	snprintf(s->portal, sizeof(s->portal), "%.40s:%u", r->address, r->port);
	list_append(&d->sessions, &s->link);
	return s;
}

static inline void session_away(struct daemon_session *s)
{
	list_remove(&s->link);
	free(s);
}
