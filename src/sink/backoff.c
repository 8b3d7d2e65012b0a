/*
 * backoff.c: see backoff.h.
 */
#include "sink/backoff.h"

/* xorshift64: enough to keep devices that failed together from coming back together. */
static uint64_t
next_random(struct backoff *b)
{
    uint64_t x = b->seed == 0 ? 0x9e3779b97f4a7c15u : b->seed;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    b->seed = x;
    return x;
}

/* 0.5 to 1.5 times ${ms}. */
static int64_t
jitter(struct backoff *b, int64_t ms)
{
    int64_t permille = 500 + (int64_t)(next_random(b) % 1001);

    return ms / 1000 * permille + ms % 1000 * permille / 1000;
}

int64_t
backoff_next(struct backoff *b, const struct backoff_limits *limits)
{
    int64_t ms = limits->base_ms;

    b->pausing = b->attempt >= limits->max_retries;
    if (b->pausing) {
        b->attempt = 0;
        return jitter(b, limits->max_ms);
    }
    for (unsigned i = 0; i < b->attempt && ms < limits->max_ms; i++)
        ms *= 2;
    b->attempt++;
    return jitter(b, ms < limits->max_ms ? ms : limits->max_ms);
}

int64_t
backoff_refused(struct backoff *b, const struct backoff_limits *limits)
{
    b->attempt = 0;
    b->pausing = true;
    return jitter(b, 5 * limits->max_ms);
}

void
backoff_reset(struct backoff *b)
{
    b->attempt = 0;
    b->pausing = false;
}
