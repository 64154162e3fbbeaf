/* The login phase (RFC 7143 sections 6, 10 and 12) as a machine for both roles: PDUs in, PDUs out.
 * No I/O, no clock. Security and operational stage, skipped stages, CHAP, discovery and normal
 * sessions, the keys of RFC 7145. Its owner (initiator/conn.c, target/conn.c) moves the PDUs by
 * dm_send_control() and runs the time-out. One allocation, at login_*_new(): a peer can make it
 * hold no more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/iscsi/keys.h"
#include "common/iscsi/pdu.h"

enum login_status { /* class << 8 | detail, RFC 7143 section 11.13.5 */
	LOGIN_SUCCESS = 0x0000,
	LOGIN_MOVED_TEMPORARILY = 0x0101,
	LOGIN_MOVED_PERMANENTLY = 0x0102,
	LOGIN_INITIATOR_ERROR = 0x0200,
	LOGIN_AUTHENTICATION_FAILURE = 0x0201,
	LOGIN_AUTHORIZATION_FAILURE = 0x0202,
	LOGIN_NOT_FOUND = 0x0203,
	LOGIN_TARGET_REMOVED = 0x0204,
	LOGIN_UNSUPPORTED_VERSION = 0x0205,
	LOGIN_TOO_MANY_CONNECTIONS = 0x0206,
	LOGIN_MISSING_PARAMETER = 0x0207,
	LOGIN_CANNOT_INCLUDE = 0x0208,
	LOGIN_SESSION_TYPE_UNSUPPORTED = 0x0209,
	LOGIN_SESSION_DOES_NOT_EXIST = 0x020a,
	LOGIN_INVALID_DURING_LOGIN = 0x020b,
	LOGIN_TARGET_ERROR = 0x0300,
	LOGIN_SERVICE_UNAVAILABLE = 0x0301,
	LOGIN_OUT_OF_RESOURCES = 0x0302,
};

/* One sentence for a person: "authentication failed: check the CHAP name and secret", ... */
const char *login_status_text(unsigned status);

/* CHAP algorithms (IANA; RFC 7143 section 12.1.3, RFC 8122-style registry): a list in order of
 * preference, ended by 0. */
enum chap_algorithm {
	CHAP_MD5 = 5,
	CHAP_SHA1 = 6,
	CHAP_SHA256 = 7,
	CHAP_SHA3_256 = 8,
};

#define LOGIN_CHAP_NAME_MAX 255
#define LOGIN_CHAP_SECRET_MAX 255

struct login_auth {
	bool chap_required; /* target: refuse AuthMethod None. initiator, with a name and a secret:
			       offer "CHAP,None", else "None,CHAP"; with mutual_secret "CHAP" alone
			     */
	/* of enum chap_algorithm, ended by 0; all 0: 7,8,6,5 in that order */
	uint8_t algorithms[5];
	const char *name, *secret; /* what the initiator proves; NULL: none */
	const char *mutual_name,
		*mutual_secret; /* what the target proves; NULL: not wanted (initiator),
				   not possible (target). Initiator: a NULL name with
				   a secret means whatever name the target says */
};

/* What both machines say after each step. */
enum login_step {
	LOGIN_SEND, /* send login->out (with out_data), then call again when the peer answers */
	LOGIN_SEND_LAST, /* target: the same, and the login is then over, well; initiator: this
			    request asks for the full-feature phase: allocate the mover's resources
			    before (it comes again if the target still has something to negotiate)
			  */
	LOGIN_DONE,	 /* initiator: the final response came; the outcome is in login->params */
	LOGIN_FAILED,	 /* login->status and login->why; target: send login->out, then close */
};

struct login; /* opaque but for what the getters give */

/* ---- initiator ---- */

struct login_initiator_config {
	const char *initiator_name, *initiator_alias; /* alias may be NULL */
	const char *target_name;		      /* NULL: a discovery session */
	struct iscsi_isid isid;
	uint16_t tsih, cid;
	uint32_t cmd_sn; /* of the session; login does not advance it (it is immediate) */
	struct login_auth auth;
	struct iscsi_params offer; /* after dm_declare_keys() */
	bool rdma;		   /* the mover is iSER: offer RFC 7145's keys */
};

