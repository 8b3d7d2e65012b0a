/*
 * clock.c: the system's clocks and the civil calendar.
 * Not for: time zones, leap seconds or sleeping.
 * The calendar counts in years that begin on 1 March, so that the leap day is the last of its year,
 * and in eras of 400 years, which all have the same number of days.
 */
#include "base/clock.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)
#define DAY_S 86400
#define ERA_DAYS 146097
#define EPOCH_DAYS 719468 /* from 0000-03-01 to 1970-01-01 */
#define YEAR_2020_S INT64_C(1577836800)

static int64_t
system_mono_ms(void *ctx)
{
    struct timespec now;

    (void)ctx;
    int failed = clock_gettime(CLOCK_MONOTONIC, &now);
    assert(failed == 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t
system_wall_ns(void *ctx)
{
    struct timespec now;

    (void)ctx;
    int failed = clock_gettime(CLOCK_REALTIME, &now);
    assert(failed == 0);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

const struct clock clock_system = {system_mono_ms, system_wall_ns, NULL};

int64_t
clock_after(int64_t now_ms, int64_t delay_ms)
{
    if (delay_ms > 0 && now_ms > DEADLINE_NEVER - delay_ms)
        return DEADLINE_NEVER;
    return now_ms + delay_ms;
}

int
clock_plausible(int64_t wall_ns)
{
    return wall_ns >= YEAR_2020_S * NS_PER_S;
}

/* Division and remainder that round down, so that they hold before 1970 as well. */
static int64_t
floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

static int64_t
floor_mod(int64_t a, int64_t b)
{
    return a % b + (a % b < 0 ? b : 0);
}

struct civil
clock_civil(int64_t seconds)
{
    int64_t days = floor_div(seconds, DAY_S);
    int64_t in_day = floor_mod(seconds, DAY_S);
    int64_t era = floor_div(days + EPOCH_DAYS, ERA_DAYS);
    int64_t of_era = floor_mod(days + EPOCH_DAYS, ERA_DAYS);
    /* The leap days up to then: one in 4 years, none in 100, one in 400. */
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153; /* March is 0; five months have 153 days */
    int64_t day = of_year - (153 * month + 2) / 5 + 1;
    struct civil c = {
        .year = (int)(era * 400 + year + (month >= 10 ? 1 : 0)),
        .month = (int)(month < 10 ? month + 3 : month - 9),
        .day = (int)day,
        .hour = (int)(in_day / 3600),
        .minute = (int)(in_day / 60 % 60),
        .second = (int)(in_day % 60),
        .weekday = (int)floor_mod(days + 4, 7), /* 1970-01-01 was a Thursday */
    };

    return c;
}

int64_t
clock_from_civil(const struct civil *c)
{
    int64_t month = floor_mod((int64_t)c->month - 3, 12); /* March is 0 */
    int64_t year = c->year + floor_div((int64_t)c->month - 3, 12);
    int64_t era = floor_div(year, 400);
    int64_t of_era = floor_mod(year, 400);
    int64_t days = era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 +
                   (153 * month + 2) / 5 + c->day - 1 - EPOCH_DAYS;

    return days * DAY_S + (int64_t)c->hour * 3600 + (int64_t)c->minute * 60 + c->second;
}

char *
clock_put_rfc3339(char out[CLOCK_TEXT], int64_t wall_ns)
{
    struct civil c = clock_civil(floor_div(wall_ns, NS_PER_S));
    int fraction = (int)floor_mod(wall_ns, NS_PER_S);
    int n = snprintf(out, CLOCK_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d", c.year, c.month, c.day,
                     c.hour, c.minute, c.second);

    assert(n > 0 && n < CLOCK_TEXT - 12);
    if (fraction != 0) {
        n += snprintf(out + n, (size_t)(CLOCK_TEXT - n), ".%09d", fraction);
        while (out[n - 1] == '0')
            n--;
    }
    out[n++] = 'Z';
    out[n] = '\0';
    return out;
}
