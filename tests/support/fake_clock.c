/*
 * fake_clock.c: a clock that tests turn by hand.
 */
#include "support/fake_clock.h"

static int64_t
mono_ms(void *ctx)
{
    struct fake_clock *f = ctx;
    int64_t now = f->mono_ms;

    f->mono_ms += f->tick_ms;
    return now;
}

static int64_t
wall_ns(void *ctx)
{
    const struct fake_clock *f = ctx;

    return f->wall_ns;
}

void
fake_clock_init(struct fake_clock *f, int64_t mono, int64_t wall)
{
    f->clock = (struct clock){mono_ms, wall_ns, f};
    f->mono_ms = mono;
    f->wall_ns = wall;
    f->tick_ms = 0;
}

void
fake_clock_advance(struct fake_clock *f, int64_t ms)
{
    f->mono_ms += ms;
    f->wall_ns += ms * 1000000;
}

void
fake_clock_until(struct fake_clock *f, int64_t mono)
{
    if (mono > f->mono_ms)
        fake_clock_advance(f, mono - f->mono_ms);
}
