/* A mover without a network, for tests of the initiator: what is sent down to it is answered by a
 * small scripted target (one disk in memory, the login machine of common/iscsi), from the loop, on
 * a virtual clock. The test looks at what was sent, and may answer itself. */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/datamover/datamover.h"
#include "common/iscsi/login.h"
#include "common/iscsi/window.h"
#include "common/loop/loop.h"
#include "common/scsi/capacity.h"
#include "common/scsi/cdb.h"
#include "common/scsi/inquiry.h"
#include "common/scsi/sense.h"
#include "initiator/session.h"

#define FAKE_BLOCK 512
#define FAKE_BLOCKS 16384 /* 8 MiB */
#define FAKE_SENT 4096
#define FAKE_ANSWERS 512
#define FAKE_TARGET "iqn.2026-11.org.example:disk"
#define FAKE_INITIATOR "iqn.2026-11.org.example:host"

struct fake_answer {
	struct iscsi_pdu pdu;
	uint8_t data[4096];
	struct dm_task *task;
};

struct fake_conn {
	struct dm_conn dm;
	struct fake *fake;
	struct login *login;
	bool up, ended, graceful;
	int error;
	struct loop_call event;
	uint32_t stat_sn, exp_cmd_sn;
	struct iscsi_params params;
	struct fake_answer answers[FAKE_ANSWERS];
	unsigned answers_first, answers_count;
};

struct fake {
	struct dm_mover dm;
	struct loop *loop;
	struct fake_conn *conn; /* the present one */
	/* what the test asks for */
	int connect_error;     /* of dm_connect() itself */
	int refuse;	       /* connections end with this error before they are up */
	int send_error;	       /* of the next dm_send_control() of a SCSI Command */
	const char *redirect;  /* TargetAddress that logins are answered with... */
	unsigned redirects;    /* ...so often */
	unsigned login_status; /* != 0: logins are refused */
	uint32_t window;       /* commands in the window; 0: 32 */
	bool silent;	       /* SCSI commands are not answered */
	bool mute;	       /* nothing is, but logins */
	bool deaf;	       /* logins neither */
	/* Answers a PDU in place of the target: true if it did. */
	bool (*override)(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task);
	void *arg;
	/* the disk */
	uint8_t disk[FAKE_BLOCK * FAKE_BLOCKS];
	uint64_t blocks;
	const char *wwid;
	uint32_t max_transfer; /* blocks, VPD B0h */
	bool no_write_same;
	bool unmap_alone; /* WRITE SAME does not unmap */
	/* what was seen */
	struct iscsi_pdu sent[FAKE_SENT];
	unsigned sent_count;
	unsigned connects, deallocated, tasks_known;
	struct address last_to;
};

/* ---- answering ---- */

static inline struct fake_answer *fake_answer_begin(
	struct fake_conn *c, uint8_t opcode, uint32_t itt)
{
	struct fake_answer *a = &c->answers[(c->answers_first + c->answers_count++) % FAKE_ANSWERS];

	assert_true(c->answers_count <= FAKE_ANSWERS);
	memset(&a->pdu, 0, sizeof(a->pdu));
	a->pdu.opcode = opcode;
	a->pdu.final = true;
	a->pdu.itt = itt;
	a->task = NULL;
	loop_defer(c->fake->loop, &c->event);
	return a;
}

static inline void fake_status(struct fake *f, const struct iscsi_pdu *cmd, struct dm_task *task,
	uint8_t status, const struct scsi_sense *sense)
{
	struct fake_answer *a = fake_answer_begin(f->conn, ISCSI_SCSI_RESPONSE, cmd->itt);

	a->task = task;
	a->pdu.response.status = status;
	if (sense) {
		put_be16(a->data, SENSE_FIXED_SIZE);
		scsi_sense_put_fixed(sense, a->data + 2);
		a->pdu.data_length = 2 + SENSE_FIXED_SIZE;
	}
}

static inline void fake_check(struct fake *f, const struct iscsi_pdu *cmd, struct dm_task *task,
	uint8_t key, uint16_t code)
{
	struct scsi_sense sense = {
		.key = key, .asc = (uint8_t)(code >> 8), .ascq = (uint8_t)code, .field_bit = -1};

	fake_status(f, cmd, task, SCSI_CHECK_CONDITION, &sense);
}

