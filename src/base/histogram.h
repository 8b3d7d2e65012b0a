/*
 * histogram.h: how long things took, in the fixed buckets that /metrics shows.
 * Not locked: its owner says who may touch it.
 */
#ifndef SINKD_BASE_HISTOGRAM_H
#define SINKD_BASE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS 14 /* 0.001 to 30 seconds; what is longer counts only in ${count} */

struct histogram {
    uint64_t buckets[HISTOGRAM_BUCKETS]; /* each bucket on its own, not added up */
    uint64_t count;
    uint64_t sum_us;
};

extern const char *const histogram_bounds[HISTOGRAM_BUCKETS]; /* "0.001", ... */

void histogram_add(struct histogram *h, int64_t microseconds);

#endif
