/*
 * rate_limit.h: a token bucket: so many requests a second, a second's worth of them at once.
 * Pure: the time is handed in.
 */
#ifndef SINKD_DAEMON_RATE_LIMIT_H
#define SINKD_DAEMON_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct rate_limit {
    unsigned per_second;  /* 0: no limit */
    uint64_t thousandths; /* private: of a token */
    int64_t last_ms;
};

/* rate_limit_init(r, per_second, now_ms): a full bucket. */
void rate_limit_init(struct rate_limit *r, unsigned per_second, int64_t now_ms);

/* rate_limit_take(r, now_ms): true and one token less, or false: over the limit. Times do not go
 * back; one that does counts as no time passed. */
bool rate_limit_take(struct rate_limit *r, int64_t now_ms);

#endif