/* Read data: what does not fit is cut, what is missing is underflow. */
static inline void fake_data(struct fake *f, const struct iscsi_pdu *cmd, struct dm_task *task,
	const void *data, size_t length)
{
	struct fake_answer *a;
	uint32_t n = (uint32_t)min_size(length, task->read.length);

	memcpy(task->read.data, data, n);
	task->received = n;
	fake_status(f, cmd, task, SCSI_GOOD, NULL);
	a = &f->conn->answers[(f->conn->answers_first + f->conn->answers_count - 1) % FAKE_ANSWERS];
	a->pdu.response.underflow = n < task->read.length;
	a->pdu.response.residual = task->read.length - n;
}

static inline void fake_inquiry(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	static const uint8_t pages[] = {0x00, 0x80, 0x83, 0xb0, 0xb1, 0xb2};
	struct scsi_inquiry inquiry = {.version = INQUIRY_VERSION_SPC4,
		.vendor = "FAKE",
		.product = "DISK",
		.revision = "1"};
	struct vpd_block_limits limits = {.max_transfer = f->max_transfer,
		.max_unmap = 4096,
		.max_unmap_descriptors = 1,
		.max_write_same = 2048};
	struct vpd_block_characteristics characteristics = {.rotation_rate = VPD_NON_ROTATING};
	struct vpd_provisioning provisioning = {
		.unmap = true, .write_same16 = !f->unmap_alone, .reads_zeros = 1};
	uint8_t data[512];
	struct bytes_writer w = bytes_writer(data, sizeof(data));

	if (!(pdu->command.cdb[1] & 1))
		inquiry_encode(&inquiry, &w);
	else if (pdu->command.cdb[2] == 0x00)
		vpd_pages_encode(0, pages, sizeof(pages), &w);
	else if (pdu->command.cdb[2] == 0x80)
		vpd_serial_encode(0, "0001", &w);
	else if (pdu->command.cdb[2] == 0x83) {
		size_t begun = vpd_begin(0, 0x83, &w);

		vpd_name_encode(VPD_LOGICAL_UNIT, f->wwid, &w);
		vpd_end(begun, &w);
	} else if (pdu->command.cdb[2] == 0xb0)
		vpd_block_limits_encode(0, &limits, &w);
	else if (pdu->command.cdb[2] == 0xb1)
		vpd_block_characteristics_encode(0, &characteristics, &w);
	else
		vpd_provisioning_encode(0, &provisioning, &w);
	fake_data(f, pdu, task, data, w.used);
}

static inline void fake_transfer(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	struct cdb_block b;

	assert_int_equal(cdb_block_decode(pdu->command.cdb, &b), 0);
	assert_true(b.lba + b.blocks <= f->blocks);
	if (pdu->command.write) {
		assert_int_equal(task->write.length, b.blocks * FAKE_BLOCK);
		memcpy(f->disk + b.lba * FAKE_BLOCK, task->write.data, task->write.length);
		fake_status(f, pdu, task, SCSI_GOOD, NULL);
	} else {
		fake_data(f, pdu, task, f->disk + b.lba * FAKE_BLOCK, b.blocks * FAKE_BLOCK);
	}
}

