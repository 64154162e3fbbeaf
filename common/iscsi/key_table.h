/* The table of text keys (RFC 7143 sections 12 and 13, RFC 7145 section 6) and the one engine that
 * walks it: what is said of a key anywhere is said in its row. No I/O. Used by the login phase of
 * both roles. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/iscsi/keys.h"

/* The order is that in which keys are answered and offered: a key stands behind those that it
 * depends on (FirstBurstLength behind InitialR2T, ImmediateData and MaxBurstLength). */
enum key_id {
	KEY_INITIATOR_NAME,
	KEY_INITIATOR_ALIAS,
	KEY_TARGET_NAME,
	KEY_SESSION_TYPE,
	KEY_AUTH_METHOD,
	KEY_CHAP_A,
	KEY_CHAP_I,
	KEY_CHAP_C,
	KEY_CHAP_N,
	KEY_CHAP_R,
	KEY_TARGET_ALIAS,
	KEY_TARGET_ADDRESS,
	KEY_TARGET_PORTAL_GROUP_TAG,
	KEY_SEND_TARGETS,
	KEY_RDMA_EXTENSIONS,
	KEY_HEADER_DIGEST,
	KEY_DATA_DIGEST,
	KEY_MAX_RECV_DATA_SEGMENT_LENGTH,
	KEY_INITIATOR_RECV_DATA_SEGMENT_LENGTH,
	KEY_TARGET_RECV_DATA_SEGMENT_LENGTH,
	KEY_INITIAL_R2T,
	KEY_IMMEDIATE_DATA,
	KEY_MAX_BURST_LENGTH,
	KEY_FIRST_BURST_LENGTH,
	KEY_DEFAULT_TIME2WAIT,
	KEY_DEFAULT_TIME2RETAIN,
	KEY_MAX_OUTSTANDING_R2T,
	KEY_MAX_CONNECTIONS,
	KEY_DATA_PDU_IN_ORDER,
	KEY_DATA_SEQUENCE_IN_ORDER,
	KEY_ERROR_RECOVERY_LEVEL,
	KEY_TASK_REPORTING,
	KEY_ISCSI_PROTOCOL_LEVEL,
	KEY_MAX_OUTSTANDING_UNEXPECTED_PDUS,
	KEY_MAX_AHS_LENGTH,
	KEY_TAGGED_BUFFER_FOR_SOLICITED_DATA_ONLY,
	KEY_ISER_HELLO_REQUIRED,
	KEY_IF_MARKER,
	KEY_OF_MARKER,
	KEY_IF_MARK_INT,
	KEY_OF_MARK_INT,
	KEY_COUNT,
};

enum key_type {
	KEY_TEXT,
	KEY_BOOLEAN,
	KEY_NUMBER,
	KEY_LIST
};

enum key_result {    /* the result function of RFC 7143 section 6.2.1-6.2.2 */
	KEY_OWN,     /* not for the engine: identity and security, which login_*.c read */
	KEY_DECLARE, /* each side says its own, nobody answers */
	KEY_AND,
	KEY_OR,
	KEY_MIN,
	KEY_MAX,
	KEY_CHOOSE, /* the first entry of the offered list that this side allows */
	KEY_REFUSE, /* obsolete: answered with the text in `names[0]` (RFC 7143 section 13.25) */
};

enum key_owner {
	KEY_OF_LOGIN,
	KEY_OF_SESSION,
	KEY_OF_TCP_MOVER,
	KEY_OF_ISER_MOVER
};

enum key_stage {
	KEY_IN_SECURITY = 1,
	KEY_IN_OPERATIONAL = 2,
	KEY_IN_FULL_FEATURE = 4
};

enum key_sender {
	KEY_BY_INITIATOR = 1,
	KEY_BY_TARGET = 2,
	KEY_BY_BOTH = 3
};

enum key_context {	   /* where a key is irrelevant, or is not offered by us */
	KEY_DISCOVERY = 1, /* a discovery session */
	KEY_OVER_TCP = 2,
	KEY_OVER_ISER = 4,	/* a normal session over iSER */
	KEY_NO_UNSOLICITED = 8, /* InitialR2T=Yes and ImmediateData=No */
};

