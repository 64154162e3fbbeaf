/* The vital product data pages of a logical unit (SPC-4 section 7.8, SBC-3 section 6.5): what
 * initiators name a disk by, and learn its limits from. Called by spc.c. */
#include <stdio.h>

#include "common/base/bytes.h"
#include "common/iscsi/pdu.h"
#include "common/scsi/inquiry.h"
#include "target/command.h"
#include "target/executors.h"
#include "target/worker.h"

enum {
	RELATIVE_TARGET_PORT = 1, /* a target has one port: its portal group */
	TARGET_PORT_GROUP = 1,
	ROTATION_RATE = 7200, /* nominal, of a medium that rotates */
};

struct vpd_row {
	uint8_t page;
	void (*encode)(const struct command *cmd, struct bytes_writer *w);
};

static void supported_pages(const struct command *cmd, struct bytes_writer *w);

static void serial_number(const struct command *cmd, struct bytes_writer *w)
{
	vpd_serial_encode(0, cmd->nexus->device->serial, w);
}

/* Vendor identification, then what is unique within it (SPC-4 section 7.8.6.4). */
static void t10_designator(const struct device *d, struct bytes_writer *w)
{
	uint8_t bytes[8 + sizeof(d->serial)];
	size_t vendor = strlen(d->vendor), serial = strlen(d->serial);
	struct vpd_designator t10 = {
		.association = VPD_LOGICAL_UNIT,
		.code_set = VPD_ASCII,
		.type = VPD_T10_VENDOR_ID,
		.length = (uint8_t)(8 + serial),
		.bytes = bytes,
	};

	memset(bytes, ' ', 8);
	memcpy(bytes, d->vendor, vendor);
	memcpy(bytes + 8, d->serial, serial);
	vpd_designator_encode(&t10, w);
}

static void naa_designator(const struct device *d, struct bytes_writer *w)
{
	struct vpd_designator naa = {
		.association = VPD_LOGICAL_UNIT,
		.code_set = VPD_BINARY,
		.type = VPD_NAA,
		.length = sizeof(d->naa),
		.bytes = d->naa,
	};

	vpd_designator_encode(&naa, w);
}

static void port_number(uint8_t type, uint16_t number, struct bytes_writer *w)
{
	uint8_t bytes[4] = {0};
	struct vpd_designator port = {
		.association = VPD_TARGET_PORT,
		.code_set = VPD_BINARY,
		.type = type,
		.protocol_valid = true,
		.protocol = VPD_PROTOCOL_ISCSI,
		.length = sizeof(bytes),
		.bytes = bytes,
	};

	put_be16(bytes + 2, number);
	vpd_designator_encode(&port, w);
}

/* "<target name>,t,0x<portal group tag>" (RFC 7143 section 2.1, SCSI port name). */
static void port_name(const struct device *d, struct bytes_writer *w)
{
	char name[sizeof(d->target_name) + 16];

	snprintf(name, sizeof(name), "%s,t,0x%04x", d->target_name, ISCSI_PORTAL_GROUP_TAG);
	vpd_name_encode(VPD_TARGET_PORT, name, w);
}

static void device_identification(const struct command *cmd, struct bytes_writer *w)
{
	const struct device *d = cmd->nexus->device;
	size_t begun = vpd_begin(0, VPD_DEVICE_IDENTIFICATION, w);

	naa_designator(d, w);
	t10_designator(d, w);
	vpd_name_encode(VPD_LOGICAL_UNIT, d->designator, w);
	port_number(VPD_RELATIVE_TARGET_PORT, RELATIVE_TARGET_PORT, w);
	port_number(VPD_TARGET_PORT_GROUP, TARGET_PORT_GROUP, w);
	port_name(d, w);
	vpd_name_encode(VPD_TARGET_DEVICE, d->target_name, w);
	vpd_end(begun, w);
}

static void extended_inquiry(const struct command *cmd, struct bytes_writer *w)
{
	struct vpd_extended e = {
		.simple = true,
		.ordered = true,
		.head_of_queue = true,
		.volatile_cache = cmd->nexus->device->backend->info.volatile_cache,
		.unit_attention_cleared_by_nexus = true,
	};

	vpd_extended_encode(0, &e, w);
}

