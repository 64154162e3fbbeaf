/* Growing pools of the iSCSI/TCP mover. Used by the files beside it. */
#include "common/datamover/tcp_slab.h"

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "common/base/poison.h"

#define SLAB_ALIGNMENT 64 /* a cache line */

struct link {
	struct link *next;
};

void tcp_slab_init(struct tcp_slab *s, size_t size, size_t per_chunk)
{
	*s = (struct tcp_slab){.size = round_up(size, SLAB_ALIGNMENT), .per_chunk = per_chunk};
}

void tcp_slab_release(struct tcp_slab *s)
{
	struct link *chunk = s->chunks;

	while (chunk) {
		struct link *next = chunk->next;

		unpoison(chunk, SLAB_ALIGNMENT + s->size * s->per_chunk);
		alloc_free(chunk);
		chunk = next;
	}
	s->chunks = s->free = NULL;
}

static void slab_grow(struct tcp_slab *s)
{
	uint8_t *chunk = alloc_aligned(SLAB_ALIGNMENT, SLAB_ALIGNMENT + s->size * s->per_chunk);

	if (!chunk)
		return;
	((struct link *)chunk)->next = s->chunks;
	s->chunks = chunk;
	for (size_t i = s->per_chunk; i-- > 0;)
		tcp_slab_put(s, chunk + SLAB_ALIGNMENT + i * s->size);
}

void *tcp_slab_get(struct tcp_slab *s)
{
	struct link *object;

	if (!s->free)
		slab_grow(s);
	object = s->free;
	if (!object)
		return NULL;
	unpoison(object, s->size);
	s->free = object->next;
	return object;
}

void tcp_slab_put(struct tcp_slab *s, void *object)
{
	struct link *link = object;

	link->next = s->free;
	s->free = link;
	poison(object, s->size);
}
