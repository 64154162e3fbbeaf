/* The target's side of the login phase: RFC 7143 sections 6.3, 11.12 and 11.13. Called by the
 * target's conn.c with every PDU that comes before the full-feature phase. */
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/utf8.h"
#include "common/iscsi/login_internal.h"

struct login *login_target_new(const struct login_target_config *config)
{
	struct login *l = alloc_zeroed(sizeof(*l));

	if (!l)
		return NULL;
	key_negotiation_init(&l->keys, false, config->rdma, &config->offer);
	l->policy = config->policy;
	l->require_rdma_extensions = config->require_rdma_extensions;
	l->piece_max = ISCSI_TEXT_MAX;
	login_text_begin(l);
	return l;
}

/* ---- answers ---- */

static void response_begin(struct login *l)
{
	l->pdu = (struct iscsi_pdu){.opcode = ISCSI_LOGIN_RESPONSE, .itt = l->itt};
	l->pdu.login_response.csg = l->stage;
	l->pdu.login_response.version_max = ISCSI_VERSION;
	l->pdu.login_response.version_active = ISCSI_VERSION;
	l->pdu.login_response.isid = l->isid;
	l->pdu.login_response.tsih = l->tsih;
	l->piece = l->out;
}

enum login_step login_target_refuse(struct login *l, unsigned status, const char *why)
{
	response_begin(l);
	l->pdu.login_response.status_class = (uint8_t)(status >> 8);
	l->pdu.login_response.status_detail = (uint8_t)status;
	return login_fail(l, status, why);
}

static enum login_step refuse(struct login *l, unsigned status)
{
	return login_target_refuse(l, status, l->why);
}

/* An empty PDU: it asks for the rest of the initiator's text (section 6.2). */
static enum login_step respond_go_on(struct login *l)
{
	response_begin(l);
	return LOGIN_SEND;
}

/* ---- requests: what must hold before the text is looked at ---- */

static bool stages_valid(const struct iscsi_pdu *pdu)
{
	if (pdu->login.csg > ISCSI_STAGE_OPERATIONAL)
		return false;
	/* NSG is reserved without T: libiscsi fills it in nevertheless. */
	return !pdu->login.transit ||
	       (pdu->login.nsg > pdu->login.csg && pdu->login.nsg != 2 && pdu->login.nsg <= 3);
}

static void take_first(struct login *l, const struct iscsi_pdu *pdu)
{
	l->started = true;
	l->itt = pdu->itt;
	l->isid = pdu->login.isid;
	l->tsih = pdu->login.tsih;
	l->cid = pdu->login.cid;
	l->keys.leading = l->tsih == 0;
	login_stage_enter(l, pdu->login.csg);
}

static unsigned check_constant(struct login *l, const struct iscsi_pdu *pdu)
{
	if (pdu->itt != l->itt)
		return login_wrong(l, LOGIN_INITIATOR_ERROR, "another task tag within one login");
	if (memcmp(&pdu->login.isid, &l->isid, sizeof(l->isid)) || pdu->login.tsih != l->tsih)
		return login_wrong(
			l, LOGIN_INITIATOR_ERROR, "another ISID or TSIH within one login");
	if (pdu->login.cid != l->cid)
		return login_wrong(l, LOGIN_INITIATOR_ERROR, "another CID within one login");
	if (pdu->login.csg != l->stage)
		return login_wrong(l, LOGIN_INITIATOR_ERROR, "not the stage that this login is in");
	return 0;
}

static unsigned check_request(struct login *l, const struct iscsi_pdu *pdu)
{
	if (!l->started)
		l->itt = pdu->itt; /* even a refusal names its request */
	if (pdu->opcode != ISCSI_LOGIN_REQUEST)
		return login_wrong(l, LOGIN_INVALID_DURING_LOGIN,
			"something else than a Login Request before the login was over");
	if (!l->started)
		l->isid = pdu->login.isid;
	if (++l->pdus > LOGIN_PDUS_MAX)
		return login_wrong(l, LOGIN_INITIATOR_ERROR, "the login takes too many PDUs");
	if (!stages_valid(pdu))
		return login_wrong(l, LOGIN_INITIATOR_ERROR, "stages (CSG, NSG) that do not exist");
	if (!l->started)
		take_first(l, pdu);
	if (pdu->login.version_min > ISCSI_VERSION)
		return login_wrong(l, LOGIN_UNSUPPORTED_VERSION, "a version other than 0");
	if (pdu->login.transit && pdu->login.more)
		return login_wrong(l, LOGIN_INITIATOR_ERROR, "both T and C bit set");
	return check_constant(l, pdu);
}

/* ---- who it is ---- */

static bool name_is_printable(const char *name)
{
	if (!utf8_valid(name))
		return false;
	while (*name && *name != ' ' && !utf8_control_length(name))
		name++;
	return !*name;
}

