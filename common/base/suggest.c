/* Near misses by edit distance: insertions, deletions, replacements, and swapped neighbours. Called
 * by options.c and by the configuration readers when a word is unknown. */
#include "common/base/suggest.h"

#include <string.h>

#include "common/base/bytes.h"

#define WORD_MAX 40 /* longer words get no suggestion */

static size_t min3(size_t a, size_t b, size_t c)
{
	return min_size(min_size(a, b), c);
}

static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t d[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= a_length; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= b_length; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= a_length; i++)
		for (size_t j = 1; j <= b_length; j++) {
			size_t replace = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, replace);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = min_size(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[a_length][b_length];
}

void suggestion_consider(struct suggestion *s, const char *candidate)
{
	size_t word_length = strlen(s->word), length = strlen(candidate);
	size_t distance;

	if (word_length == 0 || word_length > WORD_MAX || length > WORD_MAX)
		return;
	/* The beginning of a word is as good as one wrong letter. */
	if (word_length >= 2 && strncmp(s->word, candidate, word_length) == 0)
		distance = 1;
	else
		distance = edit_distance(s->word, word_length, candidate, length);
	/* A third of the letters wrong (and one in short words) is still
	 * a slip, not another word. */
	if (distance > (word_length < 3 ? 1 : (word_length + 2) / 3))
		return;
	if (!s->best || distance < s->distance) {
		s->best = candidate;
		s->distance = distance;
	}
}
