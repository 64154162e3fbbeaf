/* What the two login drivers read from an input: records of flags, a BHS (as far as the flags do
 * not fill it in), a length (2) and so many bytes of text. */
#pragma once

#include "common/iscsi/chap.h"
#include "common/iscsi/login.h"
#include "tests/fuzz/fuzz.h"

enum login_record_flags {
	LOGIN_ANY_PDU = 1, /* 48 bytes of BHS come, as they are; else one byte tells the stages */
	LOGIN_CHAP_HONEST = 2, /* the right CHAP_R for the last challenge is added */
	LOGIN_CHAP_MUTUAL = 4, /* and a challenge of our own */
	LOGIN_CHAP_CHOOSE = 8, /* CHAP_A=5 is added */
	LOGIN_IDENTITY = 16,   /* the names are added */
	LOGIN_WRONG_SECRET = 32,
};

#define LOGIN_FUZZ_TARGET "iqn.2026-01.org.example:disk"
#define LOGIN_FUZZ_INITIATOR "iqn.2026-01.org.example:host"
#define LOGIN_FUZZ_NAME "alice"
#define LOGIN_FUZZ_SECRET "alice's secret of 24"
#define LOGIN_FUZZ_MUTUAL_NAME "carol"
#define LOGIN_FUZZ_MUTUAL_SECRET "carol's secret of 23"

/* The value of `key` in what `l` has sent; NULL. */
static inline const char *login_said(const struct login *l, const char *key)
{
	const void *data;
	const struct iscsi_pdu *pdu = login_out(l, &data);
	struct key_pair pair;
	size_t offset = 0;

	while (keys_next(data, pdu->data_length, &offset, &pair) > 0)
		if (!strcmp(pair.key, key))
			return pair.value;
	return NULL;
}

/* Answers the challenge that `l` has sent. */
static inline void login_chap_answer(
	const struct login *l, struct bytes_writer *w, const char *name, const char *secret)
{
	const char *id = login_said(l, "CHAP_I"), *challenge = login_said(l, "CHAP_C");
	uint8_t bytes[CHAP_CHALLENGE_MAX], digest[CHAP_DIGEST_MAX];
	uint32_t number;
	size_t length;

	if (!id || !challenge || keys_number(id, &number) < 0 ||
		chap_decode(challenge, bytes, sizeof(bytes), &length) < 0)
		return;
	if (chap_digest(CHAP_MD5, (uint8_t)number, secret, bytes, length, digest) < 0)
		return;
	keys_put(w, "CHAP_N", name);
	chap_put(w, "CHAP_R", digest, chap_digest_size(CHAP_MD5));
}
