/* SCSI status and sense data (SAM-5 section 5.3, SPC-4 section 4.5): a host struct, both wire
 * formats, and words for people. The target builds it, the initiator parses it. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum scsi_status { /* SAM-5 section 5.3.1 */
	SCSI_GOOD = 0x00,
	SCSI_CHECK_CONDITION = 0x02,
	SCSI_CONDITION_MET = 0x04,
	SCSI_BUSY = 0x08,
	SCSI_RESERVATION_CONFLICT = 0x18,
	SCSI_TASK_SET_FULL = 0x28,
	SCSI_ACA_ACTIVE = 0x30,
	SCSI_TASK_ABORTED = 0x40,
};

enum scsi_sense_key { /* SPC-4 section 4.5.6 */
	SENSE_NO_SENSE = 0x0,
	SENSE_RECOVERED_ERROR = 0x1,
	SENSE_NOT_READY = 0x2,
	SENSE_MEDIUM_ERROR = 0x3,
	SENSE_HARDWARE_ERROR = 0x4,
	SENSE_ILLEGAL_REQUEST = 0x5,
	SENSE_UNIT_ATTENTION = 0x6,
	SENSE_DATA_PROTECT = 0x7,
	SENSE_BLANK_CHECK = 0x8,
	SENSE_VENDOR_SPECIFIC = 0x9,
	SENSE_COPY_ABORTED = 0xa,
	SENSE_ABORTED_COMMAND = 0xb,
	SENSE_VOLUME_OVERFLOW = 0xd,
	SENSE_MISCOMPARE = 0xe,
	SENSE_COMPLETED = 0xf,
};

/* Additional sense codes that this project speaks of, ASC << 8 | ASCQ (SPC-4 annex F). */
enum scsi_additional_sense {
	ASC_NONE = 0x0000,
	ASC_LOGICAL_UNIT_NOT_READY_INITIALIZING_COMMAND_REQUIRED = 0x0402,
	ASC_LOGICAL_UNIT_COMMUNICATION_FAILURE = 0x0800,
	ASC_WRITE_ERROR = 0x0c00,
	ASC_UNEXPECTED_UNSOLICITED_DATA = 0x0c0c,
	ASC_INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT = 0x0e03,
	ASC_UNRECOVERED_READ_ERROR = 0x1100,
	ASC_PARAMETER_LIST_LENGTH_ERROR = 0x1a00,
	ASC_MISCOMPARE_DURING_VERIFY = 0x1d00,
	ASC_INVALID_COMMAND_OPERATION_CODE = 0x2000,
	ASC_LBA_OUT_OF_RANGE = 0x2100,
	ASC_INVALID_FIELD_IN_CDB = 0x2400,
	ASC_LOGICAL_UNIT_NOT_SUPPORTED = 0x2500,
	ASC_INVALID_FIELD_IN_PARAMETER_LIST = 0x2600,
	ASC_PARAMETER_NOT_SUPPORTED = 0x2601,
	ASC_INVALID_RELEASE_OF_PERSISTENT_RESERVATION = 0x2604,
	ASC_WRITE_PROTECTED = 0x2700,
	ASC_SPACE_ALLOCATION_FAILED_WRITE_PROTECT = 0x2707,
	ASC_POWER_ON_RESET_OR_BUS_DEVICE_RESET = 0x2900,
	ASC_BUS_DEVICE_RESET_FUNCTION = 0x2903,
	ASC_I_T_NEXUS_LOSS = 0x2907,
	ASC_MODE_PARAMETERS_CHANGED = 0x2a01,
	ASC_RESERVATIONS_PREEMPTED = 0x2a03,
	ASC_RESERVATIONS_RELEASED = 0x2a04,
	ASC_REGISTRATIONS_PREEMPTED = 0x2a05,
	ASC_CAPACITY_DATA_HAS_CHANGED = 0x2a09,
	ASC_COMMANDS_CLEARED_BY_ANOTHER_INITIATOR = 0x2f00,
	ASC_SAVING_PARAMETERS_NOT_SUPPORTED = 0x3900,
	ASC_REPORTED_LUNS_DATA_HAS_CHANGED = 0x3f0e,
	ASC_INTERNAL_TARGET_FAILURE = 0x4400,
	ASC_INVALID_MESSAGE_ERROR = 0x4900,
	ASC_DATA_PHASE_ERROR = 0x4b00,
	ASC_INSUFFICIENT_RESOURCES = 0x5503,
	ASC_INSUFFICIENT_REGISTRATION_RESOURCES = 0x5504,
};

struct scsi_sense {
	uint8_t key, asc, ascq;
	bool deferred; /* of an earlier command */
	bool information_valid;
	uint64_t information; /* an LBA, or the offset of a miscompare */
	bool field_valid;     /* ILLEGAL REQUEST: which field is wrong (SPC-4 section 4.5.2.4.2) */
	bool field_in_cdb;    /* else in the parameter list */
	int8_t field_bit;     /* 0..7, or -1: the whole byte */
	uint16_t field_byte;
};

#define SENSE_FIXED_SIZE 18
#define SENSE_DESCRIPTOR_SIZE 28 /* header, information and sense-key specific descriptor */
#define SENSE_SIZE_MAX 252	 /* SPC-4 section 4.5.1 */

/* Fixed format (response code 70h or 71h); an information value that needs more than 32 bits is
 * left out, VALID being 0. */
void scsi_sense_put_fixed(const struct scsi_sense *s, uint8_t out[SENSE_FIXED_SIZE]);
/* Descriptor format (72h, 73h); the length. */
size_t scsi_sense_put_descriptor(const struct scsi_sense *s, uint8_t out[SENSE_DESCRIPTOR_SIZE]);
/* Both formats, told apart by the response code; sense that was cut short yields what is there. 0,
 * or -EPROTO when not even the sense key is there or the response code is none of the four. */
int scsi_sense_parse(const void *data, size_t length, struct scsi_sense *ret);
/* What a CHECK CONDITION means to one who reads and writes: 0 (no error: NO SENSE, RECOVERED ERROR,
 * COMPLETED), -EAGAIN (UNIT ATTENTION, ABORTED COMMAND, becoming ready or changing its access
 * state: issue it again), -ENOSPC, -EROFS, -ENODATA (medium error), -EILSEQ (miscompare), -ENODEV
 * (no such LUN), -EINVAL (ILLEGAL REQUEST), -EOPNOTSUPP (unknown operation code), -ERANGE (LBA out
 * of range), -EIO. */
int scsi_sense_to_errno(const struct scsi_sense *s);
/* "Illegal Request: Invalid field in CDB (24h/00h), byte 1 bit 3" into out, always ended by NUL.
 * Returns out. */
char *scsi_sense_print(const struct scsi_sense *s, char *out, size_t size);
/* Names as the standards spell them; "unknown" for a code that is in no table. */
const char *scsi_sense_key_name(uint8_t key);
const char *scsi_additional_sense_name(uint8_t asc, uint8_t ascq);
const char *scsi_status_name(uint8_t status);
