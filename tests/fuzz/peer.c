/* See peer.h.
 *
 * A record is a kind, and by its low two bits
 *   0  a PDU: fixes, flags of the iSER header where it goes over iWARP, BHS (48), AHS where the BHS
 *      says so, length (2), so many bytes of data
 *   1  raw bytes: length (2), so many bytes
 *   2  an FPDU: fixes, length (2), so many bytes of ULPDU; over TCP as 1
 *   3  an FPDU that answers the last Read Request with so many bytes as it asks for; over TCP a
 *      Data-Out or Data-In that carries all of the last R2T or command */
#include "tests/fuzz/peer.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/crc32c.h"
#include "common/iwarp/ddp.h"
#include "common/iwarp/mpa.h"
#include "common/iwarp/rdmap.h"

#define DATA_MAX 32768

void peer_open(struct peer *p, int fd, bool rdma, bool initiator)
{
	peer_close(p);
	*p = (struct peer){.fd = fd,
		.rdma = rdma,
		.initiator = initiator,
		.in = malloc(PEER_IN),
		.cmd_sn = 1,
		.stat_sn = 1,
		.msn = {1, 1, 1, 1}};
}

void peer_close(struct peer *p)
{
	if (p->in)
		close(p->fd);
	free(p->in);
	*p = (struct peer){.fd = -1};
}

/* ---- reading ---- */

static void got_command(struct peer *p, const struct iscsi_pdu *pdu, const struct iser_header *tags)
{
	p->commands[p->command_count++ % PEER_REMEMBERS] = (struct peer_command){
		.itt = pdu->itt, .length = pdu->command.expected_length, .tags = *tags};
}

static void got_pdu(struct peer *p, const uint8_t *bhs, const uint8_t *data, size_t n,
	const struct iser_header *tags)
{
	struct iscsi_pdu pdu;

	if (iscsi_pdu_decode(bhs, &pdu) < 0)
		return;
	if (p->initiator) {
		p->exp_stat_sn = pdu.stat_sn + 1;
		if (pdu.opcode == ISCSI_R2T) {
			p->r2t.ttt = pdu.r2t.ttt;
			p->r2t.offset = pdu.r2t.offset;
			p->r2t.length = pdu.r2t.length;
		}
	} else {
		p->exp_cmd_sn = pdu.cmd_sn + (pdu.immediate ? 0 : 1);
		if (pdu.opcode == ISCSI_SCSI_COMMAND)
			got_command(p, &pdu, tags);
		else if (pdu.itt != ISCSI_TAG_NONE)
			p->itt = pdu.itt;
	}
	p->pdu = pdu;
	p->pdu.data_length = (uint32_t)min_size(n, sizeof(p->data));
	if (n)
		memcpy(p->data, data, p->pdu.data_length);
	p->pdus++;
}

/* The length of the PDU at the front; 0: not all of it is there. */
static size_t take_pdu(struct peer *p)
{
	static const struct iser_header none = {.opcode = ISER_CONTROL};
	size_t header, data, whole;

	if (p->used < ISCSI_BHS_SIZE)
		return 0;
	header = ISCSI_BHS_SIZE + p->in[4] * 4u + (p->digests ? ISCSI_DIGEST_SIZE : 0);
	data = get_be24(p->in + 5);
	whole = header + round_up(data, 4) + (p->digests && data ? ISCSI_DIGEST_SIZE : 0);
	if (p->used < whole)
		return 0;
	got_pdu(p, p->in, p->in + header, data, &none);
	return whole;
}

static void got_send(struct peer *p, const uint8_t *bytes, size_t n)
{
	struct iser_header tags;

	if (n < ISER_HEADERS_SIZE || iser_header_decode(bytes, &tags) < 0)
		return;
	got_pdu(p, bytes + ISER_HEADER_SIZE, bytes + ISER_HEADERS_SIZE, n - ISER_HEADERS_SIZE,
		&tags);
}

static void got_read_request(struct peer *p, const uint8_t *bytes)
{
	struct rdmap_read r;

	rdmap_read_decode(bytes, &r);
	p->read.sink_stag = r.sink_stag;
	p->read.length = r.size;
	p->read.source_stag = r.source_stag;
	p->read.sink_offset = r.sink_offset;
	p->read.source_offset = r.source_offset;
}

