/* For the tests of the target's sessions: a target set with one memory LUN, a worker whose loop the
 * test turns, and a mover that only records what it is given. Logins are driven by the initiator's
 * own login machine. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/loop/loop_private.h"
#include "target/backend/stores.h"
#include "target/portal.h"
#include "target/session_state.h"

#define KIT_TARGET "iqn.2026-01.org.example:disk"
#define KIT_INITIATOR "iqn.2026-01.org.example:host"

struct kit_sent {
	struct iscsi_pdu pdu;
	uint8_t data[ISCSI_TEXT_MAX];
};

struct kit_conn { /* the mover's connection, and the initiator behind it */
	struct dm_conn base;
	struct kit_sent sent[64];
	unsigned count, taken;
	bool terminated, graceful, gone, enabled;
	unsigned tasks_given_back;
	struct dm_task tasks[64];
	unsigned task_count;
	uint32_t cmd_sn;
	uint16_t tsih;
	unsigned refused_with; /* the login's status */
};

struct kit {
	struct target_set *set;
	struct worker *worker;
	struct worker_mover *mover;
};

/* ---- the mover ---- */

static inline struct kit_conn *kit_conn_of(const struct dm_conn *c)
{
	return container_of(c, struct kit_conn, base);
}

static inline int kit_register(
	struct dm_mover *m, void *address, size_t length, struct dm_region **ret)
{
	(void)m;
	*ret = alloc_zeroed(sizeof(**ret));
	if (!*ret)
		return -12;
	(*ret)->address = address;
	(*ret)->length = length;
	return 0;
}

static inline void kit_unregister(struct dm_mover *m, struct dm_region *r)
{
	(void)m;
	alloc_free(r);
}

static inline void kit_free_mover(struct dm_mover *m)
{
	alloc_free(m);
}

static inline void kit_declare(struct dm_conn *c, struct iscsi_params *offer)
{
	offer->header_digest = offer->data_digest = ISCSI_DIGEST_NONE;
	offer->max_recv_data_segment_length = 262144;
	(void)c;
}

static inline int kit_allocate(struct dm_conn *c, const struct iscsi_params *p)
{
	(void)c, (void)p;
	return 0;
}

static inline int kit_enable(struct dm_conn *c, const struct iscsi_params *p)
{
	(void)p;
	kit_conn_of(c)->enabled = true;
	return 0;
}

static inline void kit_terminate(struct dm_conn *c, bool graceful)
{
	kit_conn_of(c)->terminated = true;
	kit_conn_of(c)->graceful = graceful;
}

static inline int kit_send(struct dm_conn *c, const struct iscsi_pdu *pdu, const void *ahs,
	const void *data, struct dm_task *task)
{
	struct kit_conn *k = kit_conn_of(c);
	struct kit_sent *s = &k->sent[k->count++];

	(void)ahs, (void)task;
	assert_true(k->count < ARRAY_SIZE(k->sent));
	assert_true(pdu->data_length <= sizeof(s->data));
	s->pdu = *pdu;
	if (pdu->data_length)
		memcpy(s->data, data, pdu->data_length);
	return 0;
}

static inline int kit_no_transfer(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t)
{
	(void)c, (void)task, (void)t;
	return -107;
}

static inline void kit_give_back(struct dm_conn *c, struct dm_task *task)
{
	(void)task;
	kit_conn_of(c)->tasks_given_back++;
}

static inline void kit_get_info(const struct dm_conn *c, struct dm_conn_info *ret)
{
	(void)c;
	*ret = (struct dm_conn_info){.mover = "kit", .provider = "none"};
	snprintf(ret->local, sizeof(ret->local), "192.0.2.1:3260");
}

static const struct dm_ops kit_ops = {
	.name = "kit",
	.register_region = kit_register,
	.unregister_region = kit_unregister,
	.free_mover = kit_free_mover,
	.declare_keys = kit_declare,
	.allocate_connection_resources = kit_allocate,
	.enable = kit_enable,
	.terminate = kit_terminate,
	.send_control = kit_send,
	.put_data = kit_no_transfer,
	.get_data = kit_no_transfer,
	.deallocate_task_resources = kit_give_back,
	.get_info = kit_get_info,
};

/* ---- the target ---- */

static inline int kit_open(
	const struct config_lun *row, struct backend **ret, char *why, size_t why_size)
{
	const struct memory_config config = {.size = row->size};

	return memory_backend_new(&config, ret, why, why_size);
}

static inline void kit_silence(void *arg, enum log_level level, const char *line)
{
	(void)arg, (void)level, (void)line;
}

static inline struct config *kit_config(const char *text)
{
	struct config_report report = {0};
	struct config *c = NULL;

	if (config_parse("f", NULL, text, strlen(text), &report, &c) < 0)
		fail_msg("%s", report.count ? report.lines[0] : "no memory");
	config_report_free(&report);
	return c;
}

