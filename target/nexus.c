/* I_T_L nexuses, and the unit attentions of each (SAM-5 section 5.14): see device.h. Made and freed
 * by the session, on its loop. */
#include "target/device.h"

#include <errno.h>
#include <stdio.h>

#include "common/base/alloc.h"
#include "common/scsi/sense.h"
#include "target/abort.h"
#include "target/reservations.h"

int nexus_new(struct device *d, struct loop *l, struct backend_channel *channel, void *session,
	const char *initiator_port, struct nexus **ret)
{
	struct nexus *n = alloc_zeroed(sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->device = d;
	n->loop = l;
	n->channel = channel;
	n->session = session;
	snprintf(n->initiator_port, sizeof(n->initiator_port), "%s", initiator_port);
	list_init(&n->commands);
	list_init(&n->abort_parts);
	nexus_attention(n, ASC_POWER_ON_RESET_OR_BUS_DEVICE_RESET);
	pthread_mutex_lock(&d->lock);
	n->id = d->next_nexus_id++;
	list_append(&d->nexuses, &n->device_link);
	pthread_mutex_unlock(&d->lock);
	*ret = n;
	return 0;
}

void nexus_free(struct nexus *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->device->lock);
	list_remove(&n->device_link);
	reservation_nexus_lost(n->device, n);
	pthread_mutex_unlock(&n->device->lock);
	abort_parts_nexus_gone(n);
	alloc_free(n);
}

/* The same attention is pending once; when there is no room the oldest gives way, being the one
 * that the initiator has had most time to fetch. Returns the new count. */
static unsigned queue_attention(uint16_t *queue, unsigned count, uint16_t code)
{
	for (unsigned i = 0; i < count; i++)
		if (queue[i] == code)
			return count;
	if (count == DEVICE_ATTENTIONS_MAX) {
		memmove(queue, queue + 1, (count - 1) * sizeof(*queue));
		count--;
	}
	queue[count] = code;
	return count + 1;
}

void nexus_attention(struct nexus *n, uint16_t code)
{
	n->attention_count = queue_attention(n->attentions, n->attention_count, code);
}

void nexus_attention_post(struct nexus *n, uint16_t code)
{
	n->posted_count = queue_attention(n->posted, n->posted_count, code);
	atomic_store_explicit(&n->attention_posted, true, memory_order_release);
}

static void take_posted(struct nexus *n)
{
	if (!atomic_load_explicit(&n->attention_posted, memory_order_acquire))
		return;
	pthread_mutex_lock(&n->device->lock);
	for (unsigned i = 0; i < n->posted_count; i++)
		nexus_attention(n, n->posted[i]);
	n->posted_count = 0;
	atomic_store_explicit(&n->attention_posted, false, memory_order_release);
	pthread_mutex_unlock(&n->device->lock);
}

static void remove_attention(struct nexus *n, unsigned i)
{
	n->attention_count--;
	memmove(n->attentions + i, n->attentions + i + 1,
		(n->attention_count - i) * sizeof(*n->attentions));
}

bool nexus_attention_take(struct nexus *n, uint16_t *ret_code)
{
	take_posted(n);
	if (!n->attention_count)
		return false;
	*ret_code = n->attentions[0];
	remove_attention(n, 0);
	return true;
}

void nexus_attention_drop(struct nexus *n, uint16_t code)
{
	take_posted(n);
	for (unsigned i = 0; i < n->attention_count; i++)
		if (n->attentions[i] == code) {
			remove_attention(n, i);
			return;
		}
}