/* Copies what it needs. NULL when there is no memory. What is wrong in the configuration (a name
 * too long, a secret without a name) fails login_initiator_start(). offer.initial_r2t is taken as
 * true: unsolicited Data-Out does not exist here. */
struct login *login_initiator_new(const struct login_initiator_config *config);
/* The first request. */
enum login_step login_initiator_start(struct login *l);
/* A Login Response came. */
enum login_step login_initiator_receive(
	struct login *l, const struct iscsi_pdu *pdu, const void *data, size_t length);

/* ---- target ---- */

/* What the target's policy must know of who is logging in. Strings live as long as the login. */
struct login_identity {
	const char *initiator_name, *initiator_alias; /* alias may be NULL */
	const char *target_name;		      /* NULL in a discovery session */
	bool discovery;
	struct iscsi_isid isid;
	uint16_t tsih, cid;
	bool operational_first; /* its first request left the security stage out */
};

struct login_target_policy {
	/* Called once, when the first login request has told who it is. Returns LOGIN_SUCCESS after
	 * filling in *ret_auth (zeroed before; strings stay valid until login_free()) and, if it
	 * wants other than config.offer, *params; or the status to refuse with. */
	unsigned (*identify)(void *owner, const struct login_identity *who,
		struct login_auth *ret_auth, struct iscsi_params *params);
	/* Called once, when everything is agreed, before the last response is made: gives the TSIH
	 * of the new (or reinstated) session; or the status to refuse with. */
	unsigned (*establish)(void *owner, const struct login_identity *who, uint16_t *ret_tsih);
	void *owner;
	const char *target_alias; /* declared in the normal session's first response if not NULL */
};

struct login_target_config {
	struct login_target_policy policy;
	struct iscsi_params offer; /* what this end allows, after dm_declare_keys() */
	bool rdma;
	bool require_rdma_extensions; /* refuse 0x0200 where a normal iSER login does not have it;
					 else it is taken as given */
};

struct login *login_target_new(const struct login_target_config *config);
/* From inside identify(), which knows the target: its TargetAlias, in place of the policy's. The
 * text must live as long as the login; NULL: none. */
void login_target_set_alias(struct login *l, const char *alias);
/* A PDU came in the login phase, whatever it is (another opcode than Login Request fails the login,
 * section 6.3: LOGIN_INVALID_DURING_LOGIN). */
enum login_step login_target_receive(
	struct login *l, const struct iscsi_pdu *pdu, const void *data, size_t length);

/* The login is to end for a reason of the owner's: no resources, a PDU that could not be decoded,
 * the time. Makes the response to send, as any refusal does; `why` is copied. */
enum login_step login_target_refuse(struct login *l, unsigned status, const char *why);

/* ---- both ---- */

/* The PDU to send. Sequence numbers are the owner's to fill in (target: StatSN, ExpCmdSN, MaxCmdSN;
 * initiator: ExpStatSN), everything else is set. */
const struct iscsi_pdu *login_out(const struct login *l, const void **ret_data);
/* The outcome, valid after LOGIN_DONE or LOGIN_SEND_LAST (at the initiator's LOGIN_SEND_LAST: what
 * is known so far, which is all that matters to dm_allocate_connection_resources()). */
const struct iscsi_params *login_params(const struct login *l);
const struct login_identity *login_identity(const struct login *l); /* target; initiator_name is
								       NULL until it is known */
uint16_t login_tsih(const struct login *l);
unsigned login_failure(
	const struct login *l, const char **ret_why); /* status, and a line for the log */
/* LOGIN_MOVED_*: the TargetAddress that came with it, or NULL. */
const char *login_redirect(const struct login *l);
void login_free(struct login *l); /* wipes secrets; NULL is allowed */
