/* Text requests (RFC 7143 sections 11.10, 11.11 and appendix C): SendTargets in discovery and
 * normal sessions, negotiation answers for everything else. An answer longer than what the
 * initiator takes is cut, with the C bit, and goes on at its next request. Called by session.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/alloc.h"
#include "common/iscsi/keys.h"
#include "target/session_state.h"

/* Ten thousand targets with two addresses each; more are cut off. */
#define TEXT_OUT_MAX ((size_t)4 << 20)

void tgt_text_reset(struct tgt_session *s)
{
	alloc_free(s->text.in);
	alloc_free(s->text.out);
	s->text = (struct tgt_text){0};
}

/* ---- composing ---- */

static int put_pair(struct tgt_text *t, const char *key, const char *value)
{
	size_t length = strlen(key) + 1 + strlen(value) + 1;
	char *out;

	if (t->out_length + length > TEXT_OUT_MAX)
		return -ENOSPC;
	out = alloc_resize(t->out, t->out_length + length);
	if (!out)
		return -ENOMEM;
	t->out = out;
	snprintf(t->out + t->out_length, length, "%s=%s", key, value);
	t->out_length += length;
	return 0;
}

static int put_address(struct tgt_text *t, const char *address)
{
	char value[ADDRESS_TEXT_SIZE + 16];

	snprintf(value, sizeof(value), "%s,%d", address, ISCSI_PORTAL_GROUP_TAG);
	return put_pair(t, "TargetAddress", value);
}

static bool is_wildcard(const char *portal)
{
	return !strncmp(portal, "0.0.0.0:", 8) || !strncmp(portal, "[::]:", 5);
}

/* The address that this connection came in on first: it is one that the initiator can reach. A
 * wildcard portal has no other; the rest are named as they are bound. */
static int put_target(struct tgt_session *s, const struct tgt_target *target)
{
	const struct target_set *set = s->worker->targets;
	struct dm_conn_info info;
	int err = put_pair(&s->text, "TargetName", target->name);

	dm_conn_get_info(s->conn->dm, &info);
	if (err == 0 && info.local[0])
		err = put_address(&s->text, info.local);
	for (size_t i = 0; i < set->portal_count && err == 0; i++)
		if (!is_wildcard(set->portals[i]) && strcmp(set->portals[i], info.local))
			err = put_address(&s->text, set->portals[i]);
	return err;
}

static bool may_see(const struct tgt_session *s, const struct tgt_target *t)
{
	bool open = false;

	return t->row && (access_find(t->row, s->initiator_name, &open) || open);
}

/* All; one by name; or, by an empty value in a normal session, its own (appendix C). */
static bool is_asked(const struct tgt_session *s, const struct tgt_target *t, const char *value)
{
	if (!strcmp(value, "All"))
		return s->entry.discovery;
	if (!value[0])
		return t == s->target;
	return !strcasecmp(value, t->name) && (s->entry.discovery || t == s->target);
}

static int put_targets(struct tgt_session *s, const char *value)
{
	struct target_set *set = s->worker->targets;
	struct tgt_target *t;
	int err = 0;

	if (!s->entry.discovery && !strcmp(value, "All"))
		return put_pair(&s->text, "SendTargets", "Reject");
	pthread_mutex_lock(&set->lock);
	list_for_each(t, &set->targets, link)
		if (err == 0 && is_asked(s, t, value) && may_see(s, t))
			err = put_target(s, t);
	pthread_mutex_unlock(&set->lock);
	return err;
}

static int answer_pair(struct tgt_session *s, const struct key_pair *pair)
{
	if (!strcmp(pair->key, "SendTargets"))
		return put_targets(s, pair->value);
	/* Declarations need no answer; nothing else is negotiable here. */
	if (!strcmp(pair->key, "InitiatorAlias") || !strcmp(pair->key, "MaxRecvDataSegmentLength"))
		return 0;
	return put_pair(&s->text, pair->key, "NotUnderstood");
}

static int compose(struct tgt_session *s, const char *text, size_t length)
{
	struct key_pair pair;
	size_t offset = 0;
	bool asked = false; /* for targets: each time, the answer has all of them */
	int err;

	while ((err = keys_next(text, length, &offset, &pair)) == 1) {
		bool asks = !strcmp(pair.key, "SendTargets");

		if (asks && asked)
			return -EPROTO;
		asked |= asks;
		err = answer_pair(s, &pair);
		if (err < 0)
			return err;
	}
	return err;
}

