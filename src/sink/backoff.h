/*
 * backoff.h: how long to wait after a failure. Pure.
 *
 * A round of tries: max_retries retries, each twice as far as the one before, from base to max with
 * a jitter of 0.5 to 1.5; then a pause of max (with jitter), and a new round. Refusals pause five
 * times that.
 */
#ifndef SINKD_SINK_BACKOFF_H
#define SINKD_SINK_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

struct backoff_limits {
    unsigned max_retries;
    int64_t base_ms, max_ms;
};

struct backoff {
    unsigned attempt; /* retries used in the present round of tries; 0 after a success */
    bool pausing;     /* the last wait was the pause between rounds */
    uint64_t seed;    /* of the jitter; any value */
};

/* backoff_next(b, limits): after a failure that may pass: the wait in ms. */
int64_t backoff_next(struct backoff *b, const struct backoff_limits *limits);

/* backoff_refused(b, limits): after a refusal that somebody must mend: the long pause, in ms. */
int64_t backoff_refused(struct backoff *b, const struct backoff_limits *limits);

/* backoff_reset(b): it worked. */
void backoff_reset(struct backoff *b);

#endif
