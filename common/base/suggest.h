/* The word that was probably meant, for error lines of tools and configuration readers. */
#pragma once

#include <stddef.h>

struct suggestion {
	const char *word; /* what was written */
	const char *best; /* the nearest candidate so far; NULL: none is near */
	size_t distance;
};

static inline struct suggestion suggestion(const char *word)
{
	return (struct suggestion){.word = word};
}

/* Takes `candidate` into account (it must outlive the suggestion). */
void suggestion_consider(struct suggestion *s, const char *candidate);
