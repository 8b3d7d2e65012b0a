/*
 * rate_limit.c: a token bucket in whole thousandths, so that slow rates lose nothing to rounding.
 */
#include "daemon/rate_limit.h"

#define TOKEN 1000u

void
rate_limit_init(struct rate_limit *r, unsigned per_second, int64_t now_ms)
{
    r->per_second = per_second;
    r->thousandths = (uint64_t)per_second * TOKEN;
    r->last_ms = now_ms;
}

bool
rate_limit_take(struct rate_limit *r, int64_t now_ms)
{
    uint64_t full = (uint64_t)r->per_second * TOKEN;
    int64_t passed = now_ms - r->last_ms;

    if (r->per_second == 0)
        return true;
    if (passed > 0) {
        /* per_second tokens in 1000 ms are per_second thousandths in one. */
        r->thousandths += (uint64_t)(passed < 1000 ? passed : 1000) * r->per_second;
        if (r->thousandths > full)
            r->thousandths = full;
        r->last_ms = now_ms;
    }
    if (r->thousandths < TOKEN)
        return false;
    r->thousandths -= TOKEN;
    return true;
}
