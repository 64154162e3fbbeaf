/* PERSISTENT RESERVE OUT (SPC-4 sections 5.13 and 6.16). Called through opcodes.c. One mutex covers
 * each service action whole, so that what one initiator port does is seen by all loops at once or
 * not at all. */
#include "common/base/bytes.h"
#include "target/abort.h"
#include "target/command.h"
#include "target/executors.h"
#include "target/reservations.h"

/* One PERSISTENT RESERVE OUT, while the device's mutex is held. */
struct action {
	struct command *cmd;
	struct device *device;
	struct reservation *r;
	struct registrant *self; /* the nexus's registration, or NULL */
	uint64_t key, new_key;
	uint8_t type;
	struct abort_round *round; /* PREEMPT AND ABORT */
	uint16_t sense;		   /* ILLEGAL REQUEST with this code; else what do() returned */
};

enum {
	TYPE_MASK = 0x0f,
	SCOPE_MASK = 0xf0, /* 0: the logical unit */
	VALID_TYPES = 1 << RESERVATION_WRITE_EXCLUSIVE | 1 << RESERVATION_EXCLUSIVE_ACCESS |
		      1 << RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS |
		      1 << RESERVATION_EXCLUSIVE_ACCESS_REGISTRANTS |
		      1 << RESERVATION_WRITE_EXCLUSIVE_ALL | 1 << RESERVATION_EXCLUSIVE_ACCESS_ALL,
};

/* ---- unit attentions ---- */

static void tell(struct action *a, const struct registrant *g, uint16_t code)
{
	struct nexus *n;

	list_for_each(n, &a->device->nexuses, device_link)
		if (n != a->cmd->nexus && !strcmp(n->initiator_port, g->initiator_port))
			nexus_attention_post(n, code);
}

static void tell_others(struct action *a, uint16_t code)
{
	for (size_t i = 0; i < RESERVATION_REGISTRANTS_MAX; i++) {
		const struct registrant *g = &a->r->registrants[i];

		if (g->key && g != a->self)
			tell(a, g, code);
	}
}

/* Who relied on the types that registrants share must know (SPC-4 section 5.13.11.2.2). */
static void drop_reservation(struct action *a)
{
	bool shared = a->r->type >= RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS;

	a->r->type = 0;
	a->r->holder = NULL;
	if (shared)
		tell_others(a, ASC_RESERVATIONS_RELEASED);
}

static void set_reservation(struct action *a)
{
	a->r->type = a->type;
	a->r->holder = reservation_is_all(a->r) ? NULL : a->self;
}

/* ---- REGISTER, REGISTER AND IGNORE EXISTING KEY ---- */

static bool anyone_left(const struct reservation *r)
{
	for (size_t i = 0; i < RESERVATION_REGISTRANTS_MAX; i++)
		if (r->registrants[i].key)
			return true;
	return false;
}

static void unregister(struct action *a)
{
	bool held_alone = a->r->holder == a->self;

	a->self->key = 0;
	if (held_alone || (a->r->type && !anyone_left(a->r)))
		drop_reservation(a);
}

static struct registrant *free_registrant(struct reservation *r)
{
	for (size_t i = 0; i < RESERVATION_REGISTRANTS_MAX; i++)
		if (!r->registrants[i].key)
			return &r->registrants[i];
	return NULL;
}

static uint8_t register_new(struct action *a)
{
	struct registrant *g;

	if (!a->new_key)
		return SCSI_GOOD;
	g = free_registrant(a->r);
	if (!g) {
		a->sense = ASC_INSUFFICIENT_REGISTRATION_RESOURCES;
		return SCSI_CHECK_CONDITION;
	}
	memcpy(g->initiator_port, a->cmd->nexus->initiator_port, sizeof(g->initiator_port));
	g->key = a->new_key;
	a->r->generation++;
	return SCSI_GOOD;
}

static uint8_t do_register_and_ignore(struct action *a)
{
	if (!a->self)
		return register_new(a);
	a->r->generation++;
	if (a->new_key)
		a->self->key = a->new_key;
	else
		unregister(a);
	return SCSI_GOOD;
}

