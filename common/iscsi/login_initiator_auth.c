/* The initiator's side of the security stage: AuthMethod and CHAP (RFC 7143 sections 12.1
 * and 12.1.3). Called by login_initiator.c once per response of that stage. */
#include <string.h>

#include "common/iscsi/login_internal.h"

static void put(struct login *l, const char *key, const char *value)
{
	if (keys_put(&l->writer, key, value))
		l->writer.overflow = true;
}

/* AuthMethod: what the target has chosen of our list. */
static unsigned take_method(struct login *l)
{
	const char *method = l->keys.text[KEY_AUTH_METHOD];
	char list[16];

	if (l->offers_none && (!method || !strcmp(method, "None"))) {
		l->auth_state = LOGIN_AUTH_DONE;
		return 0;
	}
	if (!method || !l->auth.secret || strcmp(method, "CHAP"))
		return login_wrong(l, LOGIN_AUTHENTICATION_FAILURE,
			l->auth.secret ? "the target does not agree to CHAP"
				       : "the target wants a CHAP name and secret");
	chap_list(l->auth.algorithms, list);
	put(l, "CHAP_A", list);
	l->auth_state = LOGIN_AUTH_ALGORITHM;
	return 0;
}

static unsigned take_algorithm(struct login *l)
{
	const char *text = l->keys.text[KEY_CHAP_A];
	uint32_t number;

	if (!text || keys_number(text, &number))
		return login_wrong(l, LOGIN_AUTHENTICATION_FAILURE,
			"the target has no CHAP algorithm in common with us (CHAP_A)");
	l->chap.algorithm = chap_choose(text, l->auth.algorithms);
	if (!l->chap.algorithm)
		return login_wrong(l, LOGIN_AUTHENTICATION_FAILURE,
			"the target chose a CHAP algorithm that was not offered");
	return 0;
}

static unsigned send_own_challenge(struct login *l)
{
	struct login_chap *c = &l->chap;
	size_t size = chap_digest_size(c->algorithm);

	if (chap_challenge(&c->identifier, c->challenge, size))
		return login_wrong(l, LOGIN_TARGET_ERROR, "no random bytes for a CHAP challenge");
	if (keys_put_number(&l->writer, "CHAP_I", c->identifier) ||
		chap_put(&l->writer, "CHAP_C", c->challenge, size))
		l->writer.overflow = true;
	l->auth_state = LOGIN_AUTH_RESPONSE;
	return 0;
}

/* CHAP_A, CHAP_I, CHAP_C: our proof goes out, and our challenge where the target shall prove
 * itself. */
static unsigned take_challenge(struct login *l)
{
	unsigned status = take_algorithm(l);

	if (status)
		return status;
	status = login_chap_respond(l, l->auth.secret);
	if (status)
		return status;
	put(l, "CHAP_N", l->auth.name);
	if (chap_put(&l->writer, "CHAP_R", l->chap.response, chap_digest_size(l->chap.algorithm)))
		l->writer.overflow = true;
	if (l->auth.mutual_secret)
		return send_own_challenge(l);
	l->auth_state = LOGIN_AUTH_DONE;
	return 0;
}

static unsigned take_proof(struct login *l)
{
	unsigned status;

	if (!l->keys.text[KEY_CHAP_N] && !l->keys.text[KEY_CHAP_R])
		return login_wrong(l, LOGIN_AUTHENTICATION_FAILURE,
			"the target does not prove itself by CHAP");
	if (l->keys.text[KEY_CHAP_C])
		return login_wrong(
			l, LOGIN_AUTHENTICATION_FAILURE, "a second CHAP challenge by the target");
	status = login_chap_verify(l, l->auth.mutual_name, l->auth.mutual_secret);
	chap_wipe(&l->chap, sizeof(l->chap));
	if (!status)
		l->auth_state = LOGIN_AUTH_DONE;
	return status;
}

static unsigned take_nothing(struct login *l)
{
	(void)l;
	return 0;
}

unsigned login_initiator_authenticate(struct login *l)
{
	static unsigned (*const steps[])(struct login * l) = {
		[LOGIN_AUTH_IDLE] = take_method,
		[LOGIN_AUTH_ALGORITHM] = take_challenge,
		[LOGIN_AUTH_RESPONSE] = take_proof,
		[LOGIN_AUTH_DONE] = take_nothing,
	};

	return steps[l->auth_state](l);
}