static unsigned read_session_type(struct login *l, const char *type)
{
	l->keys.discovery = type && !strcmp(type, "Discovery");
	if (type && !l->keys.discovery && strcmp(type, "Normal"))
		return login_wrong(l, LOGIN_SESSION_TYPE_UNSUPPORTED,
			"SessionType is neither Normal nor Discovery");
	return 0;
}

static unsigned read_identity(struct login *l)
{
	const char *const *text = l->keys.text;
	struct login_identity *who = &l->identity;
	struct login_strings *st = &l->strings;
	unsigned status = read_session_type(l, text[KEY_SESSION_TYPE]);

	if (status)
		return status;
	if (!text[KEY_INITIATOR_NAME] || !text[KEY_INITIATOR_NAME][0])
		return login_wrong(
			l, LOGIN_MISSING_PARAMETER, "the first request has no InitiatorName");
	if (!l->keys.discovery && (!text[KEY_TARGET_NAME] || !text[KEY_TARGET_NAME][0]))
		return login_wrong(l, LOGIN_MISSING_PARAMETER,
			"the first request of a normal session has no TargetName");
	if (!name_is_printable(text[KEY_INITIATOR_NAME]) ||
		(text[KEY_TARGET_NAME] && !name_is_printable(text[KEY_TARGET_NAME])))
		return login_wrong(l, LOGIN_INITIATOR_ERROR,
			"a name with blanks or control characters, or that is not UTF-8");
	who->initiator_name = login_keep(
		st->initiator_name, sizeof(st->initiator_name), text[KEY_INITIATOR_NAME]);
	who->initiator_alias = login_keep(
		st->initiator_alias, sizeof(st->initiator_alias), text[KEY_INITIATOR_ALIAS]);
	if (!l->keys.discovery)
		who->target_name =
			login_keep(st->target_name, sizeof(st->target_name), text[KEY_TARGET_NAME]);
	who->discovery = l->keys.discovery;
	who->isid = l->isid;
	who->tsih = l->tsih;
	who->operational_first = l->stage == ISCSI_STAGE_OPERATIONAL;
	who->cid = l->cid;
	return 0;
}

static unsigned identify(struct login *l)
{
	unsigned status = read_identity(l);

	if (status)
		return status;
	status = l->policy.identify(l->policy.owner, &l->identity, &l->auth, &l->keys.ours);
	if (status)
		return login_wrong(l, status, login_status_text(status));
	login_auth_complete(&l->auth);
	/* Unsolicited Data-Out does not exist here, and RDMA is what the connection is made of. */
	l->keys.ours.initial_r2t = true;
	l->keys.ours.rdma_extensions = l->keys.rdma;
	if (l->auth.chap_required && l->stage != ISCSI_STAGE_SECURITY)
		return login_wrong(l, LOGIN_AUTHENTICATION_FAILURE,
			"the initiator skips the security stage, and CHAP is required");
	return 0;
}

/* libiscsi says who it is in each stage: the same is well. */
static unsigned check_identity(struct login *l)
{
	const char *const *text = l->keys.text;
	const char *type = l->keys.discovery ? "Discovery" : "Normal";
	const char *target = l->identity.target_name;

	if ((text[KEY_INITIATOR_NAME] &&
		    strcmp(text[KEY_INITIATOR_NAME], l->identity.initiator_name)) ||
		(text[KEY_SESSION_TYPE] && strcmp(text[KEY_SESSION_TYPE], type)) ||
		(text[KEY_TARGET_NAME] && target && strcmp(text[KEY_TARGET_NAME], target)))
		return login_wrong(l, LOGIN_INITIATOR_ERROR,
			"another InitiatorName, TargetName or SessionType within one login");
	return 0;
}

void login_target_set_alias(struct login *l, const char *alias)
{
	l->policy.target_alias = alias;
}

/* ---- the stages ---- */

/* Section 13.9: the tag comes in the first response of a normal session. */
static void greet(struct login *l)
{
	if (l->greeted)
		return;
	l->greeted = true;
	if (l->keys.discovery)
		return;
	if (l->policy.target_alias && keys_put(&l->writer, "TargetAlias", l->policy.target_alias))
		l->writer.overflow = true;
	if (keys_put_number(&l->writer, "TargetPortalGroupTag", ISCSI_PORTAL_GROUP_TAG))
		l->writer.overflow = true;
}

static bool must_declare_length(const struct login *l)
{
	return l->stage == ISCSI_STAGE_OPERATIONAL && !l->keys.rdma &&
	       !(l->keys.state[KEY_MAX_RECV_DATA_SEGMENT_LENGTH] & KEY_SENT);
}