static uint8_t do_register(struct action *a)
{
	if (a->key != (a->self ? a->self->key : 0))
		return SCSI_RESERVATION_CONFLICT;
	return do_register_and_ignore(a);
}

/* ---- RESERVE, RELEASE, CLEAR ---- */

static uint8_t do_reserve(struct action *a)
{
	if (!a->r->type)
		set_reservation(a);
	else if (!reservation_is_holder(a->r, a->self) || a->r->type != a->type)
		return SCSI_RESERVATION_CONFLICT;
	return SCSI_GOOD;
}

static uint8_t do_release(struct action *a)
{
	if (!reservation_is_holder(a->r, a->self))
		return SCSI_GOOD;
	if (a->r->type != a->type) {
		a->sense = ASC_INVALID_RELEASE_OF_PERSISTENT_RESERVATION;
		return SCSI_CHECK_CONDITION;
	}
	drop_reservation(a);
	return SCSI_GOOD;
}

static uint8_t do_clear(struct action *a)
{
	a->r->type = 0;
	a->r->holder = NULL;
	a->r->generation++;
	tell_others(a, ASC_RESERVATIONS_PREEMPTED);
	for (size_t i = 0; i < RESERVATION_REGISTRANTS_MAX; i++)
		a->r->registrants[i].key = 0;
	return SCSI_GOOD;
}

/* ---- PREEMPT, PREEMPT AND ABORT (SPC-4 section 5.13.11.2.4) ---- */

/* A service action key of 0 names all others, where all registrants hold the reservation. */
static bool is_named(const struct action *a, const struct registrant *g)
{
	return g->key && (!a->new_key || g->key == a->new_key);
}

static bool is_victim(const struct action *a, const struct registrant *g)
{
	return g != a->self && is_named(a, g);
}

static bool anyone_named(const struct action *a)
{
	for (size_t i = 0; i < RESERVATION_REGISTRANTS_MAX; i++)
		if (is_named(a, &a->r->registrants[i]))
			return true;
	return false;
}

static int add_victim(struct action *a, const struct registrant *g)
{
	struct nexus *n;
	int err = 0;

	list_for_each(n, &a->device->nexuses, device_link)
		if (!err && !strcmp(n->initiator_port, g->initiator_port))
			err = abort_round_add(a->round, a->device, n);
	return err;
}

/* Before anything is changed: it is the one thing that can fail. */
static int collect_victims(struct action *a)
{
	int err = 0;

	for (size_t i = 0; a->round && i < RESERVATION_REGISTRANTS_MAX && !err; i++)
		if (is_victim(a, &a->r->registrants[i]))
			err = add_victim(a, &a->r->registrants[i]);
	return err;
}

static void remove_victims(struct action *a)
{
	for (size_t i = 0; i < RESERVATION_REGISTRANTS_MAX; i++) {
		struct registrant *g = &a->r->registrants[i];

		if (!is_victim(a, g))
			continue;
		tell(a, g, ASC_REGISTRATIONS_PREEMPTED);
		g->key = 0;
	}
}

static uint8_t do_preempt(struct action *a)
{
	bool all = reservation_is_all(a->r);
	bool takes_over = a->r->type && (all ? !a->new_key : a->r->holder->key == a->new_key);
	uint8_t before = a->r->type;

	if (!a->new_key && !all) {
		a->sense = ASC_INVALID_FIELD_IN_PARAMETER_LIST;
		return SCSI_CHECK_CONDITION;
	}
	if (!anyone_named(a))
		return SCSI_RESERVATION_CONFLICT;
	if (collect_victims(a))
		return SCSI_BUSY;
	a->r->generation++;
	remove_victims(a);
	if (!takes_over)
		return SCSI_GOOD;
	set_reservation(a);
	if (before != a->type && before >= RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS)
		tell_others(a, ASC_RESERVATIONS_RELEASED);
	return SCSI_GOOD;
}

/* ---- the command ---- */

