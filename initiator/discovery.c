/* SendTargets discovery (RFC 7143 section 4.3 and appendix C): one session, one Text exchange,
 * logout. The parser of the answer is discovery_text.c. Called by iserd. */
#include "initiator/discovery.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "common/base/log.h"
#include "common/loop/loop.h"
#include "initiator/conn.h"
#include "initiator/session.h"

#define DISCOVERY_TIMEOUT_NS (15 * LOOP_NS_PER_S)
#define DISCOVERY_ITT 0x00010001u /* one request at a time: any tag but 0xffffffff would do */

struct discovery {
	struct loop *loop;
	void (*done)(void *owner, const struct discovery_result *result);
	void *owner;
	struct ini_conn *conn;
	char *strings[5]; /* copies that conn's configuration points to */
	struct discovery_entry fallback;
	char *text; /* of the answer so far */
	size_t text_length;
	unsigned pdus;
	uint32_t cmd_sn;
	struct discovery_entry *entries;
	size_t count;
	bool truncated, complete;
	int error;
	unsigned login_status;
	char why[INI_CONN_WHY_SIZE];
	struct loop_timer timer; /* for the answer */
};

static void discovery_free(struct discovery *d)
{
	loop_timer_cancel(&d->timer);
	for (size_t i = 0; i < ARRAY_SIZE(d->strings); i++) {
		if (d->strings[i])
			explicit_bzero(d->strings[i], strlen(d->strings[i]));
		alloc_free(d->strings[i]);
	}
	alloc_free(d->text);
	alloc_free(d->entries);
	alloc_free(d);
}

/* ---- the exchange ---- */

static void text_request(struct discovery *d, uint32_t ttt, const char *text, uint32_t length)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_TEXT_REQUEST,
		.immediate = true,
		.final = true,
		.data_length = length,
		.itt = DISCOVERY_ITT,
		.cmd_sn = d->cmd_sn,
		.text = {.ttt = ttt},
	};

	ini_conn_send(d->conn, &pdu, text, NULL);
}

static void logout_request(struct discovery *d)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_LOGOUT_REQUEST,
		.immediate = true,
		.final = true,
		.itt = DISCOVERY_ITT + 1,
		.cmd_sn = d->cmd_sn,
		.logout = {.reason = ISCSI_LOGOUT_SESSION},
	};

	if (ini_conn_send(d->conn, &pdu, NULL, NULL) == 0)
		ini_conn_step(d->conn, CONN_EVENT_LOGOUT);
}

static int text_append(struct discovery *d, const void *data, uint32_t length)
{
	char *longer;

	if (++d->pdus > DISCOVERY_PDUS_MAX || d->text_length + length > DISCOVERY_TEXT_MAX) {
		d->truncated = true;
		return -EFBIG;
	}
	if (length == 0)
		return 0;
	longer = alloc_resize(d->text, d->text_length + length);
	if (!longer)
		return -ENOMEM;
	memcpy(longer + d->text_length, data, length);
	d->text = longer;
	d->text_length += length;
	return 0;
}

/* As many entries as there can be: each needs a line of its own. */
static size_t entries_needed(const struct discovery *d)
{
	size_t lines = 1;

	for (size_t i = 0; i < d->text_length; i++)
		lines += d->text[i] == 0;
	return min_size(lines, DISCOVERY_ENTRIES_MAX);
}

static int parse_answer(struct discovery *d, const char **ret_why)
{
	size_t max = entries_needed(d);
	bool more = false;
	int r;

	*ret_why = strerror(ENOMEM);
	d->entries = alloc_array(max, sizeof(*d->entries));
	if (!d->entries)
		return -ENOMEM;
	r = discovery_parse(
		d->text, d->text_length, &d->fallback, d->entries, max, &d->count, &more, ret_why);
	d->truncated |= more;
	if (r == 0 && *ret_why)
		log_warning("discovery", "%s: %s is passed over", d->conn->portal, *ret_why);
	return r;
}

static void answer_complete(struct discovery *d)
{
	const char *why;
	int r;

	/* what was cut off may have been cut inside a pair */
	while (d->truncated && d->text_length && d->text[d->text_length - 1])
		d->text_length--;
	r = parse_answer(d, &why);
	if (r < 0) {
		ini_conn_fail(d->conn, CONN_EVENT_DROP, r, "the answer to SendTargets: %s", why);
		return;
	}
	d->complete = true;
	logout_request(d);
}

/* More is to come when the C bit is set, or the target has not set F (RFC 7143 sections 11.10
 * and 11.11): an empty request with its TTT asks for it. */
static void text_response(struct discovery *d, const struct iscsi_pdu *pdu, const void *data)
{
	bool more = pdu->text.more || !pdu->final;
	int r;

	if (pdu->itt != DISCOVERY_ITT || d->complete || (more && pdu->text.ttt == ISCSI_TAG_NONE)) {
		ini_conn_fail(d->conn, CONN_EVENT_DROP, -EPROTO,
			"a Text Response that does not belong to the request");
		return;
	}
	r = text_append(d, data, pdu->data_length);
	if (r == -EFBIG)
		answer_complete(d);
	else if (r < 0)
		ini_conn_fail(d->conn, CONN_EVENT_DROP, r, "no memory for the answer");
	else if (more)
		text_request(d, pdu->text.ttt, NULL, 0);
	else
		answer_complete(d);
}

