/* Inside of pdu.c and its chapters, for nobody else: where the fields of a Basic Header Segment are
 * (RFC 7143 section 11), and one decoder and one encoder per PDU for what lies outside the common
 * fields. A decoder is given the 48 bytes, fills in its member of the union, and returns 0 or
 * -EPROTO. An encoder is given 48 bytes of zero. */
#pragma once

#include "common/base/bytes.h"
#include "common/iscsi/pdu.h"

/* Byte offsets that several PDUs share. */
enum {
	BHS_OPCODE = 0,
	BHS_FLAGS = 1,
	BHS_AHS_LENGTH = 4,
	BHS_DATA_LENGTH = 5,
	BHS_LUN = 8,
	BHS_ITT = 16,
	BHS_TTT = 20,
	BHS_CMD_SN = 24,
	BHS_STAT_SN = 24,
	BHS_EXP_STAT_SN = 28,
	BHS_EXP_CMD_SN = 28,
	BHS_MAX_CMD_SN = 32,
};

enum {
	FLAG_FINAL = 0x80,
	FLAG_CONTINUE = 0x40, /* C of Text and Login */
	FLAG_READ = 0x40,
	FLAG_WRITE = 0x20,
	FLAG_ACKNOWLEDGE = 0x40, /* A of Data-In */
	FLAG_BIDI_OVERFLOW = 0x10,
	FLAG_BIDI_UNDERFLOW = 0x08,
	FLAG_OVERFLOW = 0x04,
	FLAG_UNDERFLOW = 0x02,
	FLAG_STATUS = 0x01, /* S of Data-In */
	OPCODE_MASK = 0x3f,
	OPCODE_IMMEDIATE = 0x40,
};

int pdu_command_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_command_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_response_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_response_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_tmf_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_tmf_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_tmf_response_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_tmf_response_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_data_out_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_data_out_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_data_in_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_data_in_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_r2t_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_r2t_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_snack_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_snack_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_login_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_login_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_login_response_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_login_response_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_text_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_text_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_logout_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_logout_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_logout_response_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_logout_response_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_nop_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_nop_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_reject_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_reject_encode(const struct iscsi_pdu *p, uint8_t *b);
int pdu_async_decode(const uint8_t *b, struct iscsi_pdu *p);
void pdu_async_encode(const struct iscsi_pdu *p, uint8_t *b);
