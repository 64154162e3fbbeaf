/* What both roles of the login phase share: text with continuation (RFC 7143 section 6.2), the half
 * of CHAP that is the same on both sides (section 12.1.3), the outcome. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/iscsi/login_internal.h"

/* ---- the outcome ---- */

static const struct status_text {
	unsigned status;
	const char *text;
} status_texts[] = {
	{LOGIN_SUCCESS, "login succeeded"},
	{LOGIN_MOVED_TEMPORARILY, "the target has moved for now"},
	{LOGIN_MOVED_PERMANENTLY, "the target has moved for good"},
	{LOGIN_INITIATOR_ERROR, "the initiator broke the protocol, or a value was refused"},
	{LOGIN_AUTHENTICATION_FAILURE,
		"authentication failed: check the CHAP name, secret and algorithms at both ends"},
	{LOGIN_AUTHORIZATION_FAILURE,
		"not authorized: the target does not admit this initiator name"},
	{LOGIN_NOT_FOUND, "no such target: check the target name"},
	{LOGIN_TARGET_REMOVED, "the target was removed"},
	{LOGIN_UNSUPPORTED_VERSION, "the target does not speak this version of iSCSI"},
	{LOGIN_TOO_MANY_CONNECTIONS, "too many connections in this session"},
	{LOGIN_MISSING_PARAMETER, "a required key is missing"},
	{LOGIN_CANNOT_INCLUDE, "the target cannot include this connection in the session"},
	{LOGIN_SESSION_TYPE_UNSUPPORTED, "the target does not support this type of session"},
	{LOGIN_SESSION_DOES_NOT_EXIST, "the session does not exist any more"},
	{LOGIN_INVALID_DURING_LOGIN, "a request that is not allowed during login"},
	{LOGIN_TARGET_ERROR, "the target has an error of its own"},
	{LOGIN_SERVICE_UNAVAILABLE, "the target is not in service at present"},
	{LOGIN_OUT_OF_RESOURCES, "the target is out of resources"},
};

static const char *const class_texts[] = {
	"login succeeded",
	"the target has moved",
	"the target refuses the login for an unknown reason",
	"the target failed for an unknown reason",
};

const char *login_status_text(unsigned status)
{
	for (size_t i = 0; i < ARRAY_SIZE(status_texts); i++)
		if (status_texts[i].status == status)
			return status_texts[i].text;
	if (status >> 8 < ARRAY_SIZE(class_texts))
		return class_texts[status >> 8];
	return "an unknown login status";
}

unsigned login_wrong(struct login *l, unsigned status, const char *why)
{
	if (why != l->why)
		snprintf(l->why, sizeof(l->why), "%s", why);
	return status;
}

enum login_step login_fail(struct login *l, unsigned status, const char *why)
{
	l->status = login_wrong(l, status, why);
	l->over = true;
	return LOGIN_FAILED;
}

const struct iscsi_pdu *login_out(const struct login *l, const void **ret_data)
{
	*ret_data = l->piece;
	return &l->pdu;
}

const struct iscsi_params *login_params(const struct login *l)
{
	return &l->keys.outcome;
}

const struct login_identity *login_identity(const struct login *l)
{
	return &l->identity;
}

uint16_t login_tsih(const struct login *l)
{
	return l->tsih;
}

unsigned login_failure(const struct login *l, const char **ret_why)
{
	*ret_why = l->why;
	return l->status;
}

const char *login_redirect(const struct login *l)
{
	return l->redirect[0] ? l->redirect : NULL;
}

void login_free(struct login *l)
{
	if (!l)
		return;
	chap_wipe(l, sizeof(*l));
	alloc_free(l);
}

/* ---- text ---- */

const char *login_keep(char *to, size_t size, const char *text)
{
	size_t length = text ? strlen(text) : 0;

	if (!text || length >= size)
		return NULL;
	return memcpy(to, text, length + 1);
}

int login_text_take(struct login *l, const void *data, size_t length, bool more)
{
	if (!l->in_more)
		l->in_length = 0;
	l->in_more = more;
	if (length > sizeof(l->in) - l->in_length)
		return -EMSGSIZE;
	if (length)
		memcpy(l->in + l->in_length, data, length);
	l->in_length += length;
	return 0;
}

