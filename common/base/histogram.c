/* A log-linear histogram, see histogram.h. Values below 64 have a bucket each; above, the position
 * of the highest bit chooses a group of 64 buckets, and the six bits behind it the bucket. */
#include "common/base/histogram.h"

#include "common/base/bytes.h"

#define SUB_COUNT (1u << HISTOGRAM_SUB_BITS)
#define VALUE_MAX ((UINT64_C(1) << HISTOGRAM_VALUE_BITS) - 1)

static unsigned group_of(uint64_t value)
{
	unsigned bits = value ? 64u - (unsigned)__builtin_clzll(value) : 0;

	return bits > HISTOGRAM_SUB_BITS ? bits - HISTOGRAM_SUB_BITS : 0;
}

static unsigned bucket_of(uint64_t value)
{
	unsigned group = group_of(value);

	if (group == 0)
		return (unsigned)value;
	/* the highest bit is left out: within a group it is always set */
	return group * SUB_COUNT + ((unsigned)(value >> (group - 1)) & (SUB_COUNT - 1));
}

static uint64_t middle_of(unsigned bucket)
{
	unsigned group = bucket / SUB_COUNT, sub = bucket % SUB_COUNT;

	if (group == 0)
		return sub;
	return ((uint64_t)(SUB_COUNT + sub) << (group - 1)) + ((UINT64_C(1) << (group - 1)) >> 1);
}

void histogram_add(struct histogram *h, uint64_t value)
{
	h->count++;
	h->sum += value;
	if (value > h->max)
		h->max = value;
	h->buckets[bucket_of(min_u64(value, VALUE_MAX))]++;
}

uint64_t histogram_quantile(const struct histogram *h, unsigned per_mille)
{
	/* the rank, counted from 1, of the value that is asked for */
	uint64_t rank = (h->count * per_mille + 999) / 1000, seen = 0;

	if (h->count == 0)
		return 0;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen >= rank && seen > 0)
			return min_u64(middle_of(i), h->max);
	}
	return h->max;
}

uint64_t histogram_mean(const struct histogram *h)
{
	return h->count ? h->sum / h->count : 0;
}
