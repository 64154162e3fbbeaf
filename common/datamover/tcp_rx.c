/* Bytes in: one large recv into the mover's staging buffer, or, for the rest of a long data
 * segment, straight into its final place with the staging buffer behind it; the stream cuts them
 * into PDUs; one table row per opcode says where its data goes and who takes it. */
#include <errno.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "common/datamover/tcp_internal.h"

/* What a row says of a PDU with a given opcode, at one end. */
struct rx_row {
	/* The header is there: names the place of the data. NULL: the control buffer. */
	void (*header)(struct tcp_conn *c);
	/* The whole PDU is there. NULL: passed up as it is. */
	void (*done)(struct tcp_conn *c);
};

static const struct rx_row target_rows[64] = {
	[ISCSI_SCSI_COMMAND] = {NULL, tcp_target_command},
	[ISCSI_DATA_OUT] = {tcp_data_out_header, tcp_data_out_done},
};

static const struct rx_row initiator_rows[64] = {
	[ISCSI_DATA_IN] = {tcp_data_in_header, tcp_data_in_done},
	[ISCSI_SCSI_RESPONSE] = {NULL, tcp_initiator_response},
	[ISCSI_R2T] = {NULL, tcp_initiator_r2t},
};

static const struct rx_row *row_of(const struct tcp_conn *c)
{
	return &(c->target ? target_rows : initiator_rows)[c->rx.pdu.opcode];
}

int tcp_rx_reserve(struct tcp_conn *c, uint32_t size)
{
	uint8_t *data;

	if (size <= c->control_capacity)
		return 0;
	data = alloc_zeroed(size);
	if (!data)
		return -ENOMEM;
	/* An upcall may be looking at the old buffer, or a segment be on its way there: it stays
	 * until the next segment begins. */
	if (c->control_old)
		alloc_free(c->control_data);
	else
		c->control_old = c->control_data;
	c->control_data = data;
	c->control_capacity = size;
	return 0;
}

void tcp_rx_notify(struct tcp_conn *c, const struct iscsi_pdu *pdu, int error, struct dm_task *task)
{
	c->dm.up->control_notify(c->dm.owner, pdu, c->rx.header, error, iscsi_rx_ahs(&c->rx),
		c->rx.pdu.data_length ? c->rx_data : NULL, task);
}

/* A control PDU's data is left where it is when it lies whole in the staging buffer. */
static void rx_header(struct tcp_conn *c, uint8_t *staged, size_t length)
{
	const struct rx_row *row = row_of(c);

	if (row->header) {
		row->header(c);
		return;
	}
	alloc_free(c->control_old);
	c->control_old = NULL;
	c->rx_data = staged && length >= iscsi_rx_body_size(&c->rx) ? staged : c->control_data;
	iscsi_rx_place(&c->rx, (void *)c->rx_data);
}

static void rx_pdu(struct tcp_conn *c)
{
	const struct rx_row *row = row_of(c);

	c->pdus_received++;
	/* At error recovery level 0 nothing can be asked for again (section 7.8): a Data-Out fails
	 * its task, any other PDU the connection. */
	if (c->rx.data_digest_bad && !(c->target && c->rx.pdu.opcode == ISCSI_DATA_OUT)) {
		tcp_conn_fail(c, -EBADMSG, "bad data digest");
		return;
	}
	if (!c->rx.pdu.data_length && row->header)
		row->header(c);
	if (c->phase != TCP_OPEN)
		return;
	if (row->done)
		row->done(c);
	else
		tcp_rx_notify(c, &c->rx.pdu, c->rx.decode_error, NULL);
}

static const char *rx_error_text(int error)
{
	return error == -EBADMSG ? "bad header digest" : "a PDU longer than was declared";
}

/* One event of the stream. `staged` is what follows it in the staging buffer. */
static void rx_event(struct tcp_conn *c, int event, uint8_t *staged, size_t length)
{
	if (event < 0)
		tcp_conn_fail(c, event, rx_error_text(event));
	else if (event == ISCSI_RX_HEADER)
		rx_header(c, staged, length);
	else if (event == ISCSI_RX_PDU)
		rx_pdu(c);
}

static void rx_feed(struct tcp_conn *c, uint8_t *bytes, size_t length)
{
	while (length && c->phase == TCP_OPEN) {
		size_t used;
		int event = iscsi_rx_feed(&c->rx, bytes, length, &used);

		bytes += used;
		length -= used;
		rx_event(c, event, bytes, length);
	}
}

static void rx_end(struct tcp_conn *c, ssize_t n)
{
	if (n == 0 && iscsi_rx_idle(&c->rx))
		tcp_conn_fail(c, 0, "closed by the peer");
	else if (n == 0)
		tcp_conn_fail(c, -ECONNRESET, "closed by the peer within a PDU");
	else if (errno != EAGAIN && errno != EINTR)
		tcp_conn_fail(c, -errno, "cannot receive from the peer");
}

/* One recvmsg. True when the socket may have more. */
static bool rx_read(struct tcp_conn *c)
{
	uint8_t *staging = c->mover->staging;
	struct iovec iov[2] = {{NULL, 0}, {staging, TCP_STAGING_SIZE}};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};
	size_t direct;
	ssize_t n;

	if (iscsi_rx_data_left(&c->rx) >= TCP_DIRECT_MIN) {
		iov[0].iov_len = iscsi_rx_want(&c->rx, &iov[0].iov_base);
		iov[1].iov_len = TCP_DIRECT_TAIL;
	} else {
		m = (struct msghdr){.msg_iov = iov + 1, .msg_iovlen = 1};
	}
	n = sys_recvmsg(c->watch.fd, &m, MSG_DONTWAIT);
	if (n <= 0) {
		rx_end(c, n);
		return false;
	}
	c->bytes_received += (uint64_t)n;
	direct = min_size((size_t)n, iov[0].iov_len);
	if (direct)
		rx_event(c, iscsi_rx_got(&c->rx, direct), NULL, 0);
	rx_feed(c, staging, (size_t)n - direct);
	return (size_t)n == iov[0].iov_len + iov[1].iov_len;
}

void tcp_rx_ready(struct tcp_conn *c)
{
	for (int i = 0; i < TCP_READS_PER_TURN; i++)
		if (!rx_read(c) || c->phase != TCP_OPEN)
			return;
}
