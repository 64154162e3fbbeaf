/* Latencies counted in buckets whose width grows with their value: 64 to each power of two, so that
 * a percentile is at most 1.6 % off, whatever the range. No allocation, a few instructions per
 * value. Used by the measurements of iserd. */
#pragma once

#include <stdint.h>

#define HISTOGRAM_SUB_BITS 6
#define HISTOGRAM_VALUE_BITS 40 /* nanoseconds: 18 minutes; longer ones count as that */
#define HISTOGRAM_BUCKETS                                                                          \
	((HISTOGRAM_VALUE_BITS - HISTOGRAM_SUB_BITS + 1) * (1u << HISTOGRAM_SUB_BITS))

/* Zero it before use. */
struct histogram {
	uint64_t count, sum, max;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, uint64_t value);
/* The value that `per_mille` of the values do not exceed (500: the median), as the middle of its
 * bucket and never above the largest value; 0 if there is none. */
uint64_t histogram_quantile(const struct histogram *h, unsigned per_mille);
uint64_t histogram_mean(const struct histogram *h);
