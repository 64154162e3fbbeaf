/* Words for status, sense keys and additional sense codes (SAM-5 section 5.3, SPC-4 table 43 and
 * annex F): the codes that disks and arrays send, not the whole annex. See sense.h. */
#include "common/scsi/sense.h"

#include <stdio.h>

#include "common/base/bytes.h"

static const char *const key_names[16] = {
	"No Sense",
	"Recovered Error",
	"Not Ready",
	"Medium Error",
	"Hardware Error",
	"Illegal Request",
	"Unit Attention",
	"Data Protect",
	"Blank Check",
	"Vendor Specific",
	"Copy Aborted",
	"Aborted Command",
	"Reserved",
	"Volume Overflow",
	"Miscompare",
	"Completed",
};

struct code_name {
	uint16_t code;
	const char *name;
};

static const struct code_name status_names[] = {
	{SCSI_GOOD, "GOOD"},
	{SCSI_CHECK_CONDITION, "CHECK CONDITION"},
	{SCSI_CONDITION_MET, "CONDITION MET"},
	{SCSI_BUSY, "BUSY"},
	{SCSI_RESERVATION_CONFLICT, "RESERVATION CONFLICT"},
	{SCSI_TASK_SET_FULL, "TASK SET FULL"},
	{SCSI_ACA_ACTIVE, "ACA ACTIVE"},
	{SCSI_TASK_ABORTED, "TASK ABORTED"},
};

static const struct code_name additional_names[] = {
	{0x0000, "No additional sense information"},
	{0x0400, "Logical unit not ready, cause not reportable"},
	{0x0401, "Logical unit is in process of becoming ready"},
	{0x0402, "Logical unit not ready, initializing command required"},
	{0x0403, "Logical unit not ready, manual intervention required"},
	{0x0404, "Logical unit not ready, format in progress"},
	{0x0407, "Logical unit not ready, operation in progress"},
	{0x040a, "Logical unit not accessible, asymmetric access state transition"},
	{0x040b, "Logical unit not accessible, target port in standby state"},
	{0x040c, "Logical unit not accessible, target port in unavailable state"},
	{0x0500, "Logical unit does not respond to selection"},
	{0x0800, "Logical unit communication failure"},
	{0x0801, "Logical unit communication time-out"},
	{0x0b00, "Warning"},
	{0x0b01, "Warning - specified temperature exceeded"},
	{0x0c00, "Write error"},
	{0x0c02, "Write error - auto reallocation failed"},
	{0x0c0c, "Write error - unexpected unsolicited data"},
	{0x0c0d, "Write error - not enough unsolicited data"},
	{0x0d00, "Error detected by third party temporary initiator"},
	{0x1000, "ID CRC or ECC error"},
	{0x1001, "Logical block guard check failed"},
	{0x1002, "Logical block application tag check failed"},
	{0x1003, "Logical block reference tag check failed"},
	{0x1100, "Unrecovered read error"},
	{0x1101, "Read retries exhausted"},
	{0x1104, "Unrecovered read error - auto reallocate failed"},
	{0x1400, "Recorded entity not found"},
	{0x1500, "Random positioning error"},
	{0x1700, "Recovered data with no error correction applied"},
	{0x1800, "Recovered data with error correction applied"},
	{0x1a00, "Parameter list length error"},
	{0x1d00, "Miscompare during verify operation"},
	{0x1d01, "Miscompare verify of unmapped LBA"},
	{0x2000, "Invalid command operation code"},
	{0x2100, "Logical block address out of range"},
	{0x2400, "Invalid field in CDB"},
	{0x2500, "Logical unit not supported"},
	{0x2600, "Invalid field in parameter list"},
	{0x2601, "Parameter not supported"},
	{0x2602, "Parameter value invalid"},
	{0x2604, "Invalid release of persistent reservation"},
	{0x2700, "Write protected"},
	{0x2707, "Space allocation failed write protect"},
	{0x2800, "Not ready to ready change, medium may have changed"},
	{0x2900, "Power on, reset, or bus device reset occurred"},
	{0x2901, "Power on occurred"},
	{0x2902, "SCSI bus reset occurred"},
	{0x2903, "Bus device reset function occurred"},
	{0x2904, "Device internal reset"},
	{0x2907, "I_T nexus loss occurred"},
	{0x2a01, "Mode parameters changed"},
	{0x2a02, "Log parameters changed"},
	{0x2a03, "Reservations preempted"},
	{0x2a04, "Reservations released"},
	{0x2a05, "Registrations preempted"},
	{0x2a06, "Asymmetric access state changed"},
	{0x2a07, "Implicit asymmetric access state transition failed"},
	{0x2a09, "Capacity data has changed"},
	{0x2c00, "Command sequence error"},
	{0x2f00, "Commands cleared by another initiator"},
	{0x3100, "Medium format corrupted"},
	{0x3200, "No defect spare location available"},
	{0x3807, "Thin provisioning soft threshold reached"},
	{0x3900, "Saving parameters not supported"},
	{0x3a00, "Medium not present"},
	{0x3e00, "Logical unit has not self-configured yet"},
	{0x3e02, "Time-out on logical unit"},
	{0x3f01, "Microcode has been changed"},
	{0x3f03, "Inquiry data has changed"},
	{0x3f0e, "Reported LUNs data has changed"},
	{0x4400, "Internal target failure"},
	{0x4700, "SCSI parity error"},
	{0x4800, "Initiator detected error message received"},
	{0x4900, "Invalid message error"},
	{0x4b00, "Data phase error"},
	{0x4e00, "Overlapped commands attempted"},
	{0x5300, "Media load or eject failed"},
	{0x5302, "Medium removal prevented"},
	{0x5500, "System resource failure"},
	{0x5503, "Insufficient resources"},
	{0x5504, "Insufficient registration resources"},
	{0x5d00, "Failure prediction threshold exceeded"},
};

static const char *find_name(const struct code_name *names, size_t count, uint16_t code)
{
	for (size_t i = 0; i < count; i++)
		if (names[i].code == code)
			return names[i].name;
	return "unknown";
}

const char *scsi_sense_key_name(uint8_t key)
{
	return key_names[key & 0xf];
}

const char *scsi_status_name(uint8_t status)
{
	return find_name(status_names, ARRAY_SIZE(status_names), status);
}

const char *scsi_additional_sense_name(uint8_t asc, uint8_t ascq)
{
	return find_name(
		additional_names, ARRAY_SIZE(additional_names), (uint16_t)(asc << 8 | ascq));
}

/* The end of the text so far: snprintf may have wanted more than there was room for. */
static size_t print_end(int wanted, size_t used, size_t size)
{
	return wanted < 0 ? used : min_size(used + (size_t)wanted, size ? size - 1 : 0);
}

char *scsi_sense_print(const struct scsi_sense *s, char *out, size_t size)
{
	size_t used =
		print_end(snprintf(out, size, "%s: %s (%02xh/%02xh)", scsi_sense_key_name(s->key),
				  scsi_additional_sense_name(s->asc, s->ascq), s->asc, s->ascq),
			0, size);

	if (s->field_valid)
		used = print_end(snprintf(out + used, size - used, ", %s byte %u",
					 s->field_in_cdb ? "CDB" : "parameter list", s->field_byte),
			used, size);
	if (s->field_valid && s->field_bit >= 0)
		used = print_end(
			snprintf(out + used, size - used, " bit %d", s->field_bit), used, size);
	if (s->information_valid)
		snprintf(out + used, size - used, ", information %llu",
			(unsigned long long)s->information);
	return out;
}