static inline void kit_start(struct kit *k, const char *text)
{
	const struct worker_config wc = {.commands = 64, .arena_size = 16 << 20};
	struct config_report report = {0};
	struct config *c = kit_config(text);
	struct dm_mover *m = alloc_zeroed(sizeof(*m));

	log_set_sink(kit_silence, NULL);
	assert_int_equal(target_set_new(c, 1, kit_open, &report, &k->set), 0);
	config_release(c);
	k->worker = worker_new(0, &wc, k->set);
	assert_non_null(k->worker);
	k->worker->loop->config.virtual_clock = true;
	m->ops = &kit_ops;
	assert_int_equal(worker_add_mover(k->worker, m, &k->mover), 0);
}

static inline void kit_turn(struct kit *k)
{
	for (int i = 0; i < 20; i++)
		loop_turn(k->worker->loop, 0);
}

/* The transport is gone. */
static inline void kit_lose(struct kit *k, struct kit_conn *c)
{
	if (!c->gone) {
		c->gone = true;
		c->base.up->connection_terminate_notify(c->base.owner, 0, NULL);
	}
	kit_turn(k);
}

static inline void kit_stop(struct kit *k)
{
	kit_turn(k);
	assert_true(list_empty(&k->worker->conns));
	assert_true(list_empty(&k->worker->sessions));
	worker_close_channels(k->worker);
	worker_free(k->worker);
	target_set_free(k->set);
	log_set_sink(NULL, NULL);
}

static const char kit_default[] = "targets:\n"
				  "- name: " KIT_TARGET "\n"
				  "  luns: [{lun: 0, backend: memory, size: 1M}]\n";

/* ---- the initiator ---- */

/* The next PDU that the target sent; NULL when it sent no more. */
static inline const struct kit_sent *kit_next(struct kit_conn *c)
{
	return c->taken < c->count ? &c->sent[c->taken++] : NULL;
}

static inline void kit_deliver(
	struct kit *k, struct kit_conn *c, struct iscsi_pdu *pdu, const void *data, uint32_t length)
{
	uint8_t bhs[ISCSI_BHS_SIZE];
	struct dm_task *task = NULL;

	pdu->data_length = length;
	iscsi_pdu_encode(pdu, bhs);
	if (pdu->opcode == ISCSI_SCSI_COMMAND) {
		task = &c->tasks[c->task_count++];
		*task = (struct dm_task){.itt = pdu->itt};
	}
	c->base.up->control_notify(c->base.owner, pdu, bhs, 0, NULL, data, task);
	kit_turn(k);
}

static inline void kit_accept(struct kit *k, struct kit_conn *c)
{
	struct address peer;
	const char *why;

	memset(c, 0, sizeof(*c));
	c->base.ops = &kit_ops;
	c->cmd_sn = 1;
	assert_int_equal(address_parse("192.0.2.7:4321", 0, &peer, &why), 0);
	tgt_conn_accept(k->mover, &c->base, &peer);
}

static inline enum login_step kit_login_turn(struct kit *k, struct kit_conn *c, struct login *l)
{
	const void *data;
	struct iscsi_pdu pdu = *login_out(l, &data);
	const struct kit_sent *answer;

	kit_deliver(k, c, &pdu, data, pdu.data_length);
	answer = kit_next(c);
	assert_non_null(answer);
	return login_initiator_receive(l, &answer->pdu, answer->data, answer->pdu.data_length);
}

/* The whole login; true when it succeeded, else the status is in c->refused_with. */
static inline bool kit_login_with(
	struct kit *k, struct kit_conn *c, const struct login_initiator_config *config)
{
	struct login *l = login_initiator_new(config);
	enum login_step step;
	const char *why;

	assert_non_null(l);
	step = login_initiator_start(l);
	while (step == LOGIN_SEND || step == LOGIN_SEND_LAST)
		step = kit_login_turn(k, c, l);
	if (step == LOGIN_DONE)
		c->tsih = login_tsih(l);
	else
		c->refused_with = login_failure(l, &why);
	login_free(l);
	return step == LOGIN_DONE;
}

static inline struct login_initiator_config kit_login_config(const char *target, uint8_t isid)
{
	struct login_initiator_config config = {
		.initiator_name = KIT_INITIATOR,
		.target_name = target,
		.isid = {{0x80, 0, 0, 0, 0, isid}},
		.cmd_sn = 1,
	};

	iscsi_params_default(&config.offer);
	config.offer.header_digest = config.offer.data_digest = ISCSI_DIGEST_NONE;
	config.offer.max_recv_data_segment_length = 8192;
	return config;
}

/* Accept and log in; `target` NULL: a discovery session. */
static inline bool kit_login(struct kit *k, struct kit_conn *c, const char *target, uint8_t isid)
{
	const struct login_initiator_config config = kit_login_config(target, isid);

	kit_accept(k, c);
	return kit_login_with(k, c, &config);
}

/* A request with the next CmdSN. */
static inline struct iscsi_pdu kit_request(struct kit_conn *c, uint8_t opcode, uint32_t itt)
{
	return (struct iscsi_pdu){
		.opcode = opcode, .final = true, .itt = itt, .cmd_sn = c->cmd_sn++};
}
