/* Steering tags: what a peer may reach (RFC 5040 section 5.2, RFC 5041 section 5). A tag is a
 * 24-bit index << 8 | an 8-bit key that changes at every reuse of the index. One table per
 * provider; each tag belongs to one domain, the connection that it was made for. O(1) everywhere,
 * no allocation after stag_table_new(). Used by the streams and by rdma/softiwarp.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct stag_table;

/* Tags of the table stay below this; the streams take those above for the sinks of their reads. */
#define STAG_CAPACITY_MAX (1u << 23)

enum stag_rights {
	STAG_REMOTE_READ = 1,
	STAG_REMOTE_WRITE = 2,
};

enum stag_verdict {
	STAG_OK,
	STAG_UNKNOWN,	/* never given, revoked, or an older key */
	STAG_FOREIGN,	/* of another domain */
	STAG_FORBIDDEN, /* the right is not there */
	STAG_OUT_OF_BOUNDS,
	STAG_WRAPS, /* offset + length passes 2^64 */
	STAG_VERDICTS
};

/* `capacity` (1..STAG_CAPACITY_MAX) tags at a time; NULL when there is no memory. */
struct stag_table *stag_table_new(uint32_t capacity);
void stag_table_free(struct stag_table *t); /* NULL is allowed */
uint32_t stag_table_count(const struct stag_table *t);

/* Gives `domain` access to `length` bytes at `data`. The tagged offset of the first byte is
 * *ret_offset: a number made from the tag, so that no peer learns addresses of ours. -ENOSPC. */
int stag_add(struct stag_table *t, const void *domain, void *data, uint32_t length, unsigned rights,
	uint32_t *ret_stag, uint64_t *ret_offset);
/* -ENOENT when the tag is not (or no longer) of this domain. */
int stag_remove(struct stag_table *t, const void *domain, uint32_t stag);
/* Whether `domain` may touch `length` bytes at `offset` with `right`; STAG_OK sets *ret_data. */
enum stag_verdict stag_check(const struct stag_table *t, const void *domain, uint32_t stag,
	unsigned right, uint64_t offset, uint32_t length, uint8_t **ret_data);
/* Removes every tag of `domain`: O(capacity in use), for the end of a connection. */
void stag_remove_all(struct stag_table *t, const void *domain);
