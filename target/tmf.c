/* Task management functions (SAM-5 section 7, RFC 7143 sections 4.2.3.3 and 11.5). Called by the
 * session. What is aborted may run on any loop: abort.c goes there, and the response leaves when
 * all of it is at rest. */
#include <errno.h>

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "common/iscsi/pdu.h"
#include "target/abort.h"
#include "target/command.h"
#include "target/reservations.h"
#include "target/session.h"
#include "target/worker.h"

/* One request. The session waits for the response of each before it goes. */
struct tmf {
	struct tgt_session *session;
	const struct iscsi_pdu *pdu; /* while tmf_start() runs */
	struct nexus *nexus;	     /* likewise; of the LUN */
	struct abort_round *round;
	uint32_t itt;
	uint8_t response;
	bool cold;
};

/* ---- which commands ---- */

static int add_all_nexuses(struct tmf *t, struct device *d)
{
	struct nexus *n;
	int err = 0;

	pthread_mutex_lock(&d->lock);
	list_for_each(n, &d->nexuses, device_link)
		if (!err)
			err = abort_round_add(t->round, d, n);
	pthread_mutex_unlock(&d->lock);
	return err;
}

static int abort_task(struct tmf *t)
{
	struct command *cmd;
	int err;

	list_for_each(cmd, tgt_session_commands(t->session), session_link) {
		if (cmd->itt != t->pdu->tmf.referenced_tag || cmd->nexus != t->nexus ||
			cmd->responded)
			continue;
		err = abort_round_add(t->round, t->nexus->device, t->nexus);
		if (!err)
			abort_round_only(t->round, cmd->serial);
		return err;
	}
	t->response = ISCSI_TMF_NO_TASK;
	return 0;
}

static int abort_task_set(struct tmf *t)
{
	return abort_round_add(t->round, t->nexus->device, t->nexus);
}

/* One task set for all nexuses (TST 000b in the control mode page). */
static int clear_task_set(struct tmf *t)
{
	return add_all_nexuses(t, t->nexus->device);
}

/* What a logical unit reset does beside aborting (SAM-5 section 6.3.3): every nexus is told, the
 * one that asked for it too. Persistent reservations survive it. */
static void reset_device(struct device *d)
{
	atomic_store(&d->stopped, false);
	pthread_mutex_lock(&d->lock);
	reservation_nexus_lost(d, NULL);
	pthread_mutex_unlock(&d->lock);
	device_attention(d, NULL, ASC_BUS_DEVICE_RESET_FUNCTION);
}

static int reset_nexus(struct tmf *t, struct nexus *n)
{
	int err = add_all_nexuses(t, n->device);

	if (!err)
		reset_device(n->device);
	return err;
}

static int lun_reset(struct tmf *t)
{
	return reset_nexus(t, t->nexus);
}

static int target_reset(struct tmf *t)
{
	size_t count = tgt_session_luns(t->session, NULL, 0);
	uint16_t *luns = alloc_array(count ? count : 1, sizeof(*luns));
	int err = luns ? 0 : -ENOMEM;

	if (luns)
		count = min_size(count, tgt_session_luns(t->session, luns, count));
	for (size_t i = 0; i < count && !err; i++) {
		struct nexus *n = tgt_session_nexus(t->session, luns[i]);

		err = n ? reset_nexus(t, n) : 0;
	}
	alloc_free(luns);
	return err;
}

/* The connections end after the response (RFC 7143 section 11.5.1). */
static int target_cold_reset(struct tmf *t)
{
	t->cold = true;
	return target_reset(t);
}

/* ---- the table ---- */

struct tmf_row {
	int (*collect)(struct tmf *t); /* NULL: nothing is done, `response` is the answer */
	bool of_lun;
	bool attention; /* others whose commands are cleared are told of that */
	uint8_t response;
};

static const struct tmf_row rows[] = {
	[ISCSI_TMF_ABORT_TASK] = {abort_task, true, false, ISCSI_TMF_COMPLETE},
	[ISCSI_TMF_ABORT_TASK_SET] = {abort_task_set, true, false, ISCSI_TMF_COMPLETE},
	/* There is no ACA: INQUIRY says NORMACA 0. */
	[ISCSI_TMF_CLEAR_ACA] = {NULL, true, false, ISCSI_TMF_NOT_SUPPORTED},
	[ISCSI_TMF_CLEAR_TASK_SET] = {clear_task_set, true, true, ISCSI_TMF_COMPLETE},
	/* The reset's own attention covers the commands that it cleared. */
	[ISCSI_TMF_LUN_RESET] = {lun_reset, true, false, ISCSI_TMF_COMPLETE},
	[ISCSI_TMF_TARGET_WARM_RESET] = {target_reset, false, false, ISCSI_TMF_COMPLETE},
	[ISCSI_TMF_TARGET_COLD_RESET] = {target_cold_reset, false, false, ISCSI_TMF_COMPLETE},
	/* Connections are not recovered at ErrorRecoveryLevel 0. */
	[ISCSI_TMF_TASK_REASSIGN] = {NULL, false, false, ISCSI_TMF_NO_REASSIGNMENT},
};

static const struct tmf_row *find_row(uint8_t function)
{
	static const struct tmf_row unknown = {NULL, false, false, ISCSI_TMF_NOT_SUPPORTED};

	if (!function || function >= ARRAY_SIZE(rows))
		return &unknown;
	return &rows[function];
}

static void tmf_done(void *argument)
{
	struct tmf *t = argument;
	struct tmf ended = *t;

	alloc_free(t);
	if (ended.cold)
		tgt_session_reset_target(ended.session);
	tgt_session_tmf_respond(ended.session, ended.itt, ended.response);
}

/* Fills the round. A failure leaves a round that aborts nothing, and the answer "rejected". */
static int tmf_prepare(struct tmf *t, const struct tmf_row *row)
{
	struct abort_config config = {
		.loop = tgt_session_worker(t->session)->loop,
		.home = t->nexus,
		.attention = row->attention,
		.done = tmf_done,
		.argument = t,
	};
	int err = abort_round_new(&config, &t->round);

	if (err)
		return err;
	if (row->of_lun && !t->nexus)
		t->response = ISCSI_TMF_NO_LUN;
	else if (row->collect)
		return row->collect(t);
	return 0;
}

void tmf_start(struct tgt_session *s, const struct iscsi_pdu *pdu)
{
	const struct tmf_row *row = find_row(pdu->tmf.function);
	struct tmf *t = alloc_zeroed(sizeof(*t));
	uint16_t lun;

	if (!t) {
		tgt_session_tmf_respond(s, pdu->itt, ISCSI_TMF_REJECTED);
		return;
	}
	*t = (struct tmf){.session = s, .pdu = pdu, .itt = pdu->itt, .response = row->response};
	if (row->of_lun && !iscsi_lun_decode(pdu->lun, &lun))
		t->nexus = tgt_session_nexus(s, lun);
	if (!tmf_prepare(t, row)) {
		abort_round_start(t->round);
		return;
	}
	abort_round_free(t->round);
	alloc_free(t);
	tgt_session_tmf_respond(s, pdu->itt, ISCSI_TMF_REJECTED);
}