/* ---- sending ---- */

/* `final`: nothing more is waited for; else the exchange goes on with text.ttt. */
static void send_response(
	struct tgt_session *s, uint32_t itt, uint32_t length, bool more, bool final)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_TEXT_RESPONSE,
		.final = final,
		.itt = itt,
		.data_length = length,
		.text = {.more = more, .ttt = final ? ISCSI_TAG_NONE : s->text.ttt},
	};

	tgt_conn_send(s->conn, &pdu, length ? s->text.out + s->text.out_sent : NULL, NULL);
}

/* Who has more to ask (F bit 0) is not told that this was all (section 11.11.1). */
static void send_part(struct tgt_session *s, const struct iscsi_pdu *request)
{
	struct tgt_text *t = &s->text;
	size_t left = t->out_length - t->out_sent;
	uint32_t length = (uint32_t)min_size(left, tgt_conn_data_limit(s->conn));
	uint32_t ttt = request->final ? 0 : t->ttt;

	send_response(s, request->itt, length, length < left, request->final && length == left);
	t->out_sent += length;
	if (t->out_sent < t->out_length)
		return;
	tgt_text_reset(s);
	t->ttt = ttt;
}

/* ---- receiving ---- */

/* Not 0, not the reserved value: there is one exchange at a time, so that any other will do. */
static uint32_t next_ttt(const struct tgt_session *s)
{
	uint32_t ttt = s->conn->sequence.stat_sn;

	return ttt == 0 || ttt == ISCSI_TAG_NONE ? 1 : ttt;
}

static int append_in(struct tgt_text *t, const void *data, size_t length)
{
	char *in;

	if (t->in_length + length > ISCSI_TEXT_MAX)
		return -EMSGSIZE;
	in = alloc_resize(t->in, t->in_length + length + 1);
	if (!in)
		return -ENOMEM;
	t->in = in;
	if (length)
		memcpy(t->in + t->in_length, data, length);
	t->in_length += length;
	return 0;
}

static void refuse(struct tgt_session *s, const struct tgt_request *r, int err)
{
	tgt_text_reset(s);
	tgt_session_reject(s, r->bhs,
		err == -ENOMEM || err == -ENOSPC ? ISCSI_REJECT_OUT_OF_RESOURCES
						 : ISCSI_REJECT_PROTOCOL_ERROR);
}

/* The whole request is here. */
static void answer(
	struct tgt_session *s, const struct tgt_request *r, const char *text, size_t length)
{
	int err = compose(s, text, length);

	if (err < 0) {
		refuse(s, r, err);
		return;
	}
	if (!s->text.ttt)
		s->text.ttt = next_ttt(s);
	send_part(s, r->pdu);
}

/* A piece of a request (C bit): an empty answer asks for the next. */
static void collect(struct tgt_session *s, const struct tgt_request *r)
{
	struct tgt_text *t = &s->text;
	int err = append_in(t, r->data, r->pdu->data_length);

	if (err < 0) {
		refuse(s, r, err);
		return;
	}
	if (!r->pdu->text.more) {
		answer(s, r, t->in, t->in_length);
		return;
	}
	if (!t->ttt)
		t->ttt = next_ttt(s);
	send_response(s, r->pdu->itt, 0, false, false);
}

void tgt_text_receive(struct tgt_session *s, const struct tgt_request *r)
{
	const struct iscsi_pdu *pdu = r->pdu;

	/* A new exchange resets an old one (section 11.10.3). */
	if (pdu->text.ttt == ISCSI_TAG_NONE)
		tgt_text_reset(s);
	else if (!s->text.ttt || pdu->text.ttt != s->text.ttt) {
		refuse(s, r, -EPROTO);
		return;
	}
	if (s->text.out && pdu->data_length)
		refuse(s, r, -EPROTO);
	else if (s->text.out)
		send_part(s, pdu);
	else if (pdu->text.more || s->text.in)
		collect(s, r);
	else
		answer(s, r, r->data, pdu->data_length);
}