static inline void fake_scsi(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	struct scsi_capacity capacity = {.last_lba = f->blocks - 1, .block_size = FAKE_BLOCK};
	uint64_t lun = pdu->lun;
	uint8_t data[64] = {0};
	struct cdb_block b;

	switch (pdu->command.cdb[0]) {
	case SCSI_INQUIRY:
		fake_inquiry(f, pdu, task);
		break;
	case SCSI_REPORT_LUNS:
		lun = iscsi_lun_encode(0);
		fake_data(f, pdu, task, data, report_luns_encode(&lun, 1, data, sizeof(data)));
		break;
	case SCSI_SERVICE_ACTION_IN_16:
		capacity16_encode(&capacity, data);
		fake_data(f, pdu, task, data, CAPACITY16_SIZE);
		break;
	case SCSI_MODE_SENSE_6:
		memcpy(data, (uint8_t[]){23, 0, 0x10, 0, 0x08, 0x12, 0x04}, 7); /* WCE, DPOFUA */
		fake_data(f, pdu, task, data, 24);
		break;
	case SCSI_READ_10:
	case SCSI_READ_16:
	case SCSI_WRITE_10:
	case SCSI_WRITE_16:
		fake_transfer(f, pdu, task);
		break;
	case SCSI_WRITE_SAME_16:
		cdb_block_decode(pdu->command.cdb, &b);
		if (f->no_write_same) {
			fake_check(f, pdu, task, SENSE_ILLEGAL_REQUEST,
				ASC_INVALID_COMMAND_OPERATION_CODE);
			break;
		}
		for (uint32_t i = 0; i < b.blocks; i++)
			memcpy(f->disk + (b.lba + i) * FAKE_BLOCK, task->write.data, FAKE_BLOCK);
		fake_status(f, pdu, task, SCSI_GOOD, NULL);
		break;
	case SCSI_UNMAP:
	case SCSI_SYNCHRONIZE_CACHE_10:
	case SCSI_TEST_UNIT_READY:
		fake_status(f, pdu, task, SCSI_GOOD, NULL);
		break;
	default:
		fake_check(f, pdu, task, SENSE_ILLEGAL_REQUEST, ASC_INVALID_COMMAND_OPERATION_CODE);
	}
}

static inline void fake_answer(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	struct fake_answer *a;

	if (f->mute || (f->override && f->override(f, pdu, task)))
		return;
	switch (pdu->opcode) {
	case ISCSI_SCSI_COMMAND:
		if (!f->silent)
			fake_scsi(f, pdu, task);
		break;
	case ISCSI_NOP_OUT:
		if (pdu->itt != ISCSI_TAG_NONE)
			fake_answer_begin(f->conn, ISCSI_NOP_IN, pdu->itt)->pdu.nop.ttt =
				ISCSI_TAG_NONE;
		break;
	case ISCSI_TMF_REQUEST:
		fake_answer_begin(f->conn, ISCSI_TMF_RESPONSE, pdu->itt);
		break;
	case ISCSI_LOGOUT_REQUEST:
		fake_answer_begin(f->conn, ISCSI_LOGOUT_RESPONSE, pdu->itt);
		break;
	case ISCSI_TEXT_REQUEST:
		a = fake_answer_begin(f->conn, ISCSI_TEXT_RESPONSE, pdu->itt);
		a->pdu.text.ttt = ISCSI_TAG_NONE;
		a->pdu.data_length =
			(uint32_t)sprintf((char *)a->data, "TargetName=%s", FAKE_TARGET) + 1;
		break;
	}
}

/* ---- login ---- */

static inline unsigned fake_identify(void *owner, const struct login_identity *who,
	struct login_auth *ret_auth, struct iscsi_params *params)
{
	struct fake *f = owner;

	(void)who;
	(void)params;
	*ret_auth = (struct login_auth){0};
	return f->login_status;
}

static inline unsigned fake_establish(
	void *owner, const struct login_identity *who, uint16_t *ret_tsih)
{
	(void)owner;
	(void)who;
	*ret_tsih = 7;
	return LOGIN_SUCCESS;
}

/* The connection ends with `error`, as if the network had done it. */
static inline void fake_drop(struct fake *f, int error)
{
	struct fake_conn *c = f->conn;

	c->ended = true;
	c->error = error;
	c->answers_count = 0;
	f->conn = NULL;
	loop_defer(f->loop, &c->event);
}

