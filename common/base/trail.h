/* The last 32 transitions of an object, kept inside it: two stores per transition, and every core
 * dump and every failure line can tell how it came to this. No allocation, no lock. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TRAIL_LENGTH 32

struct trail_record {
	uint64_t time_ns;
	uint8_t state, event, next;
};

struct trail {
	struct trail_record records[TRAIL_LENGTH];
	uint32_t count; /* ever written; the newest is records[(count - 1) % TRAIL_LENGTH] */
};

static inline void trail_add(
	struct trail *t, uint64_t now_ns, uint8_t state, uint8_t event, uint8_t next)
{
	t->records[t->count++ % TRAIL_LENGTH] = (struct trail_record){now_ns, state, event, next};
}

/* Writes the trail, oldest first, as "S1 T1 S4, S4 T5 S5, ..." into out (always ended by NUL, cut
 * at `size`), naming states and events from the given arrays. Returns the length written. */
size_t trail_print(const struct trail *t, const char *const *state_names, size_t states,
	const char *const *event_names, size_t events, char *out, size_t size);
