/* A byte pipe between two sockets, both directions, that cuts what passes into pieces of a chosen
 * size: a relay on the loop between two socketpairs. What arrives in pieces must be understood as
 * what arrives at once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/loop/loop.h"
#include "tests/kit/frames.h"

struct pipe;

enum pipe_chunking {
	PIPE_WHOLE,  /* as much as there is */
	PIPE_BYTES,  /* one byte per turn of the loop */
	PIPE_RANDOM, /* 1 to 3000 bytes, from `seed` */
	/* One message per turn; with a seed, each way also passes turns at random, so that the
	 * messages of both directions come in another order with each seed. */
	PIPE_MESSAGES,
};

/* What shall happen to a pipe; 0: nothing. */
struct pipe_plan {
	enum frames_kind frames;
	uint64_t cut_bytes;	 /* cut once so many bytes have passed, both ways taken together */
	uint64_t cut_messages;	 /* the same in messages */
	unsigned stall_way;	 /* 0: from the first end, 1: from the second */
	uint64_t stall_messages; /* that way stands still behind so many, until pipe_release() */
};

/* The two ends, non-blocking, are the caller's to use and close; *ret is freed with pipe_free(). 0
 * or negative errno. */
int pipe_new(struct loop *l, enum pipe_chunking chunking, uint32_t seed, int ret_ends[2],
	struct pipe **ret);
/* Both ends see the connection closed, whatever was under way in it is lost. */
void pipe_cut(struct pipe *p);
/* While held, nothing passes. */
void pipe_hold(struct pipe *p, bool held);
void pipe_plan(struct pipe *p, const struct pipe_plan *plan);
/* Lets what has been stalled go on; true if there was anything to pass. */
bool pipe_release(struct pipe *p);
uint64_t pipe_messages(const struct pipe *p, unsigned way); /* that have passed whole */
uint64_t pipe_bytes(const struct pipe *p);		    /* that have passed, both ways */
bool pipe_is_over(const struct pipe *p);		    /* closed at both ends */
void pipe_free(struct pipe *p);				    /* NULL is allowed */