static inline void fake_login(struct fake_conn *c, const struct iscsi_pdu *pdu, const void *data)
{
	struct fake_answer *a;
	enum login_step step;
	const struct iscsi_pdu *out;
	const void *out_data;

	if (c->fake->redirects) {
		c->fake->redirects--;
		a = fake_answer_begin(c, ISCSI_LOGIN_RESPONSE, pdu->itt);
		a->pdu.login_response.csg = pdu->login.csg;
		a->pdu.login_response.isid = pdu->login.isid;
		a->pdu.login_response.status_class = 1;
		a->pdu.login_response.status_detail = 1;
		a->pdu.data_length =
			(uint32_t)sprintf((char *)a->data, "TargetAddress=%s", c->fake->redirect) +
			1;
		return;
	}
	if (!c->login) {
		struct login_target_config config = {
			.policy = {fake_identify, fake_establish, c->fake, NULL},
		};

		iscsi_params_default(&config.offer);
		config.offer.default_time2wait = 0;
		c->login = login_target_new(&config);
		c->exp_cmd_sn = pdu->cmd_sn;
	}
	if (!c->login) { /* a test of running out of memory has hit the fake */
		fake_drop(c->fake, -ECONNRESET);
		return;
	}
	step = login_target_receive(c->login, pdu, data, pdu->data_length);
	out = login_out(c->login, &out_data);
	a = fake_answer_begin(c, ISCSI_LOGIN_RESPONSE, pdu->itt);
	a->pdu = *out;
	if (out->data_length)
		memcpy(a->data, out_data, out->data_length);
	if (step == LOGIN_SEND)
		return;
	if (step == LOGIN_SEND_LAST)
		c->params = *login_params(c->login);
	login_free(c->login);
	c->login = NULL;
}

/* ---- the mover ---- */

static inline struct fake_conn *fake_conn_of(struct dm_conn *c)
{
	return container_of(c, struct fake_conn, dm);
}

static inline void fake_deliver(struct fake_conn *c)
{
	struct fake *f = c->fake;
	struct fake_answer a = c->answers[c->answers_first];
	bool advances = a.pdu.opcode != ISCSI_NOP_IN || a.pdu.itt != ISCSI_TAG_NONE;

	c->answers_first = (c->answers_first + 1) % FAKE_ANSWERS;
	c->answers_count--;
	a.pdu.stat_sn = advances ? c->stat_sn++ : c->stat_sn;
	a.pdu.exp_cmd_sn = c->exp_cmd_sn;
	a.pdu.max_cmd_sn = c->exp_cmd_sn + (f->window ? f->window : 32) - 1;
	c->dm.up->control_notify(
		c->dm.owner, &a.pdu, NULL, 0, NULL, a.pdu.data_length ? a.data : NULL, a.task);
}

static inline void fake_event(struct loop_call *call)
{
	struct fake_conn *c = container_of(call, struct fake_conn, event);
	struct fake *f = c->fake;

	if (!c->up && !c->ended) {
		if (f->refuse < 0) {
			c->ended = true;
			c->error = f->refuse;
		} else {
			c->up = true;
			c->dm.up->connected(c->dm.owner);
		}
	}
	while (c->answers_count && !c->ended)
		fake_deliver(c);
	if (!c->ended)
		return;
	c->dm.up->connection_terminate_notify(
		c->dm.owner, c->error, c->error ? strerror(-c->error) : "");
	assert_int_equal(f->tasks_known, 0); /* every task was given back */
	loop_call_cancel(&c->event);
	login_free(c->login);
	if (f->conn == c)
		f->conn = NULL;
	alloc_free(c);
}

