/* The target's side of the security stage: AuthMethod and CHAP (RFC 7143 sections 12.1 and 12.1.3).
 * Called by login_target.c once per request of that stage. */
#include <string.h>

#include "common/iscsi/login_internal.h"

static void put(struct login *l, const char *key, const char *value)
{
	if (keys_put(&l->writer, key, value))
		l->writer.overflow = true;
}

static void put_binary(struct login *l, const char *key, const uint8_t *value, size_t length)
{
	if (chap_put(&l->writer, key, value, length))
		l->writer.overflow = true;
}

/* The first entry of the initiator's list that this target allows (section 6.2.1). */
static unsigned choose_method(struct login *l)
{
	char entry[ISCSI_KEY_NAME_MAX + 1];
	size_t offset = 0;

	while (keys_list_next(l->keys.text[KEY_AUTH_METHOD], &offset, entry, sizeof(entry)) > 0) {
		if (!strcmp(entry, "CHAP") && l->auth.name && l->auth.secret)
			l->auth_state = LOGIN_AUTH_ALGORITHM;
		else if (!strcmp(entry, "None") && !l->auth.chap_required)
			l->auth_state = LOGIN_AUTH_DONE;
		else
			continue;
		put(l, "AuthMethod", entry);
		return 0;
	}
	return login_wrong(l, LOGIN_AUTHENTICATION_FAILURE,
		l->auth.chap_required ? "the initiator does not offer CHAP, which is required"
				      : "no AuthMethod in common");
}

static unsigned send_challenge(struct login *l)
{
	struct login_chap *c = &l->chap;
	size_t size;

	if (l->auth_state != LOGIN_AUTH_ALGORITHM)
		return login_wrong(l, LOGIN_INITIATOR_ERROR, "CHAP_A out of turn");
	c->algorithm = chap_choose(l->keys.text[KEY_CHAP_A], l->auth.algorithms);
	if (!c->algorithm)
		return login_wrong(
			l, LOGIN_AUTHENTICATION_FAILURE, "no CHAP algorithm in common (CHAP_A)");
	size = chap_digest_size(c->algorithm);
	if (chap_challenge(&c->identifier, c->challenge, size))
		return login_wrong(l, LOGIN_TARGET_ERROR, "no random bytes for a CHAP challenge");
	if (keys_put_number(&l->writer, "CHAP_A", c->algorithm) ||
		keys_put_number(&l->writer, "CHAP_I", c->identifier))
		l->writer.overflow = true;
	put_binary(l, "CHAP_C", c->challenge, size);
	l->auth_state = LOGIN_AUTH_RESPONSE;
	return 0;
}

/* The initiator asks for our proof too. */
static unsigned prove(struct login *l)
{
	unsigned status;

	if (!l->auth.mutual_name || !l->auth.mutual_secret)
		return login_wrong(l, LOGIN_AUTHENTICATION_FAILURE,
			"the initiator wants the target to prove itself, and it has no secret to "
			"do so");
	status = login_chap_respond(l, l->auth.mutual_secret);
	if (status)
		return status;
	put(l, "CHAP_N", l->auth.mutual_name);
	put_binary(l, "CHAP_R", l->chap.response, chap_digest_size(l->chap.algorithm));
	return 0;
}

static unsigned take_response(struct login *l)
{
	unsigned status;

	if (l->auth_state != LOGIN_AUTH_RESPONSE)
		return login_wrong(l, LOGIN_INITIATOR_ERROR, "a CHAP response out of turn");
	status = login_chap_verify(l, l->auth.name, l->auth.secret);
	if (!status && (l->keys.text[KEY_CHAP_I] || l->keys.text[KEY_CHAP_C]))
		status = prove(l);
	chap_wipe(&l->chap, sizeof(l->chap));
	if (!status)
		l->auth_state = LOGIN_AUTH_DONE;
	return status;
}

unsigned login_target_authenticate(struct login *l)
{
	const char *const *text = l->keys.text;
	unsigned status = 0;

	if (text[KEY_AUTH_METHOD])
		status = choose_method(l);
	if (!status && text[KEY_CHAP_A])
		status = send_challenge(l);
	if (!status &&
		(text[KEY_CHAP_N] || text[KEY_CHAP_R] || text[KEY_CHAP_I] || text[KEY_CHAP_C]))
		status = take_response(l);
	return status;
}
