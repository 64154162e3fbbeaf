/* SCSI status and sense data: see sense.h. Fixed format is SPC-4 section 4.5.3, descriptor format
 * section 4.5.2. Called by the target's command.c, by the initiator's task.c and disk.c. */
#include "common/scsi/sense.h"

#include <errno.h>
#include <stdio.h>

#include "common/base/bytes.h"

enum {
	RESPONSE_FIXED_CURRENT = 0x70,
	RESPONSE_FIXED_DEFERRED = 0x71,
	RESPONSE_DESCRIPTOR_CURRENT = 0x72,
	RESPONSE_DESCRIPTOR_DEFERRED = 0x73,
	FIXED_VALID = 0x80,
	DESCRIPTOR_HEADER_SIZE = 8,
	DESCRIPTOR_INFORMATION = 0x00,
	DESCRIPTOR_KEY_SPECIFIC = 0x02,
	KEY_SPECIFIC_VALID = 0x80,     /* SKSV */
	KEY_SPECIFIC_IN_CDB = 0x40,    /* C/D */
	KEY_SPECIFIC_BIT_VALID = 0x08, /* BPV */
};

/* The three bytes of field pointer sense-key specific data (SPC-4 table 31). */
static void put_field_pointer(const struct scsi_sense *s, uint8_t out[3])
{
	if (!s->field_valid)
		return;
	out[0] = KEY_SPECIFIC_VALID;
	if (s->field_in_cdb)
		out[0] |= KEY_SPECIFIC_IN_CDB;
	if (s->field_bit >= 0)
		out[0] |= (uint8_t)(KEY_SPECIFIC_BIT_VALID | (s->field_bit & 7));
	put_be16(out + 1, s->field_byte);
}

static void parse_field_pointer(const uint8_t in[3], struct scsi_sense *s)
{
	if (s->key != SENSE_ILLEGAL_REQUEST || !(in[0] & KEY_SPECIFIC_VALID))
		return;
	s->field_valid = true;
	s->field_in_cdb = in[0] & KEY_SPECIFIC_IN_CDB;
	s->field_bit = in[0] & KEY_SPECIFIC_BIT_VALID ? (int8_t)(in[0] & 7) : -1;
	s->field_byte = get_be16(in + 1);
}

void scsi_sense_put_fixed(const struct scsi_sense *s, uint8_t out[SENSE_FIXED_SIZE])
{
	memset(out, 0, SENSE_FIXED_SIZE);
	out[0] = s->deferred ? RESPONSE_FIXED_DEFERRED : RESPONSE_FIXED_CURRENT;
	if (s->information_valid && s->information <= UINT32_MAX) {
		out[0] |= FIXED_VALID;
		put_be32(out + 3, (uint32_t)s->information);
	}
	out[2] = s->key & 0xf;
	out[7] = SENSE_FIXED_SIZE - 8;
	out[12] = s->asc;
	out[13] = s->ascq;
	put_field_pointer(s, out + 15);
}

size_t scsi_sense_put_descriptor(const struct scsi_sense *s, uint8_t out[SENSE_DESCRIPTOR_SIZE])
{
	size_t used = DESCRIPTOR_HEADER_SIZE;

	memset(out, 0, SENSE_DESCRIPTOR_SIZE);
	out[0] = s->deferred ? RESPONSE_DESCRIPTOR_DEFERRED : RESPONSE_DESCRIPTOR_CURRENT;
	out[1] = s->key & 0xf;
	out[2] = s->asc;
	out[3] = s->ascq;
	if (s->information_valid) {
		out[used] = DESCRIPTOR_INFORMATION;
		out[used + 1] = 10;
		out[used + 2] = 0x80;
		put_be64(out + used + 4, s->information);
		used += 12;
	}
	if (s->field_valid) {
		out[used] = DESCRIPTOR_KEY_SPECIFIC;
		out[used + 1] = 6;
		put_field_pointer(s, out + used + 4);
		used += 8;
	}
	out[7] = (uint8_t)(used - DESCRIPTOR_HEADER_SIZE);
	return used;
}