struct action_row {
	uint8_t (*act)(struct action *a); /* the status */
	bool registered;		  /* only for who is registered, with its key */
	bool typed;			  /* SCOPE and TYPE mean something */
};

static const struct action_row rows[] = {
	[RESERVATION_REGISTER] = {do_register, false, false},
	[RESERVATION_RESERVE] = {do_reserve, true, true},
	[RESERVATION_RELEASE] = {do_release, true, true},
	[RESERVATION_CLEAR] = {do_clear, true, false},
	[RESERVATION_PREEMPT] = {do_preempt, true, true},
	[RESERVATION_PREEMPT_AND_ABORT] = {do_preempt, true, true},
	[RESERVATION_REGISTER_AND_IGNORE] = {do_register_and_ignore, false, false},
};

bool reservation_out_parse(struct command *cmd)
{
	const struct action_row *row = &rows[cmd->operation->service_action];
	uint8_t type = cmd->cdb[2] & TYPE_MASK;

	if (row->typed && (cmd->cdb[2] & SCOPE_MASK || !(VALID_TYPES >> type & 1))) {
		command_fail_field(cmd, 2, cmd->cdb[2] & SCOPE_MASK ? 7 : 3);
		return false;
	}
	if (get_be32(cmd->cdb + 5) != RESERVATION_OUT_LENGTH) {
		command_fail(cmd, SENSE_ILLEGAL_REQUEST, ASC_PARAMETER_LIST_LENGTH_ERROR);
		return false;
	}
	cmd->parameter_length = RESERVATION_OUT_LENGTH;
	return true;
}

/* Registering for other ports, and over a loss of power, is what REPORT CAPABILITIES says we cannot
 * do. */
static bool check_list(struct command *cmd, const struct reservation_out *o)
{
	if (rows[cmd->operation->service_action].registered || !(o->spec_i_pt || o->aptpl))
		return true;
	command_fail_parameter(cmd, ASC_INVALID_FIELD_IN_PARAMETER_LIST, 20, o->spec_i_pt ? 3 : 0);
	return false;
}

static void aborted(void *argument)
{
	struct command *cmd = argument;

	if (command_rest(cmd))
		command_finish(cmd, SCSI_GOOD);
}

static int new_round(struct action *a)
{
	struct abort_config config = {
		.loop = a->cmd->nexus->loop,
		.home = a->cmd->nexus,
		.spare = a->cmd,
		.done = aborted,
		.argument = a->cmd,
	};

	if (a->cmd->operation->service_action != RESERVATION_PREEMPT_AND_ABORT)
		return 0;
	return abort_round_new(&config, &a->round);
}

static uint8_t act(struct action *a)
{
	const struct action_row *row = &rows[a->cmd->operation->service_action];
	uint8_t status = SCSI_RESERVATION_CONFLICT;

	pthread_mutex_lock(&a->device->lock);
	a->r = a->device->reservation;
	a->self = reservation_registrant(a->r, a->cmd->nexus->initiator_port);
	if (!row->registered || (a->self && a->self->key == a->key))
		status = row->act(a);
	reservation_update(a->device);
	pthread_mutex_unlock(&a->device->lock);
	return status;
}

void reservation_out(struct command *cmd)
{
	struct reservation_out o;
	struct action a = {.cmd = cmd, .device = cmd->nexus->device};
	uint8_t status;

	reservation_out_decode(cmd->data, &o);
	if (!check_list(cmd, &o))
		return;
	a.key = o.key;
	a.new_key = o.service_action_key;
	a.type = cmd->cdb[2] & TYPE_MASK;
	status = new_round(&a) ? SCSI_BUSY : act(&a);
	if (status == SCSI_GOOD && a.round) {
		command_busy(cmd);
		abort_round_start(a.round);
		return;
	}
	abort_round_free(a.round);
	if (status == SCSI_CHECK_CONDITION)
		command_fail(cmd, SENSE_ILLEGAL_REQUEST, a.sense);
	else
		command_finish(cmd, status);
}
