/* CHAP: RFC 1994 section 4, RFC 7143 sections 6.1 and 12.1.3, digests and random bytes by OpenSSL.
 * Called by login_initiator_auth.c and login_target_auth.c. */
#include "common/iscsi/chap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "common/iscsi/keys.h"
#include "common/iscsi/login.h"

static const struct chap_hash {
	unsigned algorithm;
	size_t size;
	const EVP_MD *(*method)(void);
} chap_hashes[] = {
	{CHAP_MD5, 16, EVP_md5},
	{CHAP_SHA1, 20, EVP_sha1},
	{CHAP_SHA256, 32, EVP_sha256},
	{CHAP_SHA3_256, 32, EVP_sha3_256},
};

static const struct chap_hash *hash_find(unsigned algorithm)
{
	for (size_t i = 0; i < ARRAY_SIZE(chap_hashes); i++)
		if (chap_hashes[i].algorithm == algorithm)
			return &chap_hashes[i];
	return NULL;
}

size_t chap_digest_size(unsigned algorithm)
{
	const struct chap_hash *hash = hash_find(algorithm);

	return hash ? hash->size : 0;
}

int chap_digest(unsigned algorithm, uint8_t identifier, const char *secret,
	const uint8_t *challenge, size_t length, uint8_t ret[CHAP_DIGEST_MAX])
{
	const struct chap_hash *hash = hash_find(algorithm);
	EVP_MD_CTX *context;
	bool done;

	if (!hash)
		return -ENOTSUP;
	context = EVP_MD_CTX_new();
	if (!context)
		return -ENOMEM;
	done = EVP_DigestInit_ex(context, hash->method(), NULL) &&
	       EVP_DigestUpdate(context, &identifier, 1) &&
	       EVP_DigestUpdate(context, secret, strlen(secret)) &&
	       EVP_DigestUpdate(context, challenge, length) &&
	       EVP_DigestFinal_ex(context, ret, NULL);
	EVP_MD_CTX_free(context);
	return done ? 0 : -ENOTSUP;
}

int chap_challenge(uint8_t *ret_identifier, uint8_t *ret, size_t length)
{
	if (RAND_bytes(ret_identifier, 1) != 1 || RAND_bytes(ret, (int)length) != 1)
		return -EIO;
	return 0;
}

/* ---- binary values ---- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static int decode_hex(const char *text, uint8_t *ret, size_t max, size_t *ret_length)
{
	size_t digits = strlen(text);

	if (digits == 0 || digits % 2)
		return -EPROTO;
	if (digits / 2 > max)
		return -EMSGSIZE;
	for (size_t i = 0; i < digits / 2; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EPROTO;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	*ret_length = digits / 2;
	return 0;
}

static int base64_digit(char c)
{
	return c >= 'A' && c <= 'Z'   ? c - 'A'
	       : c >= 'a' && c <= 'z' ? c - 'a' + 26
	       : c >= '0' && c <= '9' ? c - '0' + 52
	       : c == '+'	      ? 62
	       : c == '/'	      ? 63
				      : -1;
}

static int decode_base64(const char *text, uint8_t *ret, size_t max, size_t *ret_length)
{
	size_t digits = strlen(text), pad = 0, length;
	uint32_t bits = 0;

	if (digits == 0 || digits % 4)
		return -EPROTO;
	while (pad < 2 && text[digits - 1 - pad] == '=')
		pad++;
	length = digits / 4 * 3 - pad;
	if (length > max)
		return -EMSGSIZE;
	for (size_t i = 0, out = 0; i < digits; i++) {
		int v = i < digits - pad ? base64_digit(text[i]) : 0;

		if (v < 0)
			return -EPROTO;
		bits = bits << 6 | (uint32_t)v;
		if (i % 4 != 3)
			continue;
		for (int shift = 16; shift >= 0 && out < length; shift -= 8)
			ret[out++] = (uint8_t)(bits >> shift);
	}
	*ret_length = length;
	return 0;
}

int chap_decode(const char *text, uint8_t *ret, size_t max, size_t *ret_length)
{
	if (text[0] != '0')
		return -EPROTO;
	if (text[1] == 'x' || text[1] == 'X')
		return decode_hex(text + 2, ret, max, ret_length);
	if (text[1] == 'b' || text[1] == 'B')
		return decode_base64(text + 2, ret, max, ret_length);
	return -EPROTO;
}

int chap_put(struct bytes_writer *w, const char *key, const uint8_t *value, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	size_t name = strlen(key), size = name + sizeof("=0x") + 2 * length;
	uint8_t *p;

	if (size > w->size - w->used)
		return -ENOSPC;
	p = bytes_reserve(w, size);
	memcpy(p, key, name);
	memcpy(p + name, "=0x", 3);
	p += name + 3;
	for (size_t i = 0; i < length; i++) {
		*p++ = (uint8_t)digits[value[i] >> 4];
		*p++ = (uint8_t)digits[value[i] & 15];
	}
	*p = '\0';
	return 0;
}

/* ---- lists of algorithms ---- */

void chap_list(const uint8_t *algorithms, char ret[16])
{
	size_t used = 0;

	ret[0] = '\0';
	for (int i = 0; i < 4 && algorithms[i]; i++)
		used += (size_t)snprintf(
			ret + used, 16 - used, "%s%u", used ? "," : "", algorithms[i] % 100u);
}

unsigned chap_choose(const char *list, const uint8_t *algorithms)
{
	char entry[12];
	size_t offset = 0;
	uint32_t number;

	while (keys_list_next(list, &offset, entry, sizeof(entry)) > 0) {
		if (keys_number(entry, &number))
			return 0;
		for (int i = 0; i < 4 && algorithms[i]; i++)
			if (algorithms[i] == number && chap_digest_size(number))
				return number;
	}
	return 0;
}

/* ---- secrets ---- */

bool chap_same(const uint8_t *a, const uint8_t *b, size_t length)
{
	return CRYPTO_memcmp(a, b, length) == 0;
}

bool chap_same_text(const char *a, const char *b)
{
	uint8_t left[LOGIN_CHAP_NAME_MAX + 1] = {0}, right[LOGIN_CHAP_NAME_MAX + 1] = {0};

	if (strlen(a) >= sizeof(left) || strlen(b) >= sizeof(right))
		return false;
	/* NOLINTBEGIN(bugprone-not-null-terminated-result): zeroes are there already */
	memcpy(left, a, strlen(a));
	memcpy(right, b, strlen(b));
	/* NOLINTEND(bugprone-not-null-terminated-result) */
	return chap_same(left, right, sizeof(left));
}

void chap_wipe(void *memory, size_t length)
{
	OPENSSL_cleanse(memory, length);
}
