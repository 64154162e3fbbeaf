/* Send_Control (RFC 5047 section 7.1.3): PDUs that come from above, copied, in order with the data
 * transfers. Called through the table of tcp.c. */
#include <errno.h>

#include "common/base/alloc.h"
#include "common/datamover/tcp_internal.h"

static bool control_next(struct tcp_conn *c, struct tcp_item *item, struct iscsi_pdu *pdu,
	const void **ret_ahs, const void **ret_data, uint32_t *ret_length)
{
	(void)c;
	*pdu = item->control.pdu;
	*ret_ahs = item->control.payload;
	*ret_data = item->control.data;
	*ret_length = item->length;
	return true;
}

static struct tcp_slab *payload_slab(struct tcp_conn *c, uint32_t size)
{
	return size == TCP_PAYLOAD_SMALL ? &c->mover->payload_small : &c->mover->payload_large;
}

static void control_over(struct tcp_conn *c, struct tcp_item *item)
{
	if (item->control.payload)
		tcp_slab_put(payload_slab(c, item->control.payload_size), item->control.payload);
	if (item->task)
		tcp_initiator_task_of(item->task)->items--;
	alloc_free(item->control.copy);
	c->controls--;
	c->control_bytes -= item->control.payload_size;
}

const struct tcp_item_ops tcp_control_ops = {control_next, control_over};

/* Copies AHS and data, the one behind the other. */
static int payload_copy(
	struct tcp_conn *c, struct tcp_item *item, const void *ahs, const void *data)
{
	uint32_t ahs_length = item->control.pdu.ahs_words * 4u, size = ahs_length + item->length;

	if (!size)
		return 0;
	size = size <= TCP_PAYLOAD_SMALL ? TCP_PAYLOAD_SMALL : TCP_PAYLOAD_LARGE;
	item->control.payload = tcp_slab_get(payload_slab(c, size));
	if (!item->control.payload)
		return -ENOMEM;
	item->control.payload_size = size;
	item->control.data = item->control.payload + ahs_length;
	if (ahs_length)
		memcpy(item->control.payload, ahs, ahs_length);
	if (item->length)
		memcpy(item->control.payload + ahs_length, data, item->length);
	return 0;
}

/* The item holds one of the connection's places until control_over(). */
static int control_item(struct tcp_conn *c, const struct iscsi_pdu *pdu, const void *ahs,
	const void *data, struct tcp_item **ret)
{
	struct tcp_item *item = tcp_item_new(c, TCP_ITEM_CONTROL);

	if (!item)
		return -ENOMEM;
	item->control.pdu = *pdu;
	item->length = pdu->data_length;
	if (payload_copy(c, item, ahs, data)) {
		tcp_slab_put(&c->mover->items, item);
		return -ENOMEM;
	}
	c->controls++;
	c->control_bytes += item->control.payload_size;
	*ret = item;
	return 0;
}

static bool control_full(const struct tcp_conn *c)
{
	return c->controls >= TCP_CONTROLS_MAX || c->control_bytes >= TCP_CONTROL_BYTES_MAX;
}

static void control_response(struct tcp_task *t, struct tcp_item *item)
{
	struct iscsi_pdu *pdu = &item->control.pdu;

	if (pdu->opcode != ISCSI_SCSI_RESPONSE)
		return;
	t->responded = true;
	if (pdu->response.response == ISCSI_RESPONSE_COMPLETED)
		pdu->response.exp_data_sn = t->next_sn;
}

int tcp_send_control(struct dm_conn *dm, const struct iscsi_pdu *pdu, const void *ahs,
	const void *data, struct dm_task *task)
{
	struct tcp_conn *c = tcp_conn_of(dm);
	bool command = !c->target && task && pdu->opcode == ISCSI_SCSI_COMMAND;
	struct tcp_task *t = c->target && task ? tcp_task_of(task) : NULL;
	struct tcp_item *item;
	int error;

	if (!tcp_conn_open(c))
		return -ENOTCONN;
	if (pdu->data_length > TCP_CONTROL_DATA_MAX)
		return -EMSGSIZE;
	if (t && tcp_put_collapse(c, t, pdu))
		return 0;
	if (control_full(c)) {
		tcp_conn_fail(c, -ENOBUFS, "the peer does not take what is queued for it");
		return -ENOBUFS;
	}
	error = control_item(c, pdu, ahs, data, &item);
	if (error) {
		tcp_conn_fail(c, error, "no memory for a PDU to send");
		return error;
	}
	if (t)
		control_response(t, item);
	if (command)
		tcp_initiator_command(c, task, item);
	tcp_item_queue(c, item);
	c->status_sequence = item->sequence;
	return 0;
}
