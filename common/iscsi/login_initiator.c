/* The initiator's side of the login phase: RFC 7143 sections 6.3, 11.12 and 11.13. Called by the
 * initiator's conn.c. */
#include <string.h>

#include "common/base/alloc.h"
#include "common/iscsi/login_internal.h"

/* Any tag but the reserved one will do: no other task exists before the login is over. */
#define LOGIN_ITT 0

/* ---- the configuration ---- */

/* Leaves a pointer to the copy; NULL stays NULL. */
static void keep(struct login *l, const char **where, char *to, size_t size, const char *text)
{
	*where = login_keep(to, size, text);
	if (text && !*where)
		login_wrong(l, 0, "a name, alias or secret is too long");
}

static void keep_all(struct login *l, const struct login_initiator_config *c)
{
	struct login_strings *s = &l->strings;
	struct login_identity *who = &l->identity;

	keep(l, &who->initiator_name, s->initiator_name, sizeof(s->initiator_name),
		c->initiator_name);
	keep(l, &who->initiator_alias, s->initiator_alias, sizeof(s->initiator_alias),
		c->initiator_alias);
	keep(l, &who->target_name, s->target_name, sizeof(s->target_name), c->target_name);
	l->auth = c->auth;
	keep(l, &l->auth.name, s->name, sizeof(s->name), c->auth.name);
	keep(l, &l->auth.secret, s->secret, sizeof(s->secret), c->auth.secret);
	keep(l, &l->auth.mutual_name, s->mutual_name, sizeof(s->mutual_name), c->auth.mutual_name);
	keep(l, &l->auth.mutual_secret, s->mutual_secret, sizeof(s->mutual_secret),
		c->auth.mutual_secret);
	login_auth_complete(&l->auth);
}

struct login *login_initiator_new(const struct login_initiator_config *config)
{
	struct login *l = alloc_zeroed(sizeof(*l));

	if (!l)
		return NULL;
	key_negotiation_init(&l->keys, true, config->rdma, &config->offer);
	l->keys.discovery = !config->target_name;
	l->keys.leading = config->tsih == 0;
	l->keys.ours.initial_r2t = true;
	l->keys.ours.rdma_extensions = config->rdma;
	l->itt = LOGIN_ITT;
	l->cmd_sn = config->cmd_sn;
	l->isid = config->isid;
	l->tsih = config->tsih;
	l->cid = config->cid;
	l->piece_max = ISCSI_TEXT_MAX;
	keep_all(l, config);
	return l;
}

static const char *what_is_wrong(const struct login *l)
{
	if (l->why[0])
		return l->why;
	if (!l->identity.initiator_name)
		return "an initiator needs a name";
	if (!l->auth.name != !l->auth.secret)
		return "CHAP needs both a name and a secret";
	if (l->auth.mutual_secret && !l->auth.secret)
		return "a target proves itself only to an initiator that has a CHAP name and "
		       "secret";
	if (l->auth.mutual_name && !l->auth.mutual_secret)
		return "mutual CHAP needs a secret of the target's";
	if (l->auth.chap_required && !l->auth.secret)
		return "CHAP is required and there is neither a name nor a secret";
	if (l->auth.mutual_secret && chap_same_text(l->auth.secret, l->auth.mutual_secret))
		return "the CHAP secrets of the two directions must differ"; /* section 9.2.1 */
	return NULL;
}

/* ---- requests ---- */

static void request_begin(struct login *l)
{
	l->pdu = (struct iscsi_pdu){
		.opcode = ISCSI_LOGIN_REQUEST,
		.immediate = true,
		.itt = l->itt,
		.cmd_sn = l->cmd_sn,
	};
	l->pdu.login.csg = l->stage;
	l->pdu.login.version_max = ISCSI_VERSION;
	l->pdu.login.version_min = ISCSI_VERSION;
	l->pdu.login.isid = l->isid;
	l->pdu.login.tsih = l->tsih;
	l->pdu.login.cid = l->cid;
	l->piece = l->out;
}

