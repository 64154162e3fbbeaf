/* INQUIRY data (SPC-4 section 6.6) and vital product data pages (SPC-4 section 7.8, SBC-3
 * section 6.5): encode from a struct, decode into one. Encoders write through a bounded writer (an
 * overflow shows in it), page header included; decoders take the data as received, of any length,
 * and read what came as far as it goes: a field that was cut is 0. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

#define INQUIRY_MINIMUM 36
#define INQUIRY_SIZE 96 /* through the reserved bytes behind the version descriptors */
#define INQUIRY_VERSION_DESCRIPTORS_MAX 8
#define INQUIRY_VERSION_SPC4 0x06
#define INQUIRY_TYPE_DISK 0x00
#define INQUIRY_TYPE_UNKNOWN 0x1f
#define INQUIRY_QUALIFIER_NO_UNIT 3 /* with the type above: byte 0 is 7Fh */

struct scsi_inquiry {
	uint8_t qualifier, type;
	bool removable;
	uint8_t version;
	bool hierarchical;	    /* HISUP */
	uint8_t target_port_groups; /* TPGS: 0 none, 1 implicit, 2 explicit, 3 both */
	bool third_party_copy, protect, command_queuing;	       /* 3PC, PROTECT, CMDQUE */
	char vendor[9], product[17], revision[5];		       /* trailing blanks cut */
	uint16_t version_descriptors[INQUIRY_VERSION_DESCRIPTORS_MAX]; /* 0: none */
};

void inquiry_encode(const struct scsi_inquiry *i, struct bytes_writer *w);
/* 0, or -EPROTO when shorter than INQUIRY_MINIMUM. Characters that are not printable ASCII become
 * '?'. */
int inquiry_decode(const void *data, size_t length, struct scsi_inquiry *ret);

enum vpd_page {
	VPD_SUPPORTED_PAGES = 0x00,
	VPD_UNIT_SERIAL_NUMBER = 0x80,
	VPD_DEVICE_IDENTIFICATION = 0x83,
	VPD_EXTENDED_INQUIRY = 0x86,
	VPD_BLOCK_LIMITS = 0xb0,
	VPD_BLOCK_CHARACTERISTICS = 0xb1,
	VPD_LOGICAL_BLOCK_PROVISIONING = 0xb2,
};

#define VPD_HEADER_SIZE 4

/* `peripheral` below is byte 0 of the page: peripheral qualifier and device type.
 *
 * Checks that `data` is that page and gives the bytes behind the header, as far as they came and
 * PAGE LENGTH goes. 0, or -EPROTO. */
int vpd_open(const void *data, size_t length, uint8_t page, struct bytes_reader *ret);

/* 00h: page codes in ascending order. */
void vpd_pages_encode(
	uint8_t peripheral, const uint8_t *pages, size_t count, struct bytes_writer *w);
/* Whether `page` is in the list; false also when the data is no page 00h. */
bool vpd_pages_has(const void *data, size_t length, uint8_t page);

/* 80h. */
void vpd_serial_encode(uint8_t peripheral, const char *serial, struct bytes_writer *w);
/* Into out (ended by NUL, cut at `size`, blanks trimmed at both ends). 0 or -EPROTO. */
int vpd_serial_decode(const void *data, size_t length, char *out, size_t size);

/* 83h. */
enum vpd_association {
	VPD_LOGICAL_UNIT = 0,
	VPD_TARGET_PORT = 1,
	VPD_TARGET_DEVICE = 2,
};

enum vpd_code_set {
	VPD_BINARY = 1,
	VPD_ASCII = 2,
	VPD_UTF8 = 3,
};

enum vpd_designator_type {
	VPD_T10_VENDOR_ID = 1,
	VPD_EUI64 = 2,
	VPD_NAA = 3,
	VPD_RELATIVE_TARGET_PORT = 4,
	VPD_TARGET_PORT_GROUP = 5,
	VPD_LOGICAL_UNIT_GROUP = 6,
	VPD_SCSI_NAME_STRING = 8,
};

