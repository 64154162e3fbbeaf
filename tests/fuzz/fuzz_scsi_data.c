/* What an initiator decodes of a target's data-in and sense (common/scsi), and what a target
 * decodes of parameter lists. Input: the number of the decoder, then the data. */
#include "common/scsi/capacity.h"
#include "common/scsi/cdb.h"
#include "common/scsi/inquiry.h"
#include "common/scsi/mode.h"
#include "common/scsi/reservation.h"
#include "common/scsi/sense.h"
#include "tests/fuzz/fuzz.h"

static void try_sense(const uint8_t *data, size_t n)
{
	char text[96], tiny[5];
	struct scsi_sense s;

	if (scsi_sense_parse(data, n, &s) < 0)
		return;
	scsi_sense_to_errno(&s);
	FUZZ_CHECK(memchr(scsi_sense_print(&s, text, sizeof(text)), 0, sizeof(text)));
	FUZZ_CHECK(memchr(scsi_sense_print(&s, tiny, sizeof(tiny)), 0, sizeof(tiny)));
}

static void try_capacity(const uint8_t *data, size_t n)
{
	uint8_t out[CAPACITY16_SIZE];
	struct scsi_capacity c, again;

	if (capacity16_decode(data, n, &c) == 0) {
		FUZZ_CHECK(c.block_size > 0);
		capacity16_encode(&c, out);
		FUZZ_CHECK(capacity16_decode(out, sizeof(out), &again) == 0);
		FUZZ_CHECK(again.last_lba == c.last_lba && again.block_size == c.block_size);
	}
	if (capacity10_decode(data, n, &c) == 0)
		FUZZ_CHECK(c.block_size > 0);
}

static void try_luns(const uint8_t *data, size_t n)
{
	uint64_t luns[8];
	size_t total = 0;
	int count = report_luns_decode(data, n, luns, ARRAY_SIZE(luns), &total);

	FUZZ_CHECK(count <= (int)ARRAY_SIZE(luns));
	FUZZ_CHECK(count < 0 || (size_t)count <= total);
}

static void try_inquiry(const uint8_t *data, size_t n)
{
	struct scsi_inquiry i;

	if (inquiry_decode(data, n, &i) < 0)
		return;
	FUZZ_CHECK(strlen(i.vendor) <= 8 && strlen(i.product) <= 16 && strlen(i.revision) <= 4);
}

static void try_vpd(const uint8_t *data, size_t n)
{
	struct vpd_block_characteristics characteristics;
	struct vpd_provisioning provisioning;
	struct vpd_extended extended;
	struct vpd_block_limits limits;
	struct vpd_designator d;
	struct bytes_reader r;
	char text[40], tiny[2];

	for (unsigned page = 0; page < 256; page++)
		vpd_pages_has(data, n, (uint8_t)page);
	if (vpd_serial_decode(data, n, text, sizeof(text)) == 0)
		FUZZ_CHECK(memchr(text, 0, sizeof(text)));
	if (vpd_serial_decode(data, n, tiny, sizeof(tiny)) == 0)
		FUZZ_CHECK(memchr(tiny, 0, sizeof(tiny)));
	if (vpd_wwid_decode(data, n, text, sizeof(text)) == 0)
		FUZZ_CHECK(memchr(text, 0, sizeof(text)));
	if (vpd_wwid_decode(data, n, tiny, sizeof(tiny)) == 0)
		FUZZ_CHECK(memchr(tiny, 0, sizeof(tiny)));
	if (vpd_open(data, n, VPD_DEVICE_IDENTIFICATION, &r) == 0)
		while (vpd_designator_next(&r, &d))
			FUZZ_CHECK(d.bytes >= data && d.bytes + d.length <= data + n);
	vpd_extended_decode(data, n, &extended);
	vpd_block_limits_decode(data, n, &limits);
	vpd_block_characteristics_decode(data, n, &characteristics);
	vpd_provisioning_decode(data, n, &provisioning);
}

static void try_mode(const uint8_t *data, size_t n)
{
	for (int ten = 0; ten < 2; ten++) {
		struct bytes_reader r = bytes_reader(data, n);
		struct mode_caching caching;
		struct mode_header h;
		struct mode_page page;
		bool protect;

		mode_caching_decode(data, n, ten, &caching);
		mode_write_protect_decode(data, n, ten, &protect);
		if (mode_header_decode(&r, ten, &h) < 0)
			continue;
		while (mode_page_next(&r, &page) > 0)
			FUZZ_CHECK(page.length >= 2 && page.bytes >= data &&
				   page.bytes + page.length <= data + n);
	}
}

static void try_unmap(const uint8_t *data, size_t n)
{
	size_t count = unmap_list_count(data, n);
	struct unmap_extent e;

	FUZZ_CHECK(count * UNMAP_DESCRIPTOR_SIZE <= n);
	for (size_t i = 0; i < count; i++)
		unmap_list_get(data, i, &e);
}

static void try_cdb(const uint8_t *data, size_t n)
{
	uint8_t cdb[CDB_SIZE] = {0};
	struct cdb_block b;
	unsigned length;

	memcpy(cdb, data, min_size(n, sizeof(cdb)));
	length = cdb_length(cdb);
	FUZZ_CHECK(length <= 8 + 255);
	if (cdb_block_decode(cdb, &b) == 0)
		FUZZ_CHECK(length >= 6 && length <= 16);
	cdb_compare_and_write_decode(cdb, &b);
}

static void try_reservation(const uint8_t *data, size_t n)
{
	uint8_t list[RESERVATION_OUT_LENGTH] = {0}, out[RESERVATION_OUT_LENGTH];
	struct reservation_out o, again;

	memcpy(list, data, min_size(n, sizeof(list)));
	reservation_out_decode(list, &o);
	reservation_out_encode(&o, out);
	reservation_out_decode(out, &again);
	FUZZ_CHECK(o.key == again.key && o.service_action_key == again.service_action_key);
	FUZZ_CHECK(o.spec_i_pt == again.spec_i_pt && o.aptpl == again.aptpl);
}

static void (*const decoders[])(const uint8_t *data, size_t n) = {
	try_sense,
	try_capacity,
	try_luns,
	try_inquiry,
	try_vpd,
	try_mode,
	try_unmap,
	try_cdb,
	try_reservation,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	uint8_t which = fuzz_u8(&in);
	uint8_t *copy = fuzz_copy(in.at, in.left, false);

	decoders[which % ARRAY_SIZE(decoders)](copy, in.left);
	free(copy);
	return 0;
}