static void discovery_received(
	void *owner, const struct iscsi_pdu *pdu, const void *data, struct dm_task *task)
{
	struct discovery *d = owner;

	(void)task;
	switch (pdu->opcode) {
	case ISCSI_TEXT_RESPONSE:
		text_response(d, pdu, data);
		break;
	case ISCSI_LOGOUT_RESPONSE:
		ini_conn_close(d->conn, CONN_EVENT_LOGOUT_DONE);
		break;
	case ISCSI_NOP_IN: /* it is over before a ping would be missed */
	case ISCSI_ASYNC:
		break;
	default:
		ini_conn_fail(d->conn, CONN_EVENT_DROP, -EPROTO, "a %s came in a discovery session",
			iscsi_opcode_name(pdu->opcode));
	}
}

static void discovery_logged_in(void *owner, const struct iscsi_pdu *last)
{
	static const char ask[] = "SendTargets=All";
	struct discovery *d = owner;

	(void)last;
	loop_timer_arm(d->loop, &d->timer, d->conn->config.timeout_ns);
	text_request(d, ISCSI_TAG_NONE, ask, sizeof(ask));
}

/* ---- the end ---- */

static void discovery_lost(void *owner, const struct ini_conn_loss *loss)
{
	struct discovery *d = owner;
	struct discovery_result result = {.why = ""};

	/* what became of the logout does not matter once the answer is there */
	if (!d->complete || d->error) {
		result.error = d->error ? d->error : loss->error ? loss->error : -ECONNRESET;
		result.login_status = loss->login_status;
		result.why = d->error ? "given up" : loss->why;
	} else {
		result.entries = d->entries;
		result.count = d->count;
		result.truncated = d->truncated;
	}
	d->done(d->owner, &result);
	discovery_free(d);
}

static void discovery_timed_out(struct loop_timer *t)
{
	struct discovery *d = container_of(t, struct discovery, timer);

	ini_conn_fail(d->conn, CONN_EVENT_DROP, -ETIMEDOUT, "no answer to SendTargets");
}

void discovery_cancel(struct discovery *d)
{
	d->error = -ECANCELED;
	ini_conn_close(d->conn, CONN_EVENT_SESSION_CLOSED);
}

/* ---- the beginning ---- */

static const struct ini_conn_upcalls discovery_upcalls = {
	.logged_in = discovery_logged_in,
	.received = discovery_received,
	.lost = discovery_lost,
};

static int copy_string(struct discovery *d, size_t index, const char *from, const char **to)
{
	d->strings[index] = alloc_string(from);
	*to = d->strings[index];
	return from && !*to ? -ENOMEM : 0;
}

static int conn_configure(
	struct discovery *d, const struct discovery_config *config, struct ini_conn_config *ret)
{
	*ret = (struct ini_conn_config){
		.loop = config->loop,
		.mover = config->mover,
		.portal = config->portal,
		.auth = config->auth,
		.cmd_sn = d->cmd_sn,
		.timeout_ns =
			config->login_timeout_ns ? config->login_timeout_ns : DISCOVERY_TIMEOUT_NS,
	};
	iscsi_params_default(&ret->offer);
	ini_isid_make(config->initiator_name, "", "discovery", 0, &ret->isid);
	if (copy_string(d, 0, config->initiator_name, &ret->initiator_name) < 0 ||
		copy_string(d, 1, config->auth.name, &ret->auth.name) < 0 ||
		copy_string(d, 2, config->auth.secret, &ret->auth.secret) < 0 ||
		copy_string(d, 3, config->auth.mutual_name, &ret->auth.mutual_name) < 0 ||
		copy_string(d, 4, config->auth.mutual_secret, &ret->auth.mutual_secret) < 0)
		return -ENOMEM;
	return 0;
}

static void fallback_portal(struct discovery *d, const struct address *portal)
{
	char host[ADDRESS_TEXT_SIZE];

	address_print_host(portal, host);
	memcpy(d->fallback.address, host, sizeof(d->fallback.address));
	d->fallback.port = address_port(portal);
	d->fallback.tpgt = ISCSI_PORTAL_GROUP_TAG;
}

int discovery_start(const struct discovery_config *config,
	void (*done)(void *owner, const struct discovery_result *result), void *owner,
	struct discovery **ret)
{
	struct discovery *d = alloc_zeroed(sizeof(*d));
	struct ini_conn_config conn;
	int r = -ENOMEM;

	if (!d)
		return r;
	d->loop = config->loop;
	d->done = done;
	d->owner = owner;
	d->cmd_sn = 1;
	d->timer.expired = discovery_timed_out;
	fallback_portal(d, &config->portal);
	r = conn_configure(d, config, &conn);
	if (r == 0)
		r = ini_conn_new(&conn, &discovery_upcalls, d, &d->conn);
	if (r < 0)
		goto fail;
	*ret = d;
	return 0;
fail:
	discovery_free(d);
	return r;
}
