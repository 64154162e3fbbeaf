/* RFC 7143 section 8.1: the connection state machine of both roles, one row per transition, with
 * the RFC's numbers in the margin. Used by initiator/conn.c and target/conn.c. */
#include "common/iscsi/conn_fsm.h"

#include <errno.h>

#include "common/base/bytes.h"

enum roles {
	I = 1 << CONN_INITIATOR,
	T = 1 << CONN_TARGET,
	B = I | T,
};

struct conn_row {
	uint8_t number; /* Tn of section 8.1.2; 0: an M transition of section 8.2 */
	uint8_t roles;
	uint8_t state, event, next;
};

/* clang-format off */
static const struct conn_row rows[] = {
	{  1, I, CONN_FREE,             CONN_EVENT_CONNECT,          CONN_XPT_WAIT },
	{  2, I, CONN_XPT_WAIT,         CONN_EVENT_TIMEOUT,          CONN_FREE },
	{  2, I, CONN_XPT_WAIT,         CONN_EVENT_TRANSPORT_LOST,   CONN_FREE },
	{  2, I, CONN_XPT_WAIT,         CONN_EVENT_DROP,             CONN_FREE },
	{  2, I, CONN_XPT_WAIT,         CONN_EVENT_SESSION_CLOSED,   CONN_FREE },
	{  3, T, CONN_FREE,             CONN_EVENT_ACCEPTED,         CONN_XPT_UP },
	{  4, I, CONN_XPT_WAIT,         CONN_EVENT_LOGIN,            CONN_IN_LOGIN },
	{  4, T, CONN_XPT_UP,           CONN_EVENT_LOGIN,            CONN_IN_LOGIN },
	{  5, B, CONN_IN_LOGIN,         CONN_EVENT_LOGIN_DONE,       CONN_LOGGED_IN },
	{  6, T, CONN_XPT_UP,           CONN_EVENT_TIMEOUT,          CONN_FREE },
	{  6, T, CONN_XPT_UP,           CONN_EVENT_TRANSPORT_LOST,   CONN_FREE },
	{  6, T, CONN_XPT_UP,           CONN_EVENT_DROP,             CONN_FREE },
	{  7, B, CONN_IN_LOGIN,         CONN_EVENT_LOGIN_FAILED,     CONN_FREE },
	{  7, B, CONN_IN_LOGIN,         CONN_EVENT_TIMEOUT,          CONN_FREE },
	{  7, B, CONN_IN_LOGIN,         CONN_EVENT_TRANSPORT_LOST,   CONN_FREE },
	{  7, B, CONN_IN_LOGIN,         CONN_EVENT_DROP,             CONN_FREE },
	{  7, B, CONN_IN_LOGIN,         CONN_EVENT_SESSION_CLOSED,   CONN_FREE },
	{  8, B, CONN_LOGGED_IN,        CONN_EVENT_SESSION_CLOSED,   CONN_FREE },
	{  9, B, CONN_LOGGED_IN,        CONN_EVENT_LOGOUT,           CONN_IN_LOGOUT },
	{ 10, B, CONN_LOGOUT_REQUESTED, CONN_EVENT_LOGOUT,           CONN_IN_LOGOUT },
	{ 11, B, CONN_LOGGED_IN,        CONN_EVENT_LOGOUT_REQUESTED, CONN_LOGOUT_REQUESTED },
	{ 12, B, CONN_LOGOUT_REQUESTED, CONN_EVENT_LOGOUT_REQUESTED, CONN_LOGOUT_REQUESTED },
	{ 13, B, CONN_IN_LOGOUT,        CONN_EVENT_LOGOUT_DONE,      CONN_FREE },
	{ 13, B, CONN_IN_LOGOUT,        CONN_EVENT_SESSION_CLOSED,   CONN_FREE },
	{ 14, B, CONN_IN_LOGOUT,        CONN_EVENT_LOGOUT_REQUESTED, CONN_IN_LOGOUT },
	{ 15, B, CONN_LOGGED_IN,        CONN_EVENT_TRANSPORT_LOST,   CONN_CLEANUP_WAIT },
	{ 15, B, CONN_LOGGED_IN,        CONN_EVENT_DROP,             CONN_CLEANUP_WAIT },
	{ 16, B, CONN_LOGOUT_REQUESTED, CONN_EVENT_TRANSPORT_LOST,   CONN_CLEANUP_WAIT },
	{ 16, B, CONN_LOGOUT_REQUESTED, CONN_EVENT_DROP,             CONN_CLEANUP_WAIT },
	{ 17, B, CONN_IN_LOGOUT,        CONN_EVENT_LOGOUT_FAILED,    CONN_CLEANUP_WAIT },
	{ 17, B, CONN_IN_LOGOUT,        CONN_EVENT_TRANSPORT_LOST,   CONN_CLEANUP_WAIT },
	{ 17, B, CONN_IN_LOGOUT,        CONN_EVENT_DROP,             CONN_CLEANUP_WAIT },
	{ 18, B, CONN_LOGOUT_REQUESTED, CONN_EVENT_SESSION_CLOSED,   CONN_FREE },
	/* Section 8.2 without its own states: at error recovery level 0 nothing waits for a
	 * Logout on another connection; the clean-up is this end's own work. */
	{  0, B, CONN_CLEANUP_WAIT,     CONN_EVENT_CLEANED_UP,       CONN_FREE },
	{  0, B, CONN_CLEANUP_WAIT,     CONN_EVENT_SESSION_CLOSED,   CONN_FREE },
};

