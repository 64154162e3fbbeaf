/* CHAP (RFC 1994, RFC 7143 section 12.1.3): the arithmetic and the values, without the exchange,
 * which login_initiator_auth.c and login_target_auth.c conduct.
 *
 * A peer that numbers differently: tgt takes algorithm 7 for SHA-1 (IANA: 6 is SHA-1, 7 is
 * SHA-256). Offered a list with 7 in front, it chooses 7 and cannot take our 32 bytes: the login
 * ends with status 0x0200, whatever the secret. The cure is a list with 5 alone or in front for
 * that peer; falling back to MD5 unasked would let anybody in between choose the weakest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

#define CHAP_DIGEST_MAX 32
#define CHAP_CHALLENGE_MAX 1024 /* RFC 7143 section 12.1.3 */

/* Bytes of a response by `algorithm` (enum chap_algorithm of login.h); 0 for one that we do not
 * know. */
size_t chap_digest_size(unsigned algorithm);
/* response = H(identifier, secret, challenge). 0; -ENOTSUP: unknown, or forbidden by the system's
 * OpenSSL (MD5 in FIPS mode); -ENOMEM. */
int chap_digest(unsigned algorithm, uint8_t identifier, const char *secret,
	const uint8_t *challenge, size_t length, uint8_t ret[CHAP_DIGEST_MAX]);
/* A new identifier and `length` bytes of challenge from the system's random source. 0 or -EIO. */
int chap_challenge(uint8_t *ret_identifier, uint8_t *ret, size_t length);

/* A binary value (RFC 7143 section 6.1): 0x and an even number of hexadecimal digits, or 0b and
 * base64 with its padding. 1..max bytes. 0; -EPROTO: malformed or empty; -EMSGSIZE: longer. */
int chap_decode(const char *text, uint8_t *ret, size_t max, size_t *ret_length);
/* Appends "key=0x...\0". -ENOSPC leaves the writer as it was. */
int chap_put(struct bytes_writer *w, const char *key, const uint8_t *value, size_t length);

/* Writes "7,8,6,5" for an array ended by 0 (at most 4 entries) to `ret`. */
void chap_list(const uint8_t *algorithms, char ret[16]);
/* The first number of `list` that is in `algorithms`; 0 if none is or the list is malformed. */
unsigned chap_choose(const char *list, const uint8_t *algorithms);

/* Compared in a time that tells nothing about where they differ. */
bool chap_same(const uint8_t *a, const uint8_t *b, size_t length);
bool chap_same_text(const char *a, const char *b); /* each at most 255 bytes */
void chap_wipe(void *memory, size_t length);
