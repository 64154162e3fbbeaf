/* The PDUs that carry SCSI (RFC 7143 sections 11.3 to 11.8 and 11.16): SCSI Command and Response,
 * Task Management, Data-Out, Data-In, R2T, SNACK. Called by the table of pdu.c. */
#include <errno.h>

#include "common/iscsi/pdu_fields.h"

int pdu_command_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	p->command.read = b[BHS_FLAGS] & FLAG_READ;
	p->command.write = b[BHS_FLAGS] & FLAG_WRITE;
	p->command.attribute = b[BHS_FLAGS] & 7;
	p->command.expected_length = get_be32(b + 20);
	memcpy(p->command.cdb, b + 32, ISCSI_CDB_SIZE);
	/* Section 11.3.1: without W no Data-Out can follow, so F must be set. */
	if (!p->final && !p->command.write)
		return -EPROTO;
	return p->command.attribute > ISCSI_ATTR_ACA ? -EPROTO : 0;
}

void pdu_command_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = (uint8_t)((p->final ? FLAG_FINAL : 0) | (p->command.read ? FLAG_READ : 0) |
				 (p->command.write ? FLAG_WRITE : 0) | (p->command.attribute & 7));
	put_be32(b + 20, p->command.expected_length);
	memcpy(b + 32, p->command.cdb, ISCSI_CDB_SIZE);
}

int pdu_response_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	uint8_t flags = b[BHS_FLAGS];

	p->response.bidi_overflow = flags & FLAG_BIDI_OVERFLOW;
	p->response.bidi_underflow = flags & FLAG_BIDI_UNDERFLOW;
	p->response.overflow = flags & FLAG_OVERFLOW;
	p->response.underflow = flags & FLAG_UNDERFLOW;
	p->response.response = b[2];
	p->response.status = b[3];
	p->response.snack_tag = get_be32(b + 20);
	p->response.exp_data_sn = get_be32(b + 36);
	p->response.bidi_residual = get_be32(b + 40);
	p->response.residual = get_be32(b + 44);
	if (p->response.overflow && p->response.underflow)
		return -EPROTO;
	return p->response.bidi_overflow && p->response.bidi_underflow ? -EPROTO : 0;
}

void pdu_response_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = (uint8_t)(FLAG_FINAL | (p->response.bidi_overflow ? FLAG_BIDI_OVERFLOW : 0) |
				 (p->response.bidi_underflow ? FLAG_BIDI_UNDERFLOW : 0) |
				 (p->response.overflow ? FLAG_OVERFLOW : 0) |
				 (p->response.underflow ? FLAG_UNDERFLOW : 0));
	b[2] = p->response.response;
	b[3] = p->response.status;
	put_be32(b + 20, p->response.snack_tag);
	put_be32(b + 36, p->response.exp_data_sn);
	put_be32(b + 40, p->response.bidi_residual);
	put_be32(b + 44, p->response.residual);
}

int pdu_tmf_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	p->tmf.function = b[BHS_FLAGS] & 0x7f;
	p->tmf.referenced_tag = get_be32(b + 20);
	p->tmf.ref_cmd_sn = get_be32(b + 32);
	p->tmf.exp_data_sn = get_be32(b + 36);
	return 0;
}

void pdu_tmf_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = (uint8_t)(FLAG_FINAL | (p->tmf.function & 0x7f));
	put_be32(b + 20, p->tmf.referenced_tag);
	put_be32(b + 32, p->tmf.ref_cmd_sn);
	put_be32(b + 36, p->tmf.exp_data_sn);
}

int pdu_tmf_response_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	p->tmf_response.response = b[2];
	return 0;
}

void pdu_tmf_response_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = FLAG_FINAL;
	b[2] = p->tmf_response.response;
}

int pdu_data_out_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	p->data_out.ttt = get_be32(b + BHS_TTT);
	p->data_out.data_sn = get_be32(b + 36);
	p->data_out.offset = get_be32(b + 40);
	return 0;
}

void pdu_data_out_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = p->final ? FLAG_FINAL : 0;
	put_be32(b + BHS_TTT, p->data_out.ttt);
	put_be32(b + 36, p->data_out.data_sn);
	put_be32(b + 40, p->data_out.offset);
}

int pdu_data_in_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	uint8_t flags = b[BHS_FLAGS];

	p->data_in.acknowledge = flags & FLAG_ACKNOWLEDGE;
	p->data_in.overflow = flags & FLAG_OVERFLOW;
	p->data_in.underflow = flags & FLAG_UNDERFLOW;
	p->data_in.has_status = flags & FLAG_STATUS;
	p->data_in.status = b[3];
	p->data_in.ttt = get_be32(b + BHS_TTT);
	p->data_in.data_sn = get_be32(b + 36);
	p->data_in.offset = get_be32(b + 40);
	p->data_in.residual = get_be32(b + 44);
	/* Section 11.7.3: status comes with the last Data-In of the command alone. */
	if (p->data_in.has_status && !p->final)
		return -EPROTO;
	return p->data_in.has_status && p->data_in.overflow && p->data_in.underflow ? -EPROTO : 0;
}

void pdu_data_in_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = (uint8_t)((p->final ? FLAG_FINAL : 0) |
				 (p->data_in.acknowledge ? FLAG_ACKNOWLEDGE : 0) |
				 (p->data_in.overflow ? FLAG_OVERFLOW : 0) |
				 (p->data_in.underflow ? FLAG_UNDERFLOW : 0) |
				 (p->data_in.has_status ? FLAG_STATUS : 0));
	b[3] = p->data_in.has_status ? p->data_in.status : 0;
	put_be32(b + BHS_TTT, p->data_in.ttt);
	put_be32(b + 36, p->data_in.data_sn);
	put_be32(b + 40, p->data_in.offset);
	put_be32(b + 44, p->data_in.residual);
}

int pdu_r2t_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	p->r2t.ttt = get_be32(b + BHS_TTT);
	p->r2t.r2t_sn = get_be32(b + 36);
	p->r2t.offset = get_be32(b + 40);
	p->r2t.length = get_be32(b + 44);
	/* Section 11.8.4: the desired length must not be 0; 11.8.5: nor
	 * the TTT the reserved value. */
	return p->r2t.length == 0 || p->r2t.ttt == ISCSI_TAG_NONE ? -EPROTO : 0;
}

void pdu_r2t_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = FLAG_FINAL;
	put_be32(b + BHS_TTT, p->r2t.ttt);
	put_be32(b + 36, p->r2t.r2t_sn);
	put_be32(b + 40, p->r2t.offset);
	put_be32(b + 44, p->r2t.length);
}

int pdu_snack_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	p->snack.type = b[BHS_FLAGS] & 0x0f;
	p->snack.ttt = get_be32(b + BHS_TTT);
	p->snack.begin_run = get_be32(b + 40);
	p->snack.run_length = get_be32(b + 44);
	return 0;
}

void pdu_snack_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = (uint8_t)(FLAG_FINAL | (p->snack.type & 0x0f));
	put_be32(b + BHS_TTT, p->snack.ttt);
	put_be32(b + 40, p->snack.begin_run);
	put_be32(b + 44, p->snack.run_length);
}
