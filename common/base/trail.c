/* A trail in words, for failure lines. Called where a session, connection or command fails. */
#include "common/base/trail.h"

#include <stdio.h>

#include "common/base/bytes.h"

static const char *trail_name(const char *const *names, size_t count, uint8_t value)
{
	return value < count && names[value] ? names[value] : "?";
}

size_t trail_print(const struct trail *t, const char *const *state_names, size_t states,
	const char *const *event_names, size_t events, char *out, size_t size)
{
	uint32_t kept = min_u32(t->count, TRAIL_LENGTH);
	size_t used = 0;

	if (size == 0)
		return 0;
	out[0] = '\0';
	for (uint32_t i = t->count - kept; i != t->count; i++) {
		const struct trail_record *r = &t->records[i % TRAIL_LENGTH];
		int length = snprintf(out + used, size - used, "%s%s %s %s", used ? ", " : "",
			trail_name(state_names, states, r->state),
			trail_name(event_names, events, r->event),
			trail_name(state_names, states, r->next));

		if (length < 0)
			break;
		used += min_size((size_t)length, size - used - 1);
	}
	return used;
}
