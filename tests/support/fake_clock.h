/*
 * fake_clock.h: a clock that tests turn by hand.
 */
#ifndef SINKD_SUPPORT_FAKE_CLOCK_H
#define SINKD_SUPPORT_FAKE_CLOCK_H

#include <stdint.h>

#include "base/clock.h"

struct fake_clock {
    struct clock clock; /* hand out &f->clock */
    int64_t mono_ms;
    int64_t wall_ns;
    int64_t tick_ms; /* added after each look at the monotonic time; 0 at first */
};

/* fake_clock_init(f, mono_ms, wall_ns): do not copy ${f} afterwards. */
void fake_clock_init(struct fake_clock *f, int64_t mono_ms, int64_t wall_ns);

/* fake_clock_advance(f, ms): both clocks. */
void fake_clock_advance(struct fake_clock *f, int64_t ms);

/* fake_clock_until(f, mono_ms): advance to that moment; nothing if it is past. */
void fake_clock_until(struct fake_clock *f, int64_t mono_ms);

#endif
