/* Requests that came before their turn (RFC 7143 section 4.2.2.1): inside the command window, but
 * with an earlier CmdSN still missing. On the one connection of a session this happens only where
 * an initiator numbers its requests out of order; then they wait here, within a bound. Called by
 * session.c. */
#include <errno.h>
#include <string.h>

#include "common/base/alloc.h"
#include "target/session_state.h"

/* What one initiator can make us hold in this way. */
#define EARLY_BYTES_MAX ((size_t)1 << 20)

static size_t ahs_size(const struct iscsi_pdu *pdu)
{
	return (size_t)pdu->ahs_words * 4;
}

static struct tgt_early *early_new(const struct tgt_request *r)
{
	size_t ahs = ahs_size(r->pdu);
	struct tgt_early *e = alloc_zeroed(sizeof(*e) + ahs + r->pdu->data_length);

	if (!e)
		return NULL;
	e->pdu = *r->pdu;
	e->decode_error = r->decode_error;
	e->task = r->task;
	e->size = ahs + r->pdu->data_length;
	memcpy(e->bhs, r->bhs, sizeof(e->bhs));
	if (r->ahs && ahs)
		memcpy(e->bytes, r->ahs, ahs);
	if (r->data && r->pdu->data_length)
		memcpy(e->bytes + ahs, r->data, r->pdu->data_length);
	return e;
}

/* Behind all with an earlier CmdSN; NULL when one with this CmdSN is there. */
static struct list *early_place(struct tgt_session *s, uint32_t cmd_sn)
{
	struct tgt_early *e;

	list_for_each(e, &s->early, link) {
		if (e->pdu.cmd_sn == cmd_sn)
			return NULL;
		if (sn_before(cmd_sn, e->pdu.cmd_sn))
			return &e->link;
	}
	return &s->early;
}

int tgt_early_hold(struct tgt_session *s, const struct tgt_request *r)
{
	struct list *place = early_place(s, r->pdu->cmd_sn);
	size_t size = sizeof(struct tgt_early) + ahs_size(r->pdu) + r->pdu->data_length;
	struct tgt_early *e;

	if (!place)
		return -EEXIST;
	if (s->early_bytes + size > EARLY_BYTES_MAX)
		return -ENOBUFS;
	e = early_new(r);
	if (!e)
		return -ENOMEM;
	list_insert_before(place, &e->link);
	s->early_bytes += sizeof(*e) + e->size;
	return 0;
}

struct tgt_early *tgt_early_next(struct tgt_session *s)
{
	struct tgt_early *e = list_first(&s->early, struct tgt_early, link);

	if (list_empty(&s->early) || window_arrive(&s->window, e->pdu.cmd_sn) != WINDOW_NOW)
		return NULL;
	list_remove(&e->link);
	return e;
}

void tgt_early_free(struct tgt_session *s, struct tgt_early *e)
{
	s->early_bytes -= sizeof(*e) + e->size;
	alloc_free(e);
}

void tgt_early_drop(struct tgt_session *s)
{
	struct list *node;

	while ((node = list_pop(&s->early))) {
		struct tgt_early *e = list_entry(node, struct tgt_early, link);

		if (e->task && s->conn)
			dm_deallocate_task_resources(s->conn->dm, e->task);
		tgt_early_free(s, e);
	}
}
