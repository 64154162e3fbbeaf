/* The PDUs of a session (RFC 7143 sections 11.9 to 11.15 and 11.17 to 11.19): Login, Text, Logout,
 * NOP, Asynchronous Message, Reject. Called by the table of pdu.c. */
#include <errno.h>

#include "common/iscsi/pdu_fields.h"

int pdu_login_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	p->login.transit = b[BHS_FLAGS] & FLAG_FINAL;
	p->login.more = b[BHS_FLAGS] & FLAG_CONTINUE;
	p->login.csg = b[BHS_FLAGS] >> 2 & 3;
	p->login.nsg = b[BHS_FLAGS] & 3;
	p->login.version_max = b[2];
	p->login.version_min = b[3];
	memcpy(p->login.isid.bytes, b + 8, sizeof(p->login.isid.bytes));
	p->login.tsih = get_be16(b + 14);
	p->login.cid = get_be16(b + 20);
	return 0;
}

void pdu_login_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_OPCODE] |= OPCODE_IMMEDIATE; /* section 11.12: always */
	b[BHS_FLAGS] = (uint8_t)((p->login.transit ? FLAG_FINAL : 0) |
				 (p->login.more ? FLAG_CONTINUE : 0) | (p->login.csg & 3) << 2 |
				 (p->login.nsg & 3));
	b[2] = p->login.version_max;
	b[3] = p->login.version_min;
	memcpy(b + 8, p->login.isid.bytes, sizeof(p->login.isid.bytes));
	put_be16(b + 14, p->login.tsih);
	put_be16(b + 20, p->login.cid);
}

int pdu_login_response_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	p->login_response.transit = b[BHS_FLAGS] & FLAG_FINAL;
	p->login_response.more = b[BHS_FLAGS] & FLAG_CONTINUE;
	p->login_response.csg = b[BHS_FLAGS] >> 2 & 3;
	p->login_response.nsg = b[BHS_FLAGS] & 3;
	p->login_response.version_max = b[2];
	p->login_response.version_active = b[3];
	memcpy(p->login_response.isid.bytes, b + 8, sizeof(p->login_response.isid.bytes));
	p->login_response.tsih = get_be16(b + 14);
	p->login_response.status_class = b[36];
	p->login_response.status_detail = b[37];
	return 0;
}

void pdu_login_response_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = (uint8_t)((p->login_response.transit ? FLAG_FINAL : 0) |
				 (p->login_response.more ? FLAG_CONTINUE : 0) |
				 (p->login_response.csg & 3) << 2 | (p->login_response.nsg & 3));
	b[2] = p->login_response.version_max;
	b[3] = p->login_response.version_active;
	memcpy(b + 8, p->login_response.isid.bytes, sizeof(p->login_response.isid.bytes));
	put_be16(b + 14, p->login_response.tsih);
	b[36] = p->login_response.status_class;
	b[37] = p->login_response.status_detail;
}

int pdu_text_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	p->text.more = b[BHS_FLAGS] & FLAG_CONTINUE;
	p->text.ttt = get_be32(b + BHS_TTT);
	/* Sections 11.10.2, 11.11.2: a text that goes on is not the final one. */
	return p->text.more && p->final ? -EPROTO : 0;
}

void pdu_text_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = (uint8_t)((p->final ? FLAG_FINAL : 0) | (p->text.more ? FLAG_CONTINUE : 0));
	put_be32(b + BHS_TTT, p->text.ttt);
}

int pdu_logout_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	p->logout.reason = b[BHS_FLAGS] & 0x7f;
	p->logout.cid = get_be16(b + 20);
	return 0;
}

void pdu_logout_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = (uint8_t)(FLAG_FINAL | (p->logout.reason & 0x7f));
	put_be16(b + 20, p->logout.cid);
}

int pdu_logout_response_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	p->logout_response.response = b[2];
	p->logout_response.time2wait = get_be16(b + 40);
	p->logout_response.time2retain = get_be16(b + 42);
	return 0;
}

void pdu_logout_response_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = FLAG_FINAL;
	b[2] = p->logout_response.response;
	put_be16(b + 40, p->logout_response.time2wait);
	put_be16(b + 42, p->logout_response.time2retain);
}

int pdu_nop_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	p->nop.ttt = get_be32(b + BHS_TTT);
	return 0;
}

void pdu_nop_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = FLAG_FINAL;
	put_be32(b + BHS_TTT, p->nop.ttt);
}

int pdu_reject_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	p->reject.reason = b[2];
	p->reject.data_sn = get_be32(b + 36);
	return 0;
}

void pdu_reject_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = FLAG_FINAL;
	b[2] = p->reject.reason;
	put_be32(b + BHS_ITT, ISCSI_TAG_NONE); /* section 11.17: always */
	put_be32(b + 36, p->reject.data_sn);
}

int pdu_async_decode(const uint8_t *b, struct iscsi_pdu *p)
{
	p->async.event = b[36];
	p->async.vendor_code = b[37];
	p->async.parameter1 = get_be16(b + 38);
	p->async.parameter2 = get_be16(b + 40);
	p->async.parameter3 = get_be16(b + 42);
	return 0;
}

void pdu_async_encode(const struct iscsi_pdu *p, uint8_t *b)
{
	b[BHS_FLAGS] = FLAG_FINAL;
	put_be32(b + BHS_ITT, ISCSI_TAG_NONE); /* section 11.9: always */
	b[36] = p->async.event;
	b[37] = p->async.vendor_code;
	put_be16(b + 38, p->async.parameter1);
	put_be16(b + 40, p->async.parameter2);
	put_be16(b + 42, p->async.parameter3);
}