#define VPD_PROTOCOL_ISCSI 5

struct vpd_designator {
	uint8_t association, code_set, type;
	bool protocol_valid; /* PIV; only with a target port or target device */
	uint8_t protocol;
	uint8_t length;
	const uint8_t *bytes;
};

/* Page header with a length to be filled in; vpd_end() fills it. */
size_t vpd_begin(uint8_t peripheral, uint8_t page, struct bytes_writer *w);
void vpd_end(size_t begun, struct bytes_writer *w);
void vpd_designator_encode(const struct vpd_designator *d, struct bytes_writer *w);
/* A SCSI name string: UTF-8, ended by NUL, padded to four bytes. */
void vpd_name_encode(uint8_t association, const char *name, struct bytes_writer *w);
/* Walks the bytes that vpd_open() gave. True and *ret, or false at the end. */
bool vpd_designator_next(struct bytes_reader *r, struct vpd_designator *ret);
/* The logical unit's best designator as "naa.6001...", "eui.0011...", "name.iqn...." or
 * "t10.VENDOR...", in this order. 0, -EPROTO, or -ENOENT when there is none. */
int vpd_wwid_decode(const void *data, size_t length, char *out, size_t size);

/* 86h. */
struct vpd_extended {
	bool simple, ordered, head_of_queue;  /* SIMPSUP, ORDSUP, HEADSUP */
	bool volatile_cache;		      /* V_SUP */
	bool unit_attention_cleared_by_nexus; /* LUICLR */
	bool write_uncorrectable;	      /* WU_SUP */
};

void vpd_extended_encode(uint8_t peripheral, const struct vpd_extended *e, struct bytes_writer *w);
int vpd_extended_decode(const void *data, size_t length, struct vpd_extended *ret);

/* B0h; lengths in blocks, 0: not reported. */
struct vpd_block_limits {
	bool write_same_non_zero; /* WSNZ: WRITE SAME of 0 blocks is refused */
	uint8_t max_compare_and_write;
	uint16_t optimal_granularity;
	uint32_t max_transfer, optimal_transfer, max_prefetch;
	uint32_t max_unmap, max_unmap_descriptors;
	uint32_t unmap_granularity;
	bool unmap_alignment_valid;
	uint32_t unmap_alignment;
	uint64_t max_write_same;
};

void vpd_block_limits_encode(
	uint8_t peripheral, const struct vpd_block_limits *b, struct bytes_writer *w);
int vpd_block_limits_decode(const void *data, size_t length, struct vpd_block_limits *ret);

/* B1h. */
#define VPD_NON_ROTATING 1

struct vpd_block_characteristics {
	uint16_t rotation_rate; /* 0 not reported, VPD_NON_ROTATING, else per minute */
	uint8_t form_factor;	/* nominal */
	bool verifies_before_write, fua_behaviour; /* VBULS, FUAB */
};

void vpd_block_characteristics_encode(
	uint8_t peripheral, const struct vpd_block_characteristics *c, struct bytes_writer *w);
int vpd_block_characteristics_decode(
	const void *data, size_t length, struct vpd_block_characteristics *ret);

/* B2h. */
enum vpd_provisioning_type {
	VPD_FULLY_PROVISIONED = 0,
	VPD_RESOURCE_PROVISIONED = 1,
	VPD_THIN_PROVISIONED = 2,
};

struct vpd_provisioning {
	uint8_t threshold_exponent;
	bool unmap, write_same16, write_same10; /* LBPU, LBPWS, LBPWS10 */
	uint8_t reads_zeros;			/* LBPRZ: 1 zeros */
	bool anchor;				/* ANC_SUP */
	uint8_t type;				/* enum vpd_provisioning_type */
};

void vpd_provisioning_encode(
	uint8_t peripheral, const struct vpd_provisioning *p, struct bytes_writer *w);
int vpd_provisioning_decode(const void *data, size_t length, struct vpd_provisioning *ret);
