/* What the fuzz drivers share: one function per driver, in the form that libFuzzer and AFL++ call,
 * a reader of the input's bytes that never ends badly, and a check that ends the process. Inputs
 * are deterministic: the same bytes do the same in every run (random.c stands in for the system's
 * random source). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/bytes.h"

/* One input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Also with NDEBUG, and in any build. */
#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__,           \
				#condition);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline struct fuzz_input fuzz_input(const uint8_t *data, size_t size)
{
	return (struct fuzz_input){data, size};
}

/* 0 when nothing is left, as for the next two. */
static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

static inline uint16_t fuzz_u16(struct fuzz_input *in)
{
	uint16_t high = fuzz_u8(in);

	return (uint16_t)(high << 8 | fuzz_u8(in));
}

static inline uint32_t fuzz_u32(struct fuzz_input *in)
{
	uint32_t high = fuzz_u16(in);

	return high << 16 | fuzz_u16(in);
}

/* At most `n` bytes: how many, at *ret. */
static inline size_t fuzz_take(struct fuzz_input *in, size_t n, const uint8_t **ret)
{
	n = min_size(n, in->left);
	*ret = in->at;
	in->at += n;
	in->left -= n;
	return n;
}

/* Exactly `n` bytes into `out`; those that are missing are 0. */
static inline void fuzz_fill(struct fuzz_input *in, void *out, size_t n)
{
	const uint8_t *bytes;
	size_t got = fuzz_take(in, n, &bytes);

	memset(out, 0, n);
	if (got)
		memcpy(out, bytes, got);
}

/* A copy on the heap of exactly `n` bytes, so that the sanitizer sees a read beyond them; with a
 * final NUL (not counted) where `text`. Free with free(). */
static inline uint8_t *fuzz_copy(const void *bytes, size_t n, bool text)
{
	uint8_t *p = malloc(n + text);

	FUZZ_CHECK(p || n + text == 0);
	if (n)
		memcpy(p, bytes, n);
	if (text)
		p[n] = 0;
	return p;
}

/* Sizes of the pieces in which a stream arrives: whole for seed 0, bytes for 1, else mixed. */
struct fuzz_cut {
	uint32_t state;
	uint8_t seed;
};

static inline struct fuzz_cut fuzz_cut(uint8_t seed)
{
	return (struct fuzz_cut){seed * 2654435761u, seed};
}

static inline size_t fuzz_piece(struct fuzz_cut *c, size_t left)
{
	static const uint16_t ranges[] = {1, 2, 4, 16, 64, 512, 4096, 65535};

	if (c->seed == 0 || left == 0)
		return left;
	if (c->seed == 1)
		return 1;
	c->state = c->state * 1664525 + 1013904223;
	return min_size(left, 1 + (c->state >> 8) % ranges[c->state >> 29]);
}
