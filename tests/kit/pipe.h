/* A byte pipe between two sockets, both directions, that cuts what passes into pieces of a chosen
 * size: a relay on the loop between two socketpairs. What arrives in pieces must be understood as
 * what arrives at once. */
#pragma once

#include <stdint.h>

#include "common/loop/loop.h"

struct pipe;

enum pipe_chunking {
	PIPE_WHOLE,  /* as much as there is */
	PIPE_BYTES,  /* one byte per turn of the loop */
	PIPE_RANDOM, /* 1 to 3000 bytes, from `seed` */
};

/* The two ends, non-blocking, are the caller's to use and close; *ret is freed with pipe_free(). 0
 * or negative errno. */
int pipe_new(struct loop *l, enum pipe_chunking chunking, uint32_t seed, int ret_ends[2],
	struct pipe **ret);
/* Both ends see the connection closed, whatever was under way in it is lost. */
void pipe_cut(struct pipe *p);
/* While held, nothing passes. */
void pipe_hold(struct pipe *p, bool held);
uint64_t pipe_bytes(const struct pipe *p); /* that have passed, both ways */
void pipe_free(struct pipe *p);		   /* NULL is allowed */
