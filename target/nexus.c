/* I_T_L nexuses, and the unit attentions of each (SAM-5 section 5.14): see device.h. Made and freed
 * by the session, on its loop. */
#include "target/device.h"

#include <errno.h>
#include <stdio.h>

#include "common/base/alloc.h"
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
	nexus_attention(n, 0x29, 0x00);
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
static unsigned queue_attention(
	struct nexus_attention *queue, unsigned count, uint8_t asc, uint8_t ascq)
{
	for (unsigned i = 0; i < count; i++)
		if (queue[i].asc == asc && queue[i].ascq == ascq)
			return count;
	if (count == DEVICE_ATTENTIONS_MAX) {
		memmove(queue, queue + 1, (count - 1) * sizeof(*queue));
		count--;
	}
	queue[count] = (struct nexus_attention){asc, ascq};
	return count + 1;
}

void nexus_attention(struct nexus *n, uint8_t asc, uint8_t ascq)
{
	n->attention_count = queue_attention(n->attentions, n->attention_count, asc, ascq);
}

void nexus_attention_post(struct nexus *n, uint8_t asc, uint8_t ascq)
{
	n->posted_count = queue_attention(n->posted, n->posted_count, asc, ascq);
	atomic_store_explicit(&n->attention_posted, true, memory_order_release);
}

static void take_posted(struct nexus *n)
{
	if (!atomic_load_explicit(&n->attention_posted, memory_order_acquire))
		return;
	pthread_mutex_lock(&n->device->lock);
	for (unsigned i = 0; i < n->posted_count; i++)
		nexus_attention(n, n->posted[i].asc, n->posted[i].ascq);
	n->posted_count = 0;
	atomic_store_explicit(&n->attention_posted, false, memory_order_release);
	pthread_mutex_unlock(&n->device->lock);
}

bool nexus_attention_take(struct nexus *n, struct nexus_attention *ret)
{
	take_posted(n);
	if (!n->attention_count)
		return false;
	*ret = n->attentions[0];
	n->attention_count--;
	memmove(n->attentions, n->attentions + 1, n->attention_count * sizeof(*n->attentions));
	return true;
}
