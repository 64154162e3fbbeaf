/* SendTargets discovery (RFC 7143 section 4.3 and appendix C) over any mover: one discovery
 * session, login, Text Request SendTargets=All with continuation, logout. Used by iserd. Belongs to
 * one loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/datamover/datamover.h"
#include "common/iscsi/login.h"
#include "common/loop/address.h"

struct loop;
struct discovery;

/* The most that one answer may hold; what is more is cut off and told by `truncated`. 1 MiB of text
 * is 4,000 targets with names of the usual length; 1,024 PDUs are enough for it even from a peer
 * that sends 1 KiB at a time. */
#define DISCOVERY_TEXT_MAX (1024 * 1024)
#define DISCOVERY_PDUS_MAX 1024
#define DISCOVERY_ENTRIES_MAX 16384

struct discovery_config {
	struct loop *loop;
	struct dm_mover *mover;
	struct address portal;
	const char *initiator_name;
	struct login_auth auth;
	uint64_t login_timeout_ns; /* connect and login; and once more for the answer. 0: 15 s */
};

/* One target at one portal. `address` is numeric, or a host name, without brackets; link-local and
 * loopback addresses are kept as they are told. */
struct discovery_entry {
	char target_name[ISCSI_NAME_MAX + 1];
	char address[64];
	uint16_t port;
	uint16_t tpgt;
};

struct discovery_result {
	int error; /* 0, or negative errno: -ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT, -EACCES (login
		      refused: authentication or authorization), -EPROTO, -ENOMEM */
	unsigned login_status; /* enum login_status where the login was refused; else 0 */
	const char *why;       /* one line for a person where error < 0 */
	const struct discovery_entry *entries;
	size_t count;
	bool truncated;
};

/* Begins. `done` is called once, from the loop; `result` is valid during the call, and the
 * discovery is gone when it returns. Copies what it needs of `config`. 0 or negative errno (then no
 * `done`). */
int discovery_start(const struct discovery_config *config,
	void (*done)(void *owner, const struct discovery_result *result), void *owner,
	struct discovery **ret);
/* Gives up: `done` follows, from the loop, with -ECANCELED. */
void discovery_cancel(struct discovery *d);

/* Parses the text of one whole answer. 0, or -EPROTO for a text that is no list of pairs; for
 * discovery.c and its tests. `fallback` is where targets without TargetAddress are (appendix C: the
 * portal that was asked). Entries are stored up to `max`; *ret_count counts them, *ret_truncated
 * tells that there were more. Names and addresses that cannot be are passed over, and *ret_why
 * tells the first; else NULL. */
int discovery_parse(const char *text, size_t length, const struct discovery_entry *fallback,
	struct discovery_entry *entries, size_t max, size_t *ret_count, bool *ret_truncated,
	const char **ret_why);
/* "host[:port][,tpgt]" as in TargetAddress (RFC 7143 section 13.8), brackets around IPv6. Used for
 * login redirection too. -EINVAL. *ret_tpgt is 0 where there is none; the port defaults to 3260. */
int discovery_parse_address(
	const char *text, char ret_host[64], uint16_t *ret_port, uint16_t *ret_tpgt);