static unsigned operate(struct login *l, bool wants_transit)
{
	bool was_open = key_negotiation_open(&l->keys);
	unsigned status = key_negotiation_answer(&l->keys, &l->writer);

	if (status)
		return login_wrong(l, status, l->keys.why);
	if (was_open && key_negotiation_open(&l->keys))
		return login_wrong(l, LOGIN_INITIATOR_ERROR,
			"the initiator does not answer what the target negotiates");
	if (must_declare_length(l))
		key_negotiation_declare(&l->keys, KEY_MAX_RECV_DATA_SEGMENT_LENGTH, &l->writer);
	if (l->stage == ISCSI_STAGE_OPERATIONAL && wants_transit)
		key_negotiation_offer(&l->keys, &l->writer);
	return 0;
}

static unsigned check_may_leave_security(struct login *l)
{
	if (l->auth_state == LOGIN_AUTH_IDLE && l->auth.chap_required)
		return login_wrong(l, LOGIN_AUTHENTICATION_FAILURE,
			"the initiator leaves the security stage without CHAP, which is required");
	return 0;
}

static bool authenticated(const struct login *l)
{
	return l->auth_state == LOGIN_AUTH_DONE ||
	       (l->auth_state == LOGIN_AUTH_IDLE && !l->auth.chap_required);
}

static bool may_transit(const struct login *l)
{
	return authenticated(l) &&
	       (l->stage == ISCSI_STAGE_SECURITY || !key_negotiation_open(&l->keys));
}

static unsigned complete(struct login *l)
{
	struct key_negotiation *n = &l->keys;
	unsigned status;

	if (n->rdma && !n->discovery && !n->outcome.rdma_extensions) {
		if (l->require_rdma_extensions || (n->state[KEY_RDMA_EXTENSIONS] & KEY_SEEN))
			return login_wrong(l, LOGIN_INITIATOR_ERROR,
				"the initiator uses iSER without RDMAExtensions=Yes");
		n->outcome.rdma_extensions = true;
	}
	key_negotiation_finish(n);
	status = l->policy.establish(l->policy.owner, &l->identity, &l->tsih);
	return status ? login_wrong(l, status, login_status_text(status)) : 0;
}

/* The next piece of the answer; with the last one the stage changes, if that was asked for: by the
 * request that is answered, for which process() has looked whether it may, and still now. A T bit
 * that comes only with the request for the rest is for the next request to repeat. */
static enum login_step respond(struct login *l, const struct iscsi_pdu *request)
{
	uint8_t next = request->login.nsg;
	unsigned status;
	bool last, transit;

	response_begin(l);
	last = login_text_piece(l);
	transit = last && l->wants_transit && request->login.transit && may_transit(l);
	l->pdu.login_response.more = !last;
	if (!transit)
		return LOGIN_SEND;
	if (next == ISCSI_STAGE_FULL_FEATURE) {
		status = complete(l);
		if (status)
			return refuse(l, status);
		l->pdu.login_response.tsih = l->tsih;
		l->over = true;
	}
	l->pdu.login_response.transit = true;
	l->pdu.login_response.nsg = next;
	login_stage_enter(l, next);
	return l->over ? LOGIN_SEND_LAST : LOGIN_SEND;
}

static unsigned process(struct login *l, bool wants_transit)
{
	unsigned status;

	l->wants_transit = wants_transit;
	login_text_begin(l);
	status = key_negotiation_read(&l->keys, (const char *)l->in, l->in_length, &l->writer);
	if (status)
		return login_wrong(l, status, l->keys.why);
	status = l->identity.initiator_name ? check_identity(l) : identify(l);
	if (status)
		return status;
	greet(l);
	if (l->stage == ISCSI_STAGE_SECURITY) {
		status = login_target_authenticate(l);
		if (!status && wants_transit)
			status = check_may_leave_security(l);
		if (status)
			return status;
	}
	status = operate(l, wants_transit);
	if (status)
		return status;
	if (l->writer.overflow)
		return login_wrong(l, LOGIN_OUT_OF_RESOURCES,
			"the answer to the initiator's keys is too long");
	return 0;
}

enum login_step login_target_receive(
	struct login *l, const struct iscsi_pdu *pdu, const void *data, size_t length)
{
	unsigned status;

	if (l->over)
		return login_target_refuse(
			l, LOGIN_INVALID_DURING_LOGIN, "a login PDU after the login was over");
	status = check_request(l, pdu);
	if (status)
		return refuse(l, status);
	if (login_text_take(l, data, length, pdu->login.more))
		return login_target_refuse(l, LOGIN_INITIATOR_ERROR, "the login text is too long");
	if (login_text_pending(l)) {
		if (length || pdu->login.more)
			return login_target_refuse(l, LOGIN_INITIATOR_ERROR,
				"text before the target had said all of its own");
		return respond(l, pdu);
	}
	if (pdu->login.more)
		return respond_go_on(l);
	status = process(l, pdu->login.transit);
	return status ? refuse(l, status) : respond(l, pdu);
}