static size_t take_fpdu(struct peer *p)
{
	size_t n, whole;
	const uint8_t *ulpdu = p->in + MPA_LENGTH_SIZE;

	if (p->used < MPA_LENGTH_SIZE)
		return 0;
	n = get_be16(p->in);
	whole = MPA_LENGTH_SIZE + n + mpa_pad((uint32_t)n) + MPA_CRC_SIZE;
	if (p->used < whole)
		return 0;
	if (n < DDP_UNTAGGED_SIZE || (ulpdu[0] & 0x80))
		return whole;
	if ((ulpdu[1] & 0xf) == RDMAP_READ_REQUEST &&
		n >= DDP_UNTAGGED_SIZE + RDMAP_READ_HEADER_SIZE)
		got_read_request(p, ulpdu + DDP_UNTAGGED_SIZE);
	else if ((ulpdu[1] & 0xf) >= RDMAP_SEND && (ulpdu[1] & 0xf) <= RDMAP_SEND_SE_INVALIDATE)
		got_send(p, ulpdu + DDP_UNTAGGED_SIZE, n - DDP_UNTAGGED_SIZE);
	return whole;
}

static size_t take_mpa(struct peer *p)
{
	int whole;

	if (p->used < MPA_FIXED_SIZE)
		return 0;
	whole = mpa_frame_length(p->in, p->initiator ? MPA_REPLY : MPA_REQUEST);
	if (whole < 0 || p->used < (size_t)whole)
		return 0;
	p->mpa_done = true;
	return (size_t)whole;
}

static size_t take(struct peer *p)
{
	if (!p->rdma)
		return take_pdu(p);
	return p->mpa_done ? take_fpdu(p) : take_mpa(p);
}

void peer_read(struct peer *p)
{
	ssize_t n;
	size_t front;

	while (p->in && (n = recv(p->fd, p->in + p->used, PEER_IN - p->used, MSG_DONTWAIT)) > 0) {
		p->used += (size_t)n;
		while ((front = take(p))) {
			p->used -= front;
			memmove(p->in, p->in + front, p->used);
		}
		/* What no PDU ends in is thrown away: only the memory is bounded here. */
		if (p->used == PEER_IN)
			p->used = 0;
	}
}

/* ---- writing ---- */