static int parse_fixed(const uint8_t *in, size_t length, struct scsi_sense *s)
{
	if (length < 3)
		return -EPROTO;
	/* ADDITIONAL SENSE LENGTH says how far the sense goes; a peer may send more bytes. */
	if (length > 8)
		length = min_size(length, 8 + (size_t)in[7]);
	s->key = in[2] & 0xf;
	if (in[0] & FIXED_VALID && length >= 7) {
		s->information_valid = true;
		s->information = get_be32(in + 3);
	}
	if (length > 12)
		s->asc = in[12];
	if (length > 13)
		s->ascq = in[13];
	if (length >= SENSE_FIXED_SIZE)
		parse_field_pointer(in + 15, s);
	return 0;
}

static void parse_descriptor(const uint8_t *d, size_t length, struct scsi_sense *s)
{
	if (d[0] == DESCRIPTOR_INFORMATION && length >= 12 && d[2] & 0x80) {
		s->information_valid = true;
		s->information = get_be64(d + 4);
	}
	if (d[0] == DESCRIPTOR_KEY_SPECIFIC && length >= 7)
		parse_field_pointer(d + 4, s);
}

static int parse_descriptors(const uint8_t *in, size_t length, struct scsi_sense *s)
{
	struct bytes_reader r;

	if (length < 4)
		return -EPROTO;
	s->key = in[1] & 0xf;
	s->asc = in[2];
	s->ascq = in[3];
	if (length < DESCRIPTOR_HEADER_SIZE)
		return 0;
	r = bytes_reader(
		in + DESCRIPTOR_HEADER_SIZE, min_size(length - DESCRIPTOR_HEADER_SIZE, in[7]));
	while (r.left >= 2) {
		size_t size = 2 + (size_t)r.at[1];
		const uint8_t *d = bytes_read(&r, size);

		if (!d)
			break;
		parse_descriptor(d, size, s);
	}
	return 0;
}

int scsi_sense_parse(const void *data, size_t length, struct scsi_sense *ret)
{
	const uint8_t *in = data;
	struct scsi_sense s = {.field_bit = -1};
	uint8_t code;
	int err;

	if (!length)
		return -EPROTO;
	code = in[0] & 0x7f;
	s.deferred = code & 1;
	if (code == RESPONSE_FIXED_CURRENT || code == RESPONSE_FIXED_DEFERRED)
		err = parse_fixed(in, length, &s);
	else if (code == RESPONSE_DESCRIPTOR_CURRENT || code == RESPONSE_DESCRIPTOR_DEFERRED)
		err = parse_descriptors(in, length, &s);
	else
		err = -EPROTO;
	if (!err)
		*ret = s;
	return err;
}

/* ---- what it means ---- */

struct sense_error {
	uint8_t key;
	int16_t asc, ascq; /* -1: any */
	int error;
};

/* The first row that fits counts. */
static const struct sense_error sense_errors[] = {
	{SENSE_NO_SENSE, -1, -1, 0},
	{SENSE_RECOVERED_ERROR, -1, -1, 0},
	{SENSE_COMPLETED, -1, -1, 0},
	{SENSE_UNIT_ATTENTION, -1, -1, -EAGAIN},
	{SENSE_ABORTED_COMMAND, -1, -1, -EAGAIN},
	{SENSE_NOT_READY, 0x04, 0x01, -EAGAIN}, /* becoming ready */
	{SENSE_NOT_READY, 0x04, 0x0a, -EAGAIN}, /* asymmetric access state transition */
	{SENSE_MEDIUM_ERROR, -1, -1, -ENODATA},
	{SENSE_MISCOMPARE, -1, -1, -EILSEQ},
	{SENSE_DATA_PROTECT, 0x27, 0x07, -ENOSPC},
	{SENSE_DATA_PROTECT, -1, -1, -EROFS},
	{SENSE_ILLEGAL_REQUEST, 0x20, -1, -EOPNOTSUPP},
	{SENSE_ILLEGAL_REQUEST, 0x21, -1, -ERANGE},
	{SENSE_ILLEGAL_REQUEST, 0x25, -1, -ENODEV},
	{SENSE_ILLEGAL_REQUEST, -1, -1, -EINVAL},
};

int scsi_sense_to_errno(const struct scsi_sense *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(sense_errors); i++) {
		const struct sense_error *e = &sense_errors[i];

		if (e->key == s->key && (e->asc < 0 || e->asc == s->asc) &&
			(e->ascq < 0 || e->ascq == s->ascq))
			/* A deferred error is another command's: this one was not executed. */
			return s->deferred && !e->error ? -EAGAIN : e->error;
	}
	return -EIO;
}