static const char *const state_names[CONN_STATES] = {
	[0]                     = "S?",
	[CONN_FREE]             = "S1 FREE",
	[CONN_XPT_WAIT]         = "S2 XPT_WAIT",
	[CONN_XPT_UP]           = "S3 XPT_UP",
	[CONN_IN_LOGIN]         = "S4 IN_LOGIN",
	[CONN_LOGGED_IN]        = "S5 LOGGED_IN",
	[CONN_IN_LOGOUT]        = "S6 IN_LOGOUT",
	[CONN_LOGOUT_REQUESTED] = "S7 LOGOUT_REQUESTED",
	[CONN_CLEANUP_WAIT]     = "S8 CLEANUP_WAIT",
};

static const char *const event_names[CONN_EVENTS] = {
	[CONN_EVENT_CONNECT]          = "connect",
	[CONN_EVENT_ACCEPTED]         = "accepted",
	[CONN_EVENT_LOGIN]            = "login",
	[CONN_EVENT_LOGIN_DONE]       = "login done",
	[CONN_EVENT_LOGIN_FAILED]     = "login failed",
	[CONN_EVENT_TIMEOUT]          = "time-out",
	[CONN_EVENT_TRANSPORT_LOST]   = "transport lost",
	[CONN_EVENT_DROP]             = "drop",
	[CONN_EVENT_LOGOUT]           = "logout",
	[CONN_EVENT_LOGOUT_REQUESTED] = "logout requested",
	[CONN_EVENT_LOGOUT_DONE]      = "logout done",
	[CONN_EVENT_LOGOUT_FAILED]    = "logout failed",
	[CONN_EVENT_SESSION_CLOSED]   = "session closed",
	[CONN_EVENT_CLEANED_UP]       = "cleaned up",
};
/* clang-format on */

static const struct conn_row *row_find(
	enum conn_role role, enum conn_state state, enum conn_event event)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].state == state && rows[i].event == event && rows[i].roles & 1u << role)
			return &rows[i];
	return NULL;
}

void conn_fsm_init(struct conn_fsm *f, enum conn_role role)
{
	*f = (struct conn_fsm){.role = role, .state = CONN_FREE};
}

int conn_fsm_step(struct conn_fsm *f, enum conn_event event, uint64_t now_ns)
{
	const struct conn_row *row = row_find(f->role, f->state, event);
	enum conn_state next = row ? (enum conn_state)row->next : f->state;

	trail_add(&f->trail, now_ns, (uint8_t)f->state, (uint8_t)event, (uint8_t)next);
	f->state = next;
	return row ? 0 : -EPROTO;
}

unsigned conn_fsm_transition(enum conn_role role, enum conn_state state, enum conn_event event)
{
	const struct conn_row *row = row_find(role, state, event);

	return row ? row->number : 0;
}

const char *conn_fsm_state_name(enum conn_state state)
{
	return (unsigned)state < CONN_STATES ? state_names[state] : state_names[0];
}

const char *conn_fsm_event_name(enum conn_event event)
{
	return (unsigned)event < CONN_EVENTS ? event_names[event] : "?";
}

size_t conn_fsm_print(const struct conn_fsm *f, char *out, size_t size)
{
	return trail_print(
		&f->trail, state_names, CONN_STATES, event_names, CONN_EVENTS, out, size);
}