enum key_flag {
	KEY_LEADING = 1,    /* only in the leading login of a session ("LO") */
	KEY_OFFERED = 2,    /* our initiator offers it wherever it is relevant */
	KEY_REPEATABLE = 4, /* may come again with the same value: newer libiscsi names itself in
			       the first     PDU of both stages */
	KEY_NONE_OVER_RDMA = 8, /* always answered with the first name over RDMA (RFC 7145 6.1) */
	KEY_ZERO_ALLOWED = 16,	/* 0 beside the range */
};

#define KEY_NO_FIELD UINT16_MAX

struct key_row {
	const char *name;
	enum key_type type;
	enum key_result result;
	enum key_owner owner;
	uint8_t stages;		       /* of enum key_stage */
	uint8_t senders;	       /* of enum key_sender */
	uint8_t irrelevant, unoffered; /* of enum key_context */
	uint8_t flags;		       /* of enum key_flag */
	uint32_t minimum,
		maximum;   /* numbers: the range. Texts: the longest value, 0: ISCSI_VALUE_MAX */
	uint32_t standard; /* the RFC's default */
	/* lists: the name of bit 0, of bit 1, ..., NULL. The highest bit is liked best; the bit
	 * behind the last name turns that round */
	const char *const *names;
	uint16_t field;	     /* in struct iscsi_params; KEY_NO_FIELD: we hold to `standard` */
	uint16_t peer_field; /* KEY_DECLARE: where the peer's value goes */
	uint16_t cap_field;  /* a number that the result must not exceed */
};

extern const struct key_row key_table[KEY_COUNT];

/* KEY_COUNT if the name is not in the table. Names are compared as they are (section 6.1). */
enum key_id key_find(const char *name);

/* ---- the negotiation of one connection ---- */

struct key_negotiation {
	bool initiator; /* our role */
	bool discovery, rdma, leading;
	uint8_t stage;		  /* of enum key_stage */
	struct iscsi_params ours; /* what we offer or allow */
	struct iscsi_params outcome;
	uint8_t state[KEY_COUNT];    /* of enum key_state */
	const char *text[KEY_COUNT]; /* the values of this round, inside the text that was read */
	char why[192]; /* after a failure: one line for the log, without control characters */
};

enum key_state {
	KEY_SEEN = 1, /* the peer has sent it */
	KEY_SENT = 2, /* we have declared or offered it */
	KEY_AGREED = 4,
};

void key_negotiation_init(
	struct key_negotiation *n, bool initiator, bool rdma, const struct iscsi_params *ours);
/* All that came between two changes of direction: finds the rows, checks sender, stage, length and
 * repetition, sets n->text; keys that nobody knows are answered NotUnderstood into `w`. `text` must
 * stay until key_negotiation_answer(). 0 or a status of enum login_status with n->why. */
unsigned key_negotiation_read(
	struct key_negotiation *n, const char *text, size_t length, struct bytes_writer *w);
/* Takes declarations and answers, and answers offers, of what was read. */
unsigned key_negotiation_answer(struct key_negotiation *n, struct bytes_writer *w);
/* Writes what this side has to offer: the initiator its keys, the target what it must restrict that
 * the initiator has left at a default that is too much. True if something was written. `w` may
 * overflow. */
bool key_negotiation_offer(struct key_negotiation *n, struct bytes_writer *w);
/* Declares our value of one key. */
void key_negotiation_declare(struct key_negotiation *n, enum key_id id, struct bytes_writer *w);
/* Negotiations that we began and the peer has not ended. */
bool key_negotiation_open(const struct key_negotiation *n);
/* Over iSER: the fields that follow from others, as far as is known. */
void key_negotiation_derive(struct key_negotiation *n);
/* The login is over: offers that nobody answered are settled, derived fields filled in. */
void key_negotiation_finish(struct key_negotiation *n);
