/* Both ends of the control socket in one process: the daemon's on a loop that runs in a thread. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "common/base/options.h"
#include "common/base/sys.h"
#include "common/control/control.h"
#include "common/loop/loop.h"

struct fixture {
	char directory[32], path[64];
	struct loop *loop;
	struct control_server *server;
	pthread_t thread;
	bool rests; /* no thread runs the loop any more */
	struct control_request *held;
	atomic_uint closed, flooded;
};

static inline void held_closed(void *arg)
{
	struct fixture *f = arg;

	atomic_fetch_add(&f->closed, 1);
	control_reply(f->held, NULL); /* into nothing */
}

static inline void handle(void *owner, struct control_request *r, struct json_object *json)
{
	struct fixture *f = owner;
	struct json_object *field = NULL, *reply;
	const char *verb;

	json_object_object_get_ex(json, "verb", &field);
	verb = field ? json_object_get_string(field) : "";
	if (strcmp(verb, "echo") == 0) {
		reply = json_object_new_object();
		json_object_object_add(reply, "said", json_object_get(json));
		json_object_object_add(reply, "privileged",
			json_object_new_boolean(control_request_is_privileged(r)));
		control_reply(r, reply);
	} else if (strcmp(verb, "count") == 0) {
		for (int i = 0; i < 3; i++)
			control_progress(r, json_object_new_int(i));
		control_reply(r, NULL);
	} else if (strcmp(verb, "wild") == 0) {
		control_fail(r, EXIT_USAGE, "\xff\xc3\xa4\n\x1b[2J");
	} else if (strcmp(verb, "flood") == 0) {
		char *text = malloc(200001);

		memset(text, 'x', 200000);
		text[200000] = '\0';
		for (int i = 0; i < 100; i++)
			control_progress(r, json_object_new_string(text));
		free(text);
		control_reply(r, NULL);
		atomic_store(&f->flooded, 1);
	} else if (strcmp(verb, "huge") == 0) {
		char *text = malloc(CONTROL_LINE_MAX + 1);

		memset(text, 'x', CONTROL_LINE_MAX);
		text[CONTROL_LINE_MAX] = '\0';
		reply = json_object_new_object();
		json_object_object_add(reply, "text", json_object_new_string(text));
		free(text);
		control_reply(r, reply);
	} else if (strcmp(verb, "read-fd") == 0) {
		char text[16] = "";
		int fd = control_request_take_fd(r);

		if (fd >= 0 && pread(fd, text, sizeof(text) - 1, 0) >= 0)
			close(fd);
		reply = json_object_new_object();
		json_object_object_add(reply, "text", json_object_new_string(text));
		json_object_object_add(
			reply, "again", json_object_new_int(control_request_take_fd(r)));
		control_reply(r, reply);
	} else if (strcmp(verb, "hold") == 0) {
		f->held = r;
		control_request_on_close(r, held_closed, f);
	} else {
		control_fail(r, EXIT_NOT_FOUND, "no such verb '%s'", verb);
	}
}

static inline void *run(void *arg)
{
	loop_run(arg);
	return NULL;
}

static inline int setup(void **state)
{
	struct fixture *f = alloc_zeroed(sizeof(*f));

	*state = f;
	snprintf(f->directory, sizeof(f->directory), "/tmp/control-XXXXXX");
	if (!mkdtemp(f->directory))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/socket", f->directory);
	f->loop = loop_new(NULL);
	if (control_server_new(f->loop, f->path, handle, f, &f->server) < 0)
		return -1;
	return pthread_create(&f->thread, NULL, run, f->loop);
}

/* From now on all system calls of this process are the caller's: sys_fail_nth() hits no other. */
static inline void rest(struct fixture *f)
{
	if (f->rests)
		return;
	loop_stop(f->loop);
	pthread_join(f->thread, NULL);
	f->rests = true;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;
	char lock[80];

	rest(f);
	control_server_free(f->server);
	loop_free(f->loop);
	snprintf(lock, sizeof(lock), "%s.lock", f->path);
	unlink(lock);
	/* Fails if the socket is still there. */
	if (rmdir(f->directory) < 0)
		return -1;
	alloc_free(f);
	return alloc_live() == 0 ? 0 : -1;
}

static inline struct json_object *request(const char *verb)
{
	struct json_object *json = json_object_new_object();

	json_object_object_add(json, "verb", json_object_new_string(verb));
	return json;
}

static inline struct control_client *client_of(struct fixture *f)
{
	struct control_client *c = NULL;

	assert_int_equal(0, control_connect(f->path, &c));
	return c;
}

static inline void request_is_answered(void **state)
{
	struct control_client *c = client_of(*state);
	struct json_object *reply, *field;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(0, control_call(c, request("echo"), NULL, NULL, &reply));
		assert_true(json_object_object_get_ex(reply, "said", &field));
		assert_string_equal(
			"{\"verb\":\"echo\"}", json_object_to_json_string_ext(field, 0));
		assert_true(json_object_object_get_ex(reply, "privileged", &field));
		assert_true(json_object_get_boolean(field));
		json_object_put(reply);
	}
	control_disconnect(c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
