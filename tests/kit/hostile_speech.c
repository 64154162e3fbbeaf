/* See hostile.h: what any peer must be able to say before it can be hostile. */
#include "common/iscsi/keys.h"
#include "tests/kit/hostile.h"

#define LOGIN_ITT 0x00000042u
#define FULL_LOGIN 0x87 /* T, from operational to full-feature */

static const struct iser_header plain = {.opcode = ISER_CONTROL};

void hostile_mpa(struct hostile *h)
{
	const struct mpa_frame f = {.kind = h->target ? MPA_REPLY : MPA_REQUEST,
		.revision = 2,
		.enhanced = true,
		.crc = h->crc,
		.ird = 16,
		.ord = 16};
	uint8_t out[MPA_FRAME_MAX];
	int n;

	if (!h->rdma)
		return;
	n = mpa_frame_encode(&f, out, sizeof(out));
	assert_true(n > 0);
	hostile_bytes(h, out, (size_t)n);
	hostile_settle(h);
	assert_true(h->mpa_done);
}

/* ---- the initiator's side ---- */

void hostile_login_bhs(const struct hostile *h, uint8_t bhs[ISCSI_BHS_SIZE], uint8_t flags)
{
	memset(bhs, 0, ISCSI_BHS_SIZE);
	bhs[0] = 0x43;
	bhs[1] = flags;
	bhs[8] = 0x80; /* ISID: random, qualifier */
	bhs[13] = 0x77;
	put_be32(bhs + 16, LOGIN_ITT);
	put_be32(bhs + 24, h->cmd_sn);
	put_be32(bhs + 28, h->exp_stat_sn);
}

void hostile_login_request(struct hostile *h, uint8_t flags, const void *text, size_t length)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_login_bhs(h, bhs, flags);
	hostile_pdu(h, bhs, text, length);
	hostile_settle(h);
}

static void login(struct hostile *h, const char *text, size_t length)
{
	hostile_mpa(h);
	hostile_login_request(h, FULL_LOGIN, text, length);
	assert_int_equal(h->pdu.opcode, ISCSI_LOGIN_RESPONSE);
	assert_int_equal(h->pdu.login_response.status_class, 0);
	assert_true(h->pdu.login_response.transit);
	hostile_forget(h);
}

void hostile_login(struct hostile *h)
{
	static const char tcp[] = "InitiatorName=" HOSTILE_NAME "\0TargetName=" TWO_ENDS_IQN
				  "\0MaxRecvDataSegmentLength=8192\0ImmediateData=Yes";
	static const char iser[] = "InitiatorName=" HOSTILE_NAME "\0TargetName=" TWO_ENDS_IQN
				   "\0RDMAExtensions=Yes\0InitiatorRecvDataSegmentLength=8192"
				   "\0TargetRecvDataSegmentLength=8192\0ImmediateData=Yes";

	if (h->rdma)
		login(h, iser, sizeof(iser));
	else
		login(h, tcp, sizeof(tcp));
}

void hostile_login_discovery(struct hostile *h)
{
	static const char text[] = "InitiatorName=" HOSTILE_NAME "\0SessionType=Discovery";

	login(h, text, sizeof(text));
}

void hostile_bhs(
	struct hostile *h, uint8_t bhs[ISCSI_BHS_SIZE], uint8_t opcode, uint8_t byte1, uint32_t itt)
{
	memset(bhs, 0, ISCSI_BHS_SIZE);
	bhs[0] = opcode;
	bhs[1] = byte1;
	put_be32(bhs + 16, itt);
	put_be32(bhs + 24, h->cmd_sn);
	put_be32(bhs + 28, h->exp_stat_sn);
	if (!(opcode & 0x40) && opcode != ISCSI_DATA_OUT && opcode != ISCSI_SNACK_REQUEST)
		h->cmd_sn++;
}

