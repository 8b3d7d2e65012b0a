#include "base/histogram.h"

const char *const histogram_bounds[HISTOGRAM_BUCKETS] = {
    "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1",
    "0.25",  "0.5",    "1",     "2.5",  "5",     "10",   "30",
};

static const int64_t bounds_us[HISTOGRAM_BUCKETS] = {
    1000,   2500,   5000,    10000,   25000,   50000,    100000,
    250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000,
};

void
histogram_add(struct histogram *h, int64_t microseconds)
{
    if (microseconds < 0)
        microseconds = 0;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (microseconds <= bounds_us[i]) {
            h->buckets[i]++;
            break;
        }
    }
    h->count++;
    h->sum_us += (uint64_t)microseconds;
}
