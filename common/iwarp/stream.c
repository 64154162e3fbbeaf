/* The stream as a whole: made, freed, STags revoked, requests taken back. See stream.h; the halves
 * are stream_rx.c and stream_tx.c. */
#include "common/iwarp/stream.h"

#include <errno.h>

#include "common/base/alloc.h"
#include "common/iwarp/stream_state.h"

int iwarp_stream_new(const struct iwarp_stream_config *config, struct iwarp_stream **ret)
{
	struct iwarp_stream *s =
		alloc_zeroed(sizeof(*s) + config->reads_in * sizeof(s->response[0]));

	if (!s)
		return -ENOMEM;
	s->config = *config;
	iwarp_rx_init(s);
	iwarp_tx_init(s);
	*ret = s;
	return 0;
}

void iwarp_stream_free(struct iwarp_stream *s)
{
	alloc_free(s);
}

enum rdmap_fault iwarp_stream_fault(const struct iwarp_stream *s)
{
	return s->fault;
}

const struct rdmap_terminate *iwarp_stream_terminated(const struct iwarp_stream *s)
{
	return s->terminated ? &s->terminate : NULL;
}

/* A Write through `stag` has begun to arrive, and its bytes go straight to the memory. */
static bool rx_uses(const struct iwarp_stream *s, uint32_t stag)
{
	return s->rx.phase == RX_PAYLOAD && s->rx.opcode == RDMAP_WRITE &&
	       s->rx.segment.tag.stag == stag;
}

int iwarp_stream_revoke(struct iwarp_stream *s, uint32_t stag)
{
	if (stag_remove(s->config.stags, s->config.domain, stag))
		return 0;
	if (iwarp_tx_uses(s, stag)) {
		/* The FPDU's end cannot be sent without the memory, so no Terminate can follow. */
		iwarp_tx_cut(s);
		s->fault = FAULT_READ_STAG;
		return -EBUSY;
	}
	if (rx_uses(s, stag)) {
		s->fault = FAULT_TAG_STAG;
		return -EBUSY;
	}
	return 0;
}

struct iwarp_message *iwarp_stream_take(struct iwarp_stream *s)
{
	struct list *first = list_pop(&s->tx.order);
	struct iwarp_message *m = first ? list_entry(first, struct iwarp_message, order) : NULL;

	if (m)
		list_remove(&m->link);
	return m;
}