void login_text_begin(struct login *l)
{
	l->writer = bytes_writer(l->out, sizeof(l->out));
	l->piece_end = 0;
}

bool login_text_pending(const struct login *l)
{
	return l->piece_end < l->writer.used;
}

bool login_text_piece(struct login *l)
{
	size_t n = min_size(l->writer.used - l->piece_end, l->piece_max);

	l->piece = l->out + l->piece_end;
	l->pdu.data_length = (uint32_t)n;
	l->piece_end += n;
	return !login_text_pending(l);
}

void login_stage_enter(struct login *l, uint8_t stage)
{
	l->stage = stage;
	l->keys.stage = stage == ISCSI_STAGE_SECURITY	   ? KEY_IN_SECURITY
			: stage == ISCSI_STAGE_OPERATIONAL ? KEY_IN_OPERATIONAL
							   : KEY_IN_FULL_FEATURE;
}

/* ---- CHAP ---- */

void login_auth_complete(struct login_auth *auth)
{
	static const uint8_t preferred[] = {CHAP_SHA256, CHAP_SHA3_256, CHAP_SHA1, CHAP_MD5, 0};

	_Static_assert(sizeof(preferred) == sizeof(auth->algorithms), "one entry each");
	if (!auth->algorithms[0])
		memcpy(auth->algorithms, preferred, sizeof(preferred));
}

static unsigned digest(struct login *l, uint32_t identifier, const char *secret,
	const uint8_t *challenge, size_t length)
{
	if (chap_digest(l->chap.algorithm, (uint8_t)identifier, secret, challenge, length,
		    l->chap.response))
		return login_wrong(
			l, LOGIN_TARGET_ERROR, "this system cannot compute the CHAP digest");
	return 0;
}

unsigned login_chap_respond(struct login *l, const char *secret)
{
	const char *identifier = l->keys.text[KEY_CHAP_I], *challenge = l->keys.text[KEY_CHAP_C];
	size_t size = chap_digest_size(l->chap.algorithm), length;
	uint32_t number;

	if (!identifier || !challenge)
		return login_wrong(l, LOGIN_INITIATOR_ERROR, "CHAP_I and CHAP_C come together");
	if (keys_number(identifier, &number) || number > UINT8_MAX)
		return login_wrong(l, LOGIN_INITIATOR_ERROR, "CHAP_I is not a number 0 to 255");
	if (chap_decode(challenge, l->chap.peer_challenge, CHAP_CHALLENGE_MAX, &length))
		return login_wrong(l, LOGIN_INITIATOR_ERROR,
			"CHAP_C is not a binary value of 1 to 1024 bytes");
	/* Section 12.1.3: whoever gets its own challenge back is being used as an oracle. */
	if (l->auth_state == LOGIN_AUTH_RESPONSE && length == size &&
		chap_same(l->chap.peer_challenge, l->chap.challenge, size))
		return login_wrong(l, LOGIN_AUTHENTICATION_FAILURE,
			"the peer sent our own CHAP challenge back");
	return digest(l, number, secret, l->chap.peer_challenge, length);
}

unsigned login_chap_verify(struct login *l, const char *name, const char *secret)
{
	const char *said = l->keys.text[KEY_CHAP_N], *response = l->keys.text[KEY_CHAP_R];
	size_t size = chap_digest_size(l->chap.algorithm), length;
	bool same_name, same_response;
	unsigned status;

	if (!said || !response)
		return login_wrong(l, LOGIN_INITIATOR_ERROR, "CHAP_N and CHAP_R come together");
	if (chap_decode(response, l->chap.peer_response, size, &length) || length != size)
		return login_wrong(l, LOGIN_AUTHENTICATION_FAILURE,
			"CHAP_R is not as long as the digest of the CHAP_A that was agreed");
	status = digest(l, l->chap.identifier, secret, l->chap.challenge, size);
	if (status)
		return status;
	/* Both are always compared: the time must not tell which was wrong. */
	same_name = !name || chap_same_text(said, name);
	same_response = chap_same(l->chap.peer_response, l->chap.response, size);
	if (!(same_name & same_response))
		return login_wrong(l, LOGIN_AUTHENTICATION_FAILURE,
			"the CHAP name or secret of the peer is not the one we have");
	return 0;
}
