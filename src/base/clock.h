/*
 * clock.h: time, handed in so that tests can turn it.
 *
 * Every timer and deadline is on the monotonic clock; the wall clock only stamps points and log
 * lines. Devices boot in 1970.
 */
#ifndef SINKD_BASE_CLOCK_H
#define SINKD_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

struct clock {
    int64_t (*mono_ms)(void *ctx); /* milliseconds since some fixed moment; never steps back */
    int64_t (*wall_ns)(void *ctx); /* nanoseconds since 1970 UTC */
    void *ctx;
};

/* A deadline that never comes. */
#define DEADLINE_NEVER INT64_MAX

extern const struct clock clock_system;

static inline int64_t
clock_mono_ms(const struct clock *c)
{
    return c->mono_ms(c->ctx);
}

static inline int64_t
clock_wall_ns(const struct clock *c)
{
    return c->wall_ns(c->ctx);
}

/* clock_after(now_ms, delay_ms): the deadline that far away; saturates at DEADLINE_NEVER. */
int64_t clock_after(int64_t now_ms, int64_t delay_ms);

/* clock_plausible(wall_ns): false for the time of a machine whose clock was never set (before
 * 2020). */
int clock_plausible(int64_t wall_ns);

struct civil {
    int year, month, day, hour, minute, second, weekday; /* month 1..12, weekday 0 is Sunday; UTC */
};

/* clock_civil(seconds): the civil date of a count of seconds since 1970, any sign (no libc time
 * zone). */
struct civil clock_civil(int64_t seconds);

/* clock_from_civil(c): the way back; fields need not be normalised; weekday is ignored. */
int64_t clock_from_civil(const struct civil *c);

#define CLOCK_TEXT 40

/* clock_put_rfc3339(out, wall_ns): "2026-11-30T22:50:08.123456789Z" with the fraction cut of
 * trailing zeros (and left out when zero), as InfluxDB prints times; NUL-terminated. Returns
 * ${out}. */
char *clock_put_rfc3339(char out[CLOCK_TEXT], int64_t wall_ns);

#endif