/* The next piece of the request; the last one asks for the next stage, if it is time. */
static enum login_step request(struct login *l)
{
	bool last;

	request_begin(l);
	if (l->writer.overflow)
		return login_fail(
			l, LOGIN_TARGET_ERROR, "the answer to the target's keys is too long");
	last = login_text_piece(l);
	l->pdu.login.more = !last;
	if (!last || !l->wants_transit)
		return LOGIN_SEND;
	l->pdu.login.transit = true;
	if (l->stage == ISCSI_STAGE_SECURITY) {
		l->pdu.login.nsg = ISCSI_STAGE_OPERATIONAL;
		return LOGIN_SEND;
	}
	l->pdu.login.nsg = ISCSI_STAGE_FULL_FEATURE;
	key_negotiation_derive(&l->keys);
	return LOGIN_SEND_LAST;
}

static void put(struct login *l, const char *key, const char *value)
{
	if (value && keys_put(&l->writer, key, value))
		l->writer.overflow = true;
}

static const char *choose_methods(struct login *l)
{
	l->offers_none = !l->auth.mutual_secret;
	if (!l->auth.secret)
		return "None";
	if (l->auth.mutual_secret)
		return "CHAP";
	return l->auth.chap_required ? "CHAP,None" : "None,CHAP";
}

enum login_step login_initiator_start(struct login *l)
{
	const char *wrong = what_is_wrong(l), *methods;

	if (wrong)
		return login_fail(l, LOGIN_INITIATOR_ERROR, wrong);
	login_stage_enter(l, ISCSI_STAGE_SECURITY);
	login_text_begin(l);
	methods = choose_methods(l);
	put(l, "InitiatorName", l->identity.initiator_name);
	put(l, "InitiatorAlias", l->identity.initiator_alias);
	put(l, "TargetName", l->identity.target_name);
	put(l, "SessionType", l->keys.discovery ? "Discovery" : "Normal");
	put(l, "AuthMethod", methods);
	l->started = true;
	l->wants_transit = methods[0] == 'N';
	return request(l);
}

/* ---- responses: what must hold before the text is looked at ---- */

static const char *check_flags(const struct login *l, const struct iscsi_pdu *pdu)
{
	const struct iscsi_pdu *asked = &l->pdu;

	if (pdu->login_response.csg != l->stage)
		return "the target answers in another stage";
	if (!pdu->login_response.transit)
		return NULL;
	if (pdu->login_response.more)
		return "the target set both T and C bit";
	if (!asked->login.transit || pdu->login_response.nsg != asked->login.nsg)
		return "the target goes on to a stage that was not asked for";
	return NULL;
}

static const char *check_response(struct login *l, const struct iscsi_pdu *pdu)
{
	if (l->over || !l->started)
		return "a login response that nobody waits for";
	if (pdu->opcode != ISCSI_LOGIN_RESPONSE)
		return "the target answers the login with something else than a Login Response";
	if (pdu->itt != l->itt)
		return "the target answers with another task tag";
	if (++l->pdus > LOGIN_PDUS_MAX)
		return "the login takes too many PDUs";
	if (pdu->login_response.status_class)
		return NULL;
	if (pdu->login_response.version_active != ISCSI_VERSION)
		return "the target speaks a version other than 0";
	if (memcmp(&pdu->login_response.isid, &l->isid, sizeof(l->isid)))
		return "the target answers with another ISID";
	return check_flags(l, pdu);
}

static void read_redirection(struct login *l)
{
	struct key_pair pair;
	size_t offset = 0;

	while (keys_next((const char *)l->in, l->in_length, &offset, &pair) > 0)
		if (!strcmp(pair.key, "TargetAddress") && !l->redirect[0])
			login_keep(l->redirect, sizeof(l->redirect), pair.value);
}

static enum login_step refused(struct login *l, const struct iscsi_pdu *pdu)
{
	unsigned status =
		(unsigned)pdu->login_response.status_class << 8 | pdu->login_response.status_detail;

