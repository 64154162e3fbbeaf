/* READ CAPACITY(10) and (16) data (SBC-3 sections 5.15 and 5.16) and the list of REPORT LUNS (SPC-4
 * section 6.33): encode and decode. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPACITY10_SIZE 8
#define CAPACITY16_SIZE 32
#define REPORT_LUNS_HEADER_SIZE 8

struct scsi_capacity {
	uint64_t last_lba;			/* the number of blocks is one more */
	uint32_t block_size;			/* bytes */
	uint8_t physical_exponent;		/* 2^n logical blocks per physical block */
	uint16_t lowest_aligned_lba;		/* 14 bits */
	bool provisioning_managed, reads_zeros; /* LBPME, LBPRZ */
	bool protected;				/* PROT_EN */
};

/* A last LBA beyond 32 bits is FFFFFFFFh: ask with READ CAPACITY(16). */
void capacity10_encode(const struct scsi_capacity *c, uint8_t out[CAPACITY10_SIZE]);
/* 0; -EPROTO when shorter than 8 bytes or the block size is 0; -EOVERFLOW when READ CAPACITY(16)
 * must be asked. */
int capacity10_decode(const void *data, size_t length, struct scsi_capacity *ret);
void capacity16_encode(const struct scsi_capacity *c, uint8_t out[CAPACITY16_SIZE]);
/* 0; -EPROTO when shorter than 12 bytes or the block size is 0. Fields that were cut are 0. */
int capacity16_decode(const void *data, size_t length, struct scsi_capacity *ret);

/* LUNs are the 8 bytes of SAM-5 as big-endian values. Writes as many entries as fit in `size`
 * bytes; the list length tells how long the whole is. Returns that whole
 * length (header included). */
size_t report_luns_encode(const uint64_t *luns, size_t count, uint8_t *out, size_t size);
/* At most `max` entries into luns, the number of entries that the peer has in all (which may be
 * more than came) into *ret_total; returns how many were written, or -EPROTO when shorter than the
 * header. */
int report_luns_decode(
	const void *data, size_t length, uint64_t *luns, size_t max, size_t *ret_total);
