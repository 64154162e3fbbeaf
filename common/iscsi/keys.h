/* Text keys (RFC 7143 section 13, RFC 7145 section 6): one table row per key says its type, result
 * function, default, phase, when it is irrelevant and who owns it. No I/O. Used by login.c and by
 * the Text phase (SendTargets) of both ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ISCSI_NAME_MAX 223    /* RFC 7143 section 4.2.7.1: 223 bytes of UTF-8 */
#define ISCSI_KEY_NAME_MAX 63 /* section 6.1 */
#define ISCSI_VALUE_MAX 255   /* text-value, unless the key's definition says otherwise */
/* a binary value of 1024 bytes (section 6.1) as 0x and hex digits */
#define ISCSI_LARGE_VALUE_MAX 2050
/* the data segment of a login PDU, and of one key=value with continuation (section 6.2: a receiver
 * must take at least this much) */
#define ISCSI_TEXT_MAX 8192

/* ---- pairs over a data segment ---- */

struct key_pair {
	char key[ISCSI_KEY_NAME_MAX + 1]; /* a copy: the text is left as it is */
	const char *value;		  /* NUL-terminated, inside the text that was walked */
};

/* Walks "key=value\0key=value\0". *offset starts at 0. 1: *ret is the next pair; 0: the end;
 * -EPROTO: a pair without '=', an empty key, a key longer than ISCSI_KEY_NAME_MAX, or no final NUL.
 * Empty strings between NULs are passed over (peers pad so). */
int keys_next(const char *text, size_t length, size_t *offset, struct key_pair *ret);
struct bytes_writer;
/* Appends "key=value\0"; -ENOSPC leaves the writer as it was. */
int keys_put(struct bytes_writer *w, const char *key, const char *value);
int keys_put_number(struct bytes_writer *w, const char *key, uint32_t value);
/* A number as section 6.1 writes it: decimal, or hexadecimal behind 0x or 0X. 0 or -EPROTO; above
 * 2^32-1 -ERANGE. */
int keys_number(const char *text, uint32_t *ret);
/* Walks a list value "a,b,c": copies the next entry (NUL-terminated) to `ret`. *offset starts at 0.
 * 1: an entry; 0: the end; -EPROTO: an empty entry, or one that does not fit in `size`. */
int keys_list_next(const char *list, size_t *offset, char *ret, size_t size);

/* ---- what is negotiated ---- */

enum iscsi_digest { /* bits: a set is a list in order of preference CRC32C, None */
	ISCSI_DIGEST_NONE = 1,
	ISCSI_DIGEST_CRC32C = 2,
	ISCSI_DIGEST_NONE_FIRST = 4, /* with both: the reverse order */
};

/* Values of the operational keys. Before login: what this end offers or allows. After: the outcome.
 * Lengths are bytes, times seconds. `iscsi_params_default()` fills in the RFC's defaults, from the
 * rows of key_table.c.
 *
 * Outcome over iSER: max_recv_data_segment_length and peer_... are derived from the two
 * RecvDataSegmentLengths (RFC 7145 section 6.2), so that a reader need not care which mover it is.
 * max_outstanding_unexpected_pdus, max_ahs_length, tagged_buffer_... and iser_hello_required are
 * then what the peer declared. */
struct iscsi_params {
	/* session-wide */
	uint32_t max_connections;
	bool initial_r2t, immediate_data;
	uint32_t max_burst_length, first_burst_length;
	uint32_t default_time2wait, default_time2retain;
	uint32_t max_outstanding_r2t;
	bool data_pdu_in_order, data_sequence_in_order;
	uint32_t error_recovery_level;
	/* owned by the mover: each end declares its own, and learns the peer's */
	unsigned header_digest, data_digest; /* set of enum iscsi_digest; one bit in the outcome */
	uint32_t max_recv_data_segment_length;	    /* ours: what we can receive */
	uint32_t peer_max_recv_data_segment_length; /* the peer's: what we may send */
	/* RFC 7145 section 6; meaningful only where rdma_extensions */
	bool rdma_extensions;
	uint32_t initiator_recv_data_segment_length, target_recv_data_segment_length;
	uint32_t max_outstanding_unexpected_pdus;
	uint32_t max_ahs_length;
	bool tagged_buffer_for_solicited_data_only, iser_hello_required;
};

void iscsi_params_default(struct iscsi_params *p);