static uint32_t max_transfer(const struct command *cmd)
{
	const struct nexus *n = cmd->nexus;
	uint32_t most = sbc_max_transfer(cmd);

	return n->advised_transfer ? min_u32(most, n->advised_transfer / n->device->block_size)
				   : most;
}

static void block_limits(const struct command *cmd, struct bytes_writer *w)
{
	const struct device *d = cmd->nexus->device;
	const struct backend_info *info = &d->backend->info;
	uint32_t physical = info->physical_block_size / d->block_size;
	uint32_t granularity = info->discard_granularity / d->block_size;
	struct vpd_block_limits b = {
		.write_same_non_zero = true,
		.max_compare_and_write = (uint8_t)sbc_max_compare_and_write(cmd),
		.optimal_granularity = (uint16_t)(physical ? physical : 1),
		.max_transfer = max_transfer(cmd),
		.optimal_transfer = min_u32(WORKER_LARGE_BUFFER / d->block_size, max_transfer(cmd)),
		.max_write_same = sbc_max_write_same(cmd),
	};

	if (d->thin) {
		b.max_unmap = sbc_max_unmap(cmd);
		b.max_unmap_descriptors = SBC_MAX_UNMAP_DESCRIPTORS;
		b.unmap_granularity = granularity ? granularity : 1;
		b.unmap_alignment_valid = true;
	}
	vpd_block_limits_encode(0, &b, w);
}

static void block_characteristics(const struct command *cmd, struct bytes_writer *w)
{
	struct vpd_block_characteristics c = {
		.rotation_rate = cmd->nexus->device->rotational ? ROTATION_RATE : VPD_NON_ROTATING,
		.fua_behaviour = true,
	};

	vpd_block_characteristics_encode(0, &c, w);
}

static void provisioning(const struct command *cmd, struct bytes_writer *w)
{
	const struct device *d = cmd->nexus->device;
	struct vpd_provisioning p = {
		.unmap = d->thin,
		.write_same16 = d->thin,
		.write_same10 = d->thin,
		.reads_zeros = d->thin,
		.type = d->thin ? VPD_THIN_PROVISIONED : VPD_FULLY_PROVISIONED,
	};

	vpd_provisioning_encode(0, &p, w);
}

static const struct vpd_row rows[] = {
	/* ascending */
	{VPD_SUPPORTED_PAGES, supported_pages},
	{VPD_UNIT_SERIAL_NUMBER, serial_number},
	{VPD_DEVICE_IDENTIFICATION, device_identification},
	{VPD_EXTENDED_INQUIRY, extended_inquiry},
	{VPD_BLOCK_LIMITS, block_limits},
	{VPD_BLOCK_CHARACTERISTICS, block_characteristics},
	{VPD_LOGICAL_BLOCK_PROVISIONING, provisioning},
};

static void supported_pages(const struct command *cmd, struct bytes_writer *w)
{
	uint8_t pages[ARRAY_SIZE(rows)];

	(void)cmd;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		pages[i] = rows[i].page;
	vpd_pages_encode(0, pages, ARRAY_SIZE(pages), w);
}

/* Of a LUN that is not there only the list of pages can be had, and it has itself alone (SPC-4
 * section 7.8.1). */
static size_t no_unit(uint8_t page, struct bytes_writer *w)
{
	static const uint8_t itself = VPD_SUPPORTED_PAGES;

	if (page == VPD_SUPPORTED_PAGES)
		vpd_pages_encode(
			INQUIRY_QUALIFIER_NO_UNIT << 5 | INQUIRY_TYPE_UNKNOWN, &itself, 1, w);
	return w->used;
}

size_t vpd_page_encode(const struct command *cmd, uint8_t page, uint8_t *out, size_t size)
{
	struct bytes_writer w = bytes_writer(out, size);

	if (!cmd->nexus)
		return no_unit(page, &w);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].page == page)
			rows[i].encode(cmd, &w);
	return w.overflow ? 0 : w.used;
}
