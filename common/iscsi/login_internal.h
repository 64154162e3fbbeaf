/* What login.c and the machines of both roles share. Included by login*.c and their tests alone. */
#pragma once

#include "common/base/bytes.h"
#include "common/iscsi/chap.h"
#include "common/iscsi/key_table.h"
#include "common/iscsi/login.h"

/* Text held at once, in each direction. RFC 7143 section 6.2: at least 16 KiB of a negotiation
 * sequence must be taken; all rows of key_table.c at their longest are fewer. */
#define LOGIN_TEXT_MAX 16384
/* PDUs of one login that come from the peer. 16 KiB in pieces of 512 bytes (the smallest
 * MaxRecvDataSegmentLength) are 32, the empty PDUs that fetch as much of ours 16, CHAP and the
 * stages at most 8: with this nobody who means it is cut off, and nobody can go on for ever. */
#define LOGIN_PDUS_MAX 64

enum login_auth_state {
	LOGIN_AUTH_IDLE,      /* AuthMethod is to come */
	LOGIN_AUTH_ALGORITHM, /* CHAP is agreed; CHAP_A is to come */
	LOGIN_AUTH_RESPONSE,  /* the challenge is out; CHAP_N and CHAP_R are to come */
	LOGIN_AUTH_DONE,
};

struct login_chap {
	unsigned algorithm;
	uint8_t identifier;		    /* of our challenge */
	uint8_t challenge[CHAP_DIGEST_MAX]; /* ours; as long as the digest */
	uint8_t peer_challenge[CHAP_CHALLENGE_MAX];
	uint8_t peer_response[CHAP_DIGEST_MAX];
	uint8_t response[CHAP_DIGEST_MAX]; /* what we compute */
};

struct login_strings { /* an initiator's copies; a target keeps what the first request said */
	char initiator_name[ISCSI_NAME_MAX + 1], initiator_alias[ISCSI_VALUE_MAX + 1];
	char target_name[ISCSI_NAME_MAX + 1];
	char name[LOGIN_CHAP_NAME_MAX + 1], secret[LOGIN_CHAP_SECRET_MAX + 1];
	char mutual_name[LOGIN_CHAP_NAME_MAX + 1], mutual_secret[LOGIN_CHAP_SECRET_MAX + 1];
};

struct login {
	struct key_negotiation keys;
	struct login_auth auth;
	enum login_auth_state auth_state;
	struct login_chap chap;
	struct login_strings strings;
	struct login_identity identity;

	uint8_t stage; /* enum iscsi_stage */
	bool started, over;
	unsigned pdus; /* from the peer */
	uint32_t itt, cmd_sn;
	struct iscsi_isid isid;
	uint16_t tsih, cid;

	struct iscsi_pdu pdu;	     /* to send */
	const uint8_t *piece;	     /* its text, in `out` */
	size_t piece_max, piece_end; /* bytes of `out` per PDU; bytes that are in PDUs already */
	struct bytes_writer writer;  /* over `out` */
	bool in_more;		     /* a PDU with C=1 came: `in` goes on */
	size_t in_length;
	uint8_t in[LOGIN_TEXT_MAX], out[LOGIN_TEXT_MAX];

	unsigned status;
	char why[224], redirect[ISCSI_VALUE_MAX + 1];

	/* Initiator: with the last piece of what is in `out`. Target: the request that `out`
	 * answers had T, and was checked accordingly. */
	bool wants_transit;
	/* initiator */
	bool offers_none;
	/* target */
	struct login_target_policy policy;
	bool require_rdma_extensions, greeted;
};

/* Copies `text` to a place of `size` bytes. Returns `to`; NULL if there is no text or it is too
 * long. */
const char *login_keep(char *to, size_t size, const char *text);
/* Both roles' outcome, in login->status and ->why. Returns LOGIN_FAILED. */
enum login_step login_fail(struct login *l, unsigned status, const char *why);
/* Appends the text of one PDU, beginning anew behind one with C=0. -EMSGSIZE. */
int login_text_take(struct login *l, const void *data, size_t length, bool more);
/* Begins a new answer. */
void login_text_begin(struct login *l);
bool login_text_pending(const struct login *l);
/* Puts the next piece of the answer into l->pdu. True: it is the last. */
bool login_text_piece(struct login *l);
void login_stage_enter(struct login *l, uint8_t stage);
/* Fills in the default order of algorithms where none is given. */
void login_auth_complete(struct login_auth *auth);
/* A step of the security stage; 0 or a status, with l->why. */
unsigned login_initiator_authenticate(struct login *l);
unsigned login_target_authenticate(struct login *l);
/* Puts `why` and returns `status`. */
unsigned login_wrong(struct login *l, unsigned status, const char *why);
/* Decodes CHAP_I and CHAP_C of the peer into l->chap.peer_challenge and computes l->chap.response
 * with `secret`; refuses our own challenge, if it is out, come back. */
unsigned login_chap_respond(struct login *l, const char *secret);
/* Compares CHAP_N and CHAP_R of the peer with `name` (NULL: any) and with what `secret` gives. */
unsigned login_chap_verify(struct login *l, const char *name, const char *secret);
