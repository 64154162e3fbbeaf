/* For the tests of isertd's files: a daemon of one worker around the kit's target, and requests
 * whose answers are remembered. The functions of the control server are defined here in place of
 * the library's, which would need a client. */
#pragma once

#include "tests/unit/target/target_kit.h"

#include "target/daemon/daemon.h"

static struct kit kit;
static struct daemon isertd;
static struct daemon_worker kit_worker;

static struct {
	unsigned count; /* answers */
	int status;	/* 0: ok */
	char error[512];
	struct json_object *json;
	bool privileged;
} answered;

bool control_request_is_privileged(const struct control_request *r)
{
	(void)r;
	return answered.privileged;
}

void control_reply(struct control_request *r, struct json_object *json)
{
	(void)r;
	answered.count++;
	answered.status = 0;
	json_object_put(answered.json);
	answered.json = json;
}

void control_fail(struct control_request *r, int status, const char *format, ...)
{
	va_list arguments;

	(void)r;
	answered.count++;
	answered.status = status;
	va_start(arguments, format);
	vsnprintf(answered.error, sizeof(answered.error), format, arguments);
	va_end(arguments);
}

static inline void daemon_kit_start(const char *text)
{
	kit_start(&kit, text);
	kit_worker = (struct daemon_worker){.daemon = &isertd, .worker = kit.worker};
	kit.worker->platform = &kit_worker;
	isertd = (struct daemon){
		.loop = loop_new(&(struct loop_config){.virtual_clock = true}),
		.config = kit_config(text),
		.targets = kit.set,
		.workers = &kit_worker,
		.worker_count = 1,
		.options = {.log_level = -1},
	};
	isertd.started_ns = loop_now(isertd.loop);
	memset(&answered, 0, sizeof(answered));
	answered.privileged = true;
}

static inline void daemon_kit_turn(void)
{
	for (int i = 0; i < 20; i++) {
		loop_turn(isertd.loop, 0);
		loop_turn(kit.worker->loop, 0);
	}
}

static inline void daemon_kit_stop(void)
{
	daemon_kit_turn();
	json_object_put(answered.json);
	answered.json = NULL;
	kit_stop(&kit);
	config_release(isertd.config);
	loop_timer_cancel(&isertd.stop_timer);
	loop_free(isertd.loop);
}
