/* Equal objects that grow by chunks up to what was ever in use at once: what a mover keeps per PDU
 * and per transfer. In the steady state it never asks the heap; how many objects one peer can hold
 * is bounded by the limits of tcp_internal.h. One slab belongs to one mover, thus to one loop. */
#pragma once

#include <stddef.h>

struct tcp_slab {
	size_t size, per_chunk;
	void *free, *chunks; /* singly linked by their first word */
};

void tcp_slab_init(struct tcp_slab *s, size_t size, size_t per_chunk);
/* Frees the chunks; objects still out become invalid. */
void tcp_slab_release(struct tcp_slab *s);
/* An object with undefined content; NULL when there is no memory for one more chunk. */
void *tcp_slab_get(struct tcp_slab *s);
void tcp_slab_put(struct tcp_slab *s, void *object);