	if (pdu->login_response.status_class == 1)
		read_redirection(l);
	/* tgt numbers SHA-1 as 7 (chap.h) and calls what we then say an initiator error. */
	if (status == LOGIN_INITIATOR_ERROR && l->auth_state != LOGIN_AUTH_IDLE &&
		l->stage == ISCSI_STAGE_SECURITY)
		return login_fail(l, status,
			"the target cannot take our CHAP response: check the secret, and try "
			"CHAP algorithm MD5 first");
	return login_fail(l, status, login_status_text(status));
}

/* ---- the stages ---- */

static enum login_step finish(struct login *l, const struct iscsi_pdu *pdu)
{
	struct key_negotiation *n = &l->keys;

	key_negotiation_finish(n);
	if (n->rdma && !n->discovery && !n->outcome.rdma_extensions)
		return login_fail(
			l, LOGIN_TARGET_ERROR, "the target does not agree to RDMAExtensions=Yes");
	if (!pdu->login_response.tsih || (l->tsih && l->tsih != pdu->login_response.tsih))
		return login_fail(
			l, LOGIN_TARGET_ERROR, "the target names no session, or another (TSIH)");
	l->tsih = pdu->login_response.tsih;
	l->over = true;
	return LOGIN_DONE;
}

static unsigned read_text(struct login *l)
{
	unsigned status;

	login_text_begin(l);
	status = key_negotiation_read(&l->keys, (const char *)l->in, l->in_length, &l->writer);
	if (!status && l->stage == ISCSI_STAGE_SECURITY) {
		status = login_initiator_authenticate(l);
		if (status)
			return status;
	}
	if (!status)
		status = key_negotiation_answer(&l->keys, &l->writer);
	/* The engine speaks of "initiator error" since it does not know who is to blame. */
	return status ? login_wrong(l, LOGIN_TARGET_ERROR, l->keys.why) : 0;
}

static enum login_step go_on(struct login *l, const struct iscsi_pdu *pdu)
{
	if (pdu->login_response.transit) {
		/* With AUTH_RESPONSE the target would have left without its proof; take_proof()
		 * sees to that. Here it leaves before ours. */
		if (l->stage == ISCSI_STAGE_SECURITY && l->auth_state != LOGIN_AUTH_DONE)
			return login_fail(l, LOGIN_AUTHENTICATION_FAILURE,
				"the target leaves the security stage before CHAP is over");
		if (pdu->login_response.nsg == ISCSI_STAGE_FULL_FEATURE)
			return finish(l, pdu);
		login_stage_enter(l, pdu->login_response.nsg);
	}
	if (l->stage == ISCSI_STAGE_OPERATIONAL)
		key_negotiation_offer(&l->keys, &l->writer);
	l->wants_transit = l->stage == ISCSI_STAGE_OPERATIONAL ||
			   l->auth_state == LOGIN_AUTH_DONE || l->auth_state == LOGIN_AUTH_RESPONSE;
	return request(l);
}

/* An empty PDU: it asks for the rest of the target's text (section 6.2). */
static enum login_step request_go_on(struct login *l)
{
	request_begin(l);
	return LOGIN_SEND;
}

enum login_step login_initiator_receive(
	struct login *l, const struct iscsi_pdu *pdu, const void *data, size_t length)
{
	const char *wrong = check_response(l, pdu);
	unsigned status;

	if (wrong)
		return login_fail(l, LOGIN_TARGET_ERROR, wrong);
	if (login_text_take(l, data, length, pdu->login_response.more))
		return login_fail(l, LOGIN_TARGET_ERROR, "the target's text is too long");
	if (pdu->login_response.status_class)
		return refused(l, pdu);
	if (login_text_pending(l)) {
		if (length || pdu->login_response.more)
			return login_fail(l, LOGIN_TARGET_ERROR,
				"the target answers before it has heard all of the request");
		return request(l);
	}
	if (pdu->login_response.more)
		return request_go_on(l);
	status = read_text(l);
	return status ? login_fail(l, status, l->why) : go_on(l, pdu);
}