static inline int fake_connect(struct dm_mover *m, const struct address *to, uint64_t timeout_ns,
	const struct dm_upcalls *up, void *owner, struct dm_conn **ret)
{
	struct fake *f = container_of(m, struct fake, dm);
	struct fake_conn *c;

	(void)timeout_ns;
	f->connects++;
	f->last_to = *to;
	if (f->connect_error < 0)
		return f->connect_error;
	c = alloc_zeroed(sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->dm.ops = m->ops;
	c->dm.up = up;
	c->dm.owner = owner;
	c->fake = f;
	c->event.call = fake_event;
	c->stat_sn = 0x7ffffffe; /* serial arithmetic is part of the story */
	f->conn = c;
	loop_defer(f->loop, &c->event);
	*ret = &c->dm;
	return 0;
}

static inline int fake_send_control(struct dm_conn *dm, const struct iscsi_pdu *pdu,
	const void *ahs, const void *data, struct dm_task *task)
{
	struct fake_conn *c = fake_conn_of(dm);
	struct fake *f = c->fake;

	(void)ahs;
	if (c->ended)
		return -ENOTCONN;
	if (f->send_error && pdu->opcode == ISCSI_SCSI_COMMAND) {
		int r = f->send_error;

		f->send_error = 0;
		return r;
	}
	assert_true(f->sent_count < FAKE_SENT);
	f->sent[f->sent_count++] = *pdu;
	if (pdu->opcode == ISCSI_LOGIN_REQUEST && f->deaf)
		return 0;
	if (pdu->opcode == ISCSI_LOGIN_REQUEST) {
		fake_login(c, pdu, data);
		return 0;
	}
	if (!pdu->immediate) {
		assert_int_equal(pdu->cmd_sn, c->exp_cmd_sn); /* in order, none left out */
		c->exp_cmd_sn++;
	}
	if (task) {
		assert_null(task->mover_private[0]);
		task->mover_private[0] = c;
		f->tasks_known++;
	}
	fake_answer(f, pdu, task);
	return 0;
}

static inline void fake_deallocate(struct dm_conn *dm, struct dm_task *task)
{
	struct fake *f = fake_conn_of(dm)->fake;

	if (task->mover_private[0] != fake_conn_of(dm))
		return;
	task->mover_private[0] = NULL;
	f->tasks_known--;
	f->deallocated++;
}

static inline void fake_terminate(struct dm_conn *dm, bool graceful)
{
	struct fake_conn *c = fake_conn_of(dm);

	if (c->ended)
		return;
	c->ended = true;
	c->graceful = graceful;
	if (c->fake->conn == c)
		c->fake->conn = NULL;
	loop_defer(c->fake->loop, &c->event);
}

static inline int fake_register(
	struct dm_mover *m, void *address, size_t length, struct dm_region **ret)
{
	struct dm_region *r = alloc_zeroed(sizeof(*r));

	(void)m;
	if (!r)
		return -ENOMEM;
	*r = (struct dm_region){.address = address, .length = length};
	*ret = r;
	return 0;
}

static inline void fake_unregister(struct dm_mover *m, struct dm_region *r)
{
	(void)m;
	alloc_free(r);
}

static inline void fake_declare(struct dm_conn *c, struct iscsi_params *offer)
{
	(void)c;
	offer->header_digest = offer->data_digest = ISCSI_DIGEST_NONE;
	offer->max_recv_data_segment_length = 262144;
}

static inline int fake_allocate(struct dm_conn *c, const struct iscsi_params *p)
{
	(void)c;
	(void)p;
	return 0;
}

static inline void fake_info(const struct dm_conn *c, struct dm_conn_info *ret)
{
	(void)c;
	*ret = (struct dm_conn_info){.mover = "fake", .provider = "none"};
}

static const struct dm_ops fake_ops = {
	.name = "fake",
	.connect = fake_connect,
	.register_region = fake_register,
	.unregister_region = fake_unregister,
	.declare_keys = fake_declare,
	.allocate_connection_resources = fake_allocate,
	.enable = fake_allocate,
	.terminate = fake_terminate,
	.send_control = fake_send_control,
	.deallocate_task_resources = fake_deallocate,
	.get_info = fake_info,
};

/* ---- what tests begin with ---- */

static inline void fake_log(void *arg, enum log_level level, const char *line)
{
	(void)arg;
	(void)level;
	(void)line;
}

static inline struct fake *fake_new(void)
{
	static const struct loop_config config = {.virtual_clock = true};
	struct fake *f = alloc_zeroed(sizeof(*f));

	log_set_sink(fake_log, NULL);
	assert_non_null(f);
	f->dm.ops = &fake_ops;
	f->loop = loop_new(&config);
	assert_non_null(f->loop);
	f->blocks = FAKE_BLOCKS;
	f->wwid = FAKE_TARGET ",L,0x0000";
	return f;
}

static inline void fake_free(struct fake *f)
{
	assert_null(f->conn);
	loop_free(f->loop);
	alloc_free(f);
	log_set_sink(NULL, NULL);
}

static inline void fake_turns(struct fake *f)
{
	while (loop_turn(f->loop, 0))
		;
}

static inline void fake_seconds(struct fake *f, unsigned seconds)
{
	for (unsigned i = 0; i < seconds * 20; i++)
		loop_advance(f->loop, 50 * LOOP_NS_PER_MS);
	fake_turns(f);
}

/* The last PDU of an opcode that was sent, or NULL. */
static inline const struct iscsi_pdu *fake_last(const struct fake *f, uint8_t opcode)
{
	for (unsigned i = f->sent_count; i > 0; i--)
		if (f->sent[i - 1].opcode == opcode)
			return &f->sent[i - 1];
	return NULL;
}

static inline unsigned fake_count(const struct fake *f, uint8_t opcode)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->sent_count; i++)
		n += f->sent[i].opcode == opcode;
	return n;
}