void hostile_ping(struct hostile *h, uint32_t itt)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_bhs(h, bhs, ISCSI_NOP_OUT, 0x80, itt);
	put_be32(bhs + 20, ISCSI_TAG_NONE);
	hostile_pdu(h, bhs, NULL, 0);
	hostile_settle(h);
}

void hostile_command(struct hostile *h, uint32_t itt, uint8_t flags, uint32_t length,
	const uint8_t cdb[16], const void *data, size_t n)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_bhs(h, bhs, ISCSI_SCSI_COMMAND, flags, itt);
	put_be32(bhs + 20, length);
	memcpy(bhs + 32, cdb, 16);
	hostile_pdu(h, bhs, data, n);
	h->advertise = plain;
	hostile_settle(h);
}

void hostile_rw(struct hostile *h, uint32_t itt, bool write, unsigned blocks)
{
	uint8_t cdb[16] = {write ? 0x2a : 0x28};

	put_be16(cdb + 7, (uint16_t)blocks);
	hostile_command(h, itt, write ? 0xa1 : 0xc1, blocks * 512, cdb, NULL, 0);
}

/* ---- the target's side ---- */

void hostile_login_response(
	struct hostile *h, uint8_t flags, unsigned status, const void *text, size_t length)
{
	uint8_t bhs[ISCSI_BHS_SIZE] = {ISCSI_LOGIN_RESPONSE, flags};

	memcpy(bhs + 8, h->pdu.login.isid.bytes, 6);
	if ((flags & 0x83) == 0x83)
		put_be16(bhs + 14, 7); /* TSIH */
	put_be32(bhs + 16, h->pdu.itt);
	put_be32(bhs + 24, h->stat_sn++);
	put_be32(bhs + 28, h->pdu.cmd_sn);
	put_be32(bhs + 32, h->pdu.cmd_sn + 31);
	put_be16(bhs + 36, (uint16_t)status);
	hostile_pdu(h, bhs, text, length);
	hostile_settle(h);
}

void hostile_accept(struct hostile *h)
{
	static const char security[] = "TargetPortalGroupTag=1\0AuthMethod=None";
	static const char tcp[] = "MaxRecvDataSegmentLength=65536";
	static const char iser[] = "RDMAExtensions=Yes\0InitiatorRecvDataSegmentLength=8192"
				   "\0TargetRecvDataSegmentLength=8192";
	struct ini_session_config config = hostile_config(h);

	hostile_await(h, &config);
	hostile_mpa(h);
	hostile_login_response(h, 0x81, 0, security, sizeof(security));
	if (h->rdma)
		hostile_login_response(h, 0x87, 0, iser, sizeof(iser));
	else
		hostile_login_response(h, 0x87, 0, tcp, sizeof(tcp));
	assert_int_equal(h->session.logged_in, 1);
	hostile_forget(h);
}

void hostile_answer(
	struct hostile *h, uint8_t bhs[ISCSI_BHS_SIZE], uint8_t opcode, uint8_t byte1, uint32_t itt)
{
	memset(bhs, 0, ISCSI_BHS_SIZE);
	bhs[0] = opcode;
	bhs[1] = byte1;
	put_be32(bhs + 16, itt);
	put_be32(bhs + 24, h->stat_sn++);
	put_be32(bhs + 28, h->pdu.cmd_sn + 1);
	put_be32(bhs + 32, h->pdu.cmd_sn + 32);
}

void hostile_begin_task(struct hostile *h, bool write, unsigned blocks)
{
	if (!h->memory)
		h->memory = malloc(HOSTILE_DATA);
	assert_non_null(h->memory);
	memset(h->memory, 0x5a, HOSTILE_DATA);
	if (write)
		two_task_write(&h->task, 0, 0, blocks, h->memory, NULL);
	else
		two_task_read(&h->task, 0, 0, blocks, h->memory, NULL);
	two_task_submit(&h->session, &h->task);
	hostile_settle(h);
	assert_int_equal(h->pdu.opcode, ISCSI_SCSI_COMMAND);
	hostile_forget(h);
}