void peer_write(struct peer *p, const void *bytes, size_t n)
{
	if (p->in && n)
		(void)!send(p->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void fix_sn(struct peer *p, uint8_t *bhs)
{
	if (p->initiator) {
		put_be32(bhs + 24, p->cmd_sn);
		put_be32(bhs + 28, p->exp_stat_sn);
		p->cmd_sn += !(bhs[0] & 0x40) && (bhs[0] & 0x3f) != ISCSI_DATA_OUT;
		return;
	}
	put_be32(bhs + 24, p->stat_sn);
	put_be32(bhs + 28, p->exp_cmd_sn);
	put_be32(bhs + 32, p->exp_cmd_sn + 32);
	p->stat_sn +=
		(bhs[0] & 0x3f) != ISCSI_R2T && ((bhs[0] & 0x3f) != ISCSI_DATA_IN || (bhs[1] & 1));
}

static const struct peer_command *command_of(const struct peer *p, unsigned number)
{
	static const struct peer_command none;

	if (!p->command_count)
		return &none;
	return &p->commands[number % min_size(p->command_count, PEER_REMEMBERS)];
}

static bool of_scsi(uint8_t opcode)
{
	return opcode == ISCSI_SCSI_RESPONSE || opcode == ISCSI_DATA_IN || opcode == ISCSI_R2T;
}

static void fix_tag(struct peer *p, uint8_t *bhs)
{
	uint8_t opcode = bhs[0] & 0x3f;

	if (p->initiator && opcode == ISCSI_DATA_OUT)
		put_be32(bhs + 20, p->r2t.ttt);
	else if (p->initiator && opcode == ISCSI_NOP_OUT)
		put_be32(bhs + 20, p->pdu.opcode == ISCSI_NOP_IN ? p->pdu.nop.ttt : ISCSI_TAG_NONE);
	else if (!p->initiator)
		put_be32(bhs + 16, of_scsi(opcode) ? command_of(p, bhs[19])->itt : p->itt);
}

static void fix_pdu(struct peer *p, uint8_t fix, uint8_t *bhs, size_t length)
{
	uint8_t opcode;

	if (fix & PEER_IMMEDIATE)
		bhs[0] |= 0x40;
	opcode = bhs[0] & 0x3f;
	if (!(fix & PEER_LIE))
		put_be24(bhs + 5, (uint32_t)length);
	if (fix & PEER_FIX_SN)
		fix_sn(p, bhs);
	if (fix & PEER_FIX_TAG)
		fix_tag(p, bhs);
	if ((fix & PEER_FIX_OFFSET) && (opcode == ISCSI_DATA_OUT || opcode == ISCSI_DATA_IN))
		put_be32(bhs + 40, p->initiator ? p->r2t.offset : 0);
}

static size_t compose_header(uint8_t *out, const uint8_t *bhs, const void *ahs)
{
	size_t words = bhs[4];

	memcpy(out, bhs, ISCSI_BHS_SIZE);
	if (ahs)
		memcpy(out + ISCSI_BHS_SIZE, ahs, words * 4);
	return ISCSI_BHS_SIZE + (ahs ? words * 4 : 0);
}

/* Appends the digest of out[from, to). */
static size_t digest(uint8_t *out, size_t from, size_t to, bool bad)
{
	uint32_t crc = crc32c_update(0, out + from, to - from);

	put_le32(out + to, bad ? ~crc : crc);
	return to + ISCSI_DIGEST_SIZE;
}

static void send_tcp(
	struct peer *p, uint8_t fix, uint8_t *out, size_t header, const void *data, size_t length)
{
	size_t begin, end;

	if (p->digests)
		header = digest(out, 0, header, fix & PEER_BAD_HEADER_DIGEST);
	begin = header;
	end = begin + round_up(length, 4);
	memset(out + begin, 0, end - begin);
	if (length)
		memcpy(out + begin, data, length);
	if (p->digests && length)
		end = digest(out, begin, end, fix & PEER_BAD_DATA_DIGEST);
	peer_write(p, out, end);
}

void peer_send_fpdu(struct peer *p, uint8_t fix, uint8_t *ulpdu, size_t length)
{
	static uint8_t fpdu[MPA_LENGTH_SIZE + 65536 + MPA_TRAILER_MAX];
	bool tagged = length >= DDP_TAGGED_SIZE && (ulpdu[0] & 0x80);
	bool untagged = length >= DDP_UNTAGGED_SIZE && !(ulpdu[0] & 0x80);
	size_t pad = mpa_pad((uint32_t)length);

	if (tagged && (fix & PEER_FIX_STAG)) {
		const struct iser_header *tags = &command_of(p, ulpdu[5])->tags;

		put_be32(ulpdu + 2, tags->read_stag);
		put_be64(ulpdu + 6, tags->read_address + (get_be64(ulpdu + 6) & 0xffff));
	}
	if (tagged && (fix & PEER_FIX_SINK)) {
		put_be32(ulpdu + 2, p->read.sink_stag);
		put_be64(ulpdu + 6, p->read.sink_offset + (get_be64(ulpdu + 6) & 0xffff));
	}
	if (untagged && (fix & PEER_FIX_MSN)) {
		put_be32(ulpdu + 10, p->msn[ulpdu[9] & 3]);
		p->msn[ulpdu[9] & 3] += ulpdu[0] >> 6 & 1;
	}
	if (untagged && (fix & PEER_FIX_STAG))
		put_be32(ulpdu + 2, command_of(p, ulpdu[5])->tags.read_stag);
	if ((fix & PEER_FIX_SOURCE) && untagged &&
		length >= DDP_UNTAGGED_SIZE + RDMAP_READ_HEADER_SIZE) {
		const struct iser_header *tags = &command_of(p, ulpdu[37])->tags;

		put_be32(ulpdu + 34, tags->write_stag);
		put_be64(ulpdu + 38, tags->write_address + (get_be64(ulpdu + 38) & 0xffff));
	}
	put_be16(fpdu, (uint16_t)(length + (fix & PEER_WRONG_LENGTH ? 1 : 0)));
	memcpy(fpdu + 2, ulpdu, length);
	memset(fpdu + 2 + length, 0, pad + MPA_CRC_SIZE);
	peer_write(p, fpdu, MPA_LENGTH_SIZE + length + pad + MPA_CRC_SIZE);
}

void peer_send_pdu(struct peer *p, uint8_t fix, const uint8_t bhs[ISCSI_BHS_SIZE], const void *ahs,
	const void *data, size_t length, const struct iser_header *tags)
{
	static uint8_t out[DDP_UNTAGGED_SIZE + ISER_HEADERS_SIZE + ISCSI_AHS_MAX + DATA_MAX + 16];
	uint8_t copy[ISCSI_BHS_SIZE];
	size_t n, at = p->rdma ? DDP_UNTAGGED_SIZE + ISER_HEADER_SIZE : 0;

	length = min_size(length, DATA_MAX);
	memcpy(copy, bhs, sizeof(copy));
	fix_pdu(p, fix, copy, length);
	memset(out, 0, at);
	n = at + compose_header(out + at, copy, ahs);
	if (!p->rdma) {
		send_tcp(p, fix, out, n, data, length);
		return;
	}
	if (length)
		memcpy(out + n, data, length);
	out[0] = 0x41; /* last, version 1 */
	out[1] = 0x40 | RDMAP_SEND;
	iser_header_encode(tags, out + DDP_UNTAGGED_SIZE);
	peer_send_fpdu(p, PEER_FIX_MSN, out, n + length);
}

void peer_send_mpa(struct peer *p)
{
	const struct mpa_frame f = {.kind = p->initiator ? MPA_REQUEST : MPA_REPLY,
		.revision = 2,
		.enhanced = true,
		.ird = 16,
		.ord = 16};
	uint8_t out[MPA_FRAME_MAX];
	int n = mpa_frame_encode(&f, out, sizeof(out));

	peer_write(p, out, (size_t)n);
}

/* ---- records ---- */

/* Flags of the iSER header: 1, 2: tags for write and read; 4: those that a SCSI Command's W and R
 * ask for; high half: the opcode, 0 is Control. */
static struct iser_header record_tags(uint8_t flags, const uint8_t *bhs)
{
	bool command = (flags & 4) && (bhs[0] & 0x3f) == ISCSI_SCSI_COMMAND;

	return (struct iser_header){.opcode = flags >> 4 ? flags >> 4 : ISER_CONTROL,
		.write_valid = (flags & 1) || (command && (bhs[1] & 0x20)),
		.read_valid = (flags & 2) || (command && (bhs[1] & 0x40)),
		.write_stag = 0x100 + flags,
		.read_stag = 0x200 + flags,
		.write_address = 0x10000,
		.read_address = 0x20000};
}

static void record_pdu(struct peer *p, struct fuzz_input *in)
{
	uint8_t fix = fuzz_u8(in), flags = p->rdma ? fuzz_u8(in) : 0;
	uint8_t bhs[ISCSI_BHS_SIZE], ahs[ISCSI_AHS_MAX];
	struct iser_header tags;
	const uint8_t *data;
	size_t n;

	fuzz_fill(in, bhs, sizeof(bhs));
	fuzz_fill(in, ahs, bhs[4] * 4u);
	n = fuzz_take(in, fuzz_u16(in) % DATA_MAX, &data);
	tags = record_tags(flags, bhs);
	peer_send_pdu(p, fix, bhs, bhs[4] ? ahs : NULL, data, n, &tags);
}

static void record_raw(struct peer *p, struct fuzz_input *in)
{
	const uint8_t *bytes;
	size_t n = fuzz_take(in, fuzz_u16(in), &bytes);

	peer_write(p, bytes, n);
}

static void record_fpdu(struct peer *p, struct fuzz_input *in)
{
	static uint8_t ulpdu[65536];
	uint8_t fix = fuzz_u8(in);
	const uint8_t *bytes;
	size_t n = fuzz_take(in, fuzz_u16(in), &bytes);

	if (n)
		memcpy(ulpdu, bytes, n);
	peer_send_fpdu(p, fix, ulpdu, n);
}

static void answer_fpdu(struct peer *p)
{
	static uint8_t ulpdu[DDP_TAGGED_SIZE + DATA_MAX];
	size_t n = min_size(p->read.length, DATA_MAX);

	memset(ulpdu, 0x5a, sizeof(ulpdu));
	ulpdu[0] = 0xc1; /* tagged, last */
	ulpdu[1] = 0x40 | RDMAP_READ_RESPONSE;
	memset(ulpdu + 2, 0, DDP_TAGGED_SIZE - 2);
	peer_send_fpdu(p, PEER_FIX_SINK, ulpdu, DDP_TAGGED_SIZE + n);
}

static void answer_pdu(struct peer *p)
{
	static const uint8_t data[DATA_MAX];
	const struct peer_command *c = command_of(p, p->command_count - 1);
	uint8_t bhs[ISCSI_BHS_SIZE] = {p->initiator ? ISCSI_DATA_OUT : ISCSI_DATA_IN, 0x80};
	size_t n = min_size(p->initiator ? p->r2t.length : c->length, DATA_MAX);

	if (!p->initiator)
		bhs[1] |= 1; /* with status */
	bhs[19] = p->initiator ? 0 : (uint8_t)(p->command_count - 1);
	if (p->initiator)
		put_be32(bhs + 16,
			p->cmd_sn - 1); /* ITTs of the drivers' commands are their CmdSN */
	peer_send_pdu(p, PEER_FIX_SN | PEER_FIX_TAG | PEER_FIX_OFFSET, bhs, NULL, data, n,
		&(struct iser_header){.opcode = ISER_CONTROL});
}

void peer_record(struct peer *p, uint8_t kind, struct fuzz_input *in)
{
	switch (kind & 3) {
	case 0:
		record_pdu(p, in);
		break;
	case 1:
		record_raw(p, in);
		break;
	case 2:
		(p->rdma ? record_fpdu : record_raw)(p, in);
		break;
	default:
		(p->rdma ? answer_fpdu : answer_pdu)(p);
	}
}