/* A session and what it has told. */
struct fake_owner {
	struct fake *fake;
	struct ini_session *session;
	unsigned logged_in, lost, luns_changed, ended;
	int error;
	unsigned status;
	char why[256];
};

static inline void owner_logged_in(void *owner)
{
	((struct fake_owner *)owner)->logged_in++;
}

static inline void owner_lost(void *owner, int error, unsigned status, const char *why)
{
	struct fake_owner *o = owner;

	o->lost++;
	o->error = error;
	o->status = status;
	snprintf(o->why, sizeof(o->why), "%s", why);
}

static inline void owner_luns_changed(void *owner)
{
	((struct fake_owner *)owner)->luns_changed++;
}

static inline void owner_ended(void *owner, int error, unsigned status, const char *why)
{
	struct fake_owner *o = owner;

	o->ended++;
	o->error = error;
	o->status = status;
	snprintf(o->why, sizeof(o->why), "%s", why);
	ini_session_free(o->session);
	o->session = NULL;
}

static const struct ini_session_events owner_events = {
	.logged_in = owner_logged_in,
	.lost = owner_lost,
	.luns_changed = owner_luns_changed,
	.ended = owner_ended,
};

static inline struct ini_session_config owner_config(struct fake *f)
{
	struct ini_session_config c = {
		.loop = f->loop,
		.mover = &f->dm,
		.initiator_name = FAKE_INITIATOR,
		.target_name = FAKE_TARGET,
		.isid = {{0x80, 1, 2, 3, 4, 5}},
		.replacement_timeout_ns = 120 * LOOP_NS_PER_S,
	};
	const char *why;

	iscsi_params_default(&c.offer);
	c.offer.default_time2wait = 0;
	assert_int_equal(address_parse("192.0.2.1:3260", 3260, &c.portal, &why), 0);
	return c;
}

static inline void owner_start(struct fake_owner *o, const struct ini_session_config *c)
{
	assert_int_equal(ini_session_new(c, &owner_events, o, &o->session), 0);
	ini_session_start(o->session);
	fake_turns(o->fake);
}

static inline void owner_setup(struct fake_owner *o)
{
	struct ini_session_config c;

	*o = (struct fake_owner){.fake = fake_new()};
	c = owner_config(o->fake);
	owner_start(o, &c);
	assert_int_equal(o->logged_in, 1);
}

static inline void owner_teardown(struct fake_owner *o)
{
	if (o->session) {
		ini_session_close(o->session);
		fake_turns(o->fake);
		assert_int_equal(o->ended, 1);
	}
	fake_free(o->fake);
	assert_int_equal(alloc_live(), 0);
}

/* A task that keeps what became of it. */
struct fake_io {
	struct ini_task task;
	unsigned done;
	int error;
	uint8_t data[FAKE_BLOCK];
};

static inline void fake_io_done(struct ini_task *t, int error)
{
	struct fake_io *io = container_of(t, struct fake_io, task);

	io->done++;
	io->error = error;
}

/* A READ(10) of one block. */
static inline void fake_io_read(struct fake_owner *o, struct fake_io *io, uint32_t lba)
{
	unsigned length;

	*io = (struct fake_io){0};
	cdb_read_write(io->task.cdb, SCSI_DATA_IN, lba, 1, false, &length);
	io->task.read = (struct dm_buffer){.data = io->data, .length = FAKE_BLOCK};
	io->task.repeatable = true;
	io->task.done = fake_io_done;
	ini_session_submit(o->session, &io->task);
}
