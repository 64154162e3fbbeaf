/* The initiator's end of two_ends.h: sessions and tasks. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/scsi/cdb.h"
#include "common/scsi/sense.h"
#include "tests/kit/two_ends.h"

#define BLOCK 512
#define GOOD 0x00
#define CHECK_CONDITION 0x02
#define ATTENTIONS_MAX 4 /* that are passed over before a task must go well */

static void logged_in(void *owner)
{
	((struct two_session *)owner)->logged_in++;
}

static void tell(struct two_session *s, int error, unsigned login_status, const char *why)
{
	s->unexplained += error < 0 && !(why && *why);
	s->error = error;
	s->login_status = login_status;
	snprintf(s->why, sizeof(s->why), "%s", why ? why : "");
}

static void lost(void *owner, int error, unsigned login_status, const char *why)
{
	struct two_session *s = owner;

	s->lost++;
	tell(s, error, login_status, why);
}

static void ended(void *owner, int error, unsigned login_status, const char *why)
{
	struct two_session *s = owner;

	s->ended++;
	tell(s, error, login_status, why);
}

const struct ini_session_events two_session_events = {
	.logged_in = logged_in,
	.lost = lost,
	.ended = ended,
};

struct ini_session_config two_session_config(struct two_ends *e, const char *target)
{
	struct ini_session_config c = {
		.loop = two_ends_loop(e),
		.mover = two_ends_initiator_mover(e),
		.initiator_name = TWO_ENDS_INITIATOR,
		.target_name = target,
		.isid = {{0x80, 0, 0, 0, 0, 1}},
		.login_timeout_ns = 5 * LOOP_NS_PER_S,
		.logout_timeout_ns = 5 * LOOP_NS_PER_S,
		.replacement_timeout_ns = 10 * LOOP_NS_PER_S,
	};
	const char *why;

	assert_int_equal(address_parse("127.0.0.1", ADDRESS_DEFAULT_PORT, &c.portal, &why), 0);
	iscsi_params_default(&c.offer);
	c.offer.default_time2wait = 0; /* time is short */
	return c;
}

int two_session_try(
	struct two_session *s, struct two_ends *e, const struct ini_session_config *config)
{
	int r;

	*s = (struct two_session){.ends = e};
	r = ini_session_new(config, &two_session_events, s, &s->session);
	if (r == 0)
		ini_session_start(s->session);
	return r;
}

void two_session_start(
	struct two_session *s, struct two_ends *e, const struct ini_session_config *config)
{
	assert_int_equal(two_session_try(s, e, config), 0);
}

static bool session_is_decided(void *arg)
{
	struct two_session *s = arg;

	return s->logged_in || s->ended;
}

static bool session_has_ended(void *arg)
{
	return ((struct two_session *)arg)->ended > 0;
}

void two_session_login(
	struct two_session *s, struct two_ends *e, const struct ini_session_config *config)
{
	two_session_start(s, e, config);
	two_ends_until(e, session_is_decided, s);
}

void two_session_end(struct two_session *s)
{
	if (!s->ended)
		ini_session_logout(s->session);
	two_ends_until(s->ends, session_has_ended, s);
	ini_session_free(s->session);
	s->session = NULL;
}

/* ---- tasks ---- */

static void task_done(struct ini_task *t, int error)
{
	struct two_task *x = container_of(t, struct two_task, task);

	x->done++;
	x->error = error;
}

static void task_init(struct two_task *t, uint16_t lun)
{
	*t = (struct two_task){.task = {.lun = lun, .repeatable = true, .done = task_done}};
}

void two_task_read(struct two_task *t, uint16_t lun, uint64_t lba, uint32_t blocks, void *data,
	struct dm_region *region)
{
	unsigned length;

	task_init(t, lun);
	cdb_read_write(t->task.cdb, SCSI_DATA_IN, lba, blocks, false, &length);
	t->task.read = (struct dm_buffer){data, blocks * BLOCK, region};
}

void two_task_write(struct two_task *t, uint16_t lun, uint64_t lba, uint32_t blocks, void *data,
	struct dm_region *region)
{
	unsigned length;

	task_init(t, lun);
	cdb_read_write(t->task.cdb, SCSI_DATA_OUT, lba, blocks, false, &length);
	t->task.write = (struct dm_buffer){data, blocks * BLOCK, region};
}

void two_task_ready(struct two_task *t, uint16_t lun)
{
	task_init(t, lun);
	cdb_test_unit_ready(t->task.cdb);
}

void two_task_submit(struct two_session *s, struct two_task *t)
{
	t->done = 0;
	ini_session_submit(s->session, &t->task);
}

static bool task_is_done(void *arg)
{
	return ((struct two_task *)arg)->done > 0;
}

void two_task_wait(struct two_session *s, struct two_task *t)
{
	two_ends_until(s->ends, task_is_done, t);
	assert_int_equal(t->done, 1);
}

static bool is_attention(const struct ini_task *t)
{
	return t->status == CHECK_CONDITION && t->sense_length >= 3 && (t->sense[2] & 0x0f) == 6;
}

void two_task_run(struct two_session *s, struct two_task *t)
{
	for (int i = 0; i < ATTENTIONS_MAX; i++) {
		two_task_submit(s, t);
		two_task_wait(s, t);
		if (t->error || !is_attention(&t->task))
			break;
	}
	assert_int_equal(t->error, 0);
	assert_int_equal(t->task.status, GOOD);
}
