/* The connection state machine of RFC 7143 section 8.1, both roles, as a table of rows. No I/O, no
 * clock: the owner (initiator/conn.c, target/conn.c) says what happened and when, and acts by the
 * state that it is then in. A pair of state and event that the RFC does not have is an error of the
 * caller or of the peer, reported and never acted upon. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/trail.h"

enum conn_role {
	CONN_INITIATOR,
	CONN_TARGET,
};

enum conn_state {		   /* section 8.1.1; the values are the RFC's numbers */
	CONN_FREE = 1,		   /* both: not made yet, or closed in order */
	CONN_XPT_WAIT = 2,	   /* initiator: waits for the transport connection */
	CONN_XPT_UP = 3,	   /* target: waits for the first Login Request */
	CONN_IN_LOGIN = 4,	   /* both: wait for the login to end */
	CONN_LOGGED_IN = 5,	   /* both: full-feature phase */
	CONN_IN_LOGOUT = 6,	   /* initiator: waits for the Logout Response. target: for its own
				      clean-up,        after which it sends that response */
	CONN_LOGOUT_REQUESTED = 7, /* initiator: waits to be ready for a Logout. target: waits for
				      the Logout that it asked for */
	CONN_CLEANUP_WAIT = 8,	   /* both: broken; wait for what it held to be given back */
	CONN_STATES
};

enum conn_event {
	CONN_EVENT_CONNECT,    /* initiator: the transport connect was begun */
	CONN_EVENT_ACCEPTED,   /* target: a transport connection came in */
	CONN_EVENT_LOGIN,      /* initiator: the transport is up, login begins. target: first Login
				  Request */
	CONN_EVENT_LOGIN_DONE, /* final Login Response with status class 0: received, to be sent */
	CONN_EVENT_LOGIN_FAILED,   /* the same with another status class */
	CONN_EVENT_TIMEOUT,	   /* connect, or login, took too long */
	CONN_EVENT_TRANSPORT_LOST, /* disconnect, reset or time-out of the transport */
	CONN_EVENT_DROP,   /* this end gives up (protocol error), or Async "drop connection(s)" */
	CONN_EVENT_LOGOUT, /* initiator: ready, Logout Request is sent. target: it was received */
	CONN_EVENT_LOGOUT_REQUESTED, /* Async "logout requested": received, to be sent */
	CONN_EVENT_LOGOUT_DONE,	     /* Logout Response "success": received, to be sent */
	/* the same with a failure; initiator: or the logout took too long */
	CONN_EVENT_LOGOUT_FAILED,
	CONN_EVENT_SESSION_CLOSED, /* the session was closed on another connection, or reinstated */
	CONN_EVENT_CLEANED_UP,	   /* all that a broken connection held is free (section 8.2) */
	CONN_EVENTS
};

struct conn_fsm {
	enum conn_role role;
	enum conn_state state;
	struct trail trail;
};

/* In CONN_FREE, with an empty trail. */
void conn_fsm_init(struct conn_fsm *f, enum conn_role role);
/* One transition. 0; -EPROTO, with the state left as it was, when the RFC has none for this role,
 * state and event. Either way the step is in the trail (a refused one as "state event state"). */
int conn_fsm_step(struct conn_fsm *f, enum conn_event event, uint64_t now_ns);
/* The number n of the transition Tn that `event` would make; 0 for an undefined pair, and for the
 * exits of CONN_CLEANUP_WAIT, which section 8.2 calls M1..M4. */
unsigned conn_fsm_transition(enum conn_role role, enum conn_state state, enum conn_event event);

/* "S5 LOGGED_IN"; "S?" for a value that is no state. */
const char *conn_fsm_state_name(enum conn_state state);
/* "login done"; "?" for a value that is no event. */
const char *conn_fsm_event_name(enum conn_event event);
/* The trail as one line for a log, oldest first. Returns the length written. */
size_t conn_fsm_print(const struct conn_fsm *f, char *out, size_t size);

/* True from the last Login Response until a logout begins: SCSI commands may be sent or taken. */
static inline bool conn_fsm_carries_commands(const struct conn_fsm *f)
{
	return f->state == CONN_LOGGED_IN || f->state == CONN_LOGOUT_REQUESTED;
}
