/*
 * http_retry.c: Retry-After: seconds, or one of the three date forms of RFC 9110 section 5.6.7.
 */
#include "http/http_retry.h"

#include <stdbool.h>

#include "base/clock.h"
#include "base/num.h"

#define LONGEST_S (30 * 24 * 3600)

/* number(s, from, n, max, out): ${n} digits at ${from}; a blank may stand for a leading zero. */
static bool
number(struct slice s, size_t from, size_t n, int max, int *out)
{
    uint64_t v;
    struct slice digits = slice_to(slice_from(s, from), n);

    if (digits.n != n)
        return false;
    if (digits.p[0] == ' ')
        digits = slice_from(digits, 1);
    if (num_u64_max(digits, (uint64_t)max, &v) != ERR_OK)
        return false;
    *out = (int)v;
    return true;
}

static bool
month(struct slice s, size_t from, int *out)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct slice name = slice_to(slice_from(s, from), 3);
    int i;

    for (i = 0; i < 12; i++) {
        if (slice_eq(name, slice_make(names + 3 * i, 3))) {
            *out = i + 1;
            return true;
        }
    }
    return false;
}

/* time_of_day(s, from, c): "20:40:03". */
static bool
time_of_day(struct slice s, size_t from, struct civil *c)
{
    return s.n >= from + 8 && s.p[from + 2] == ':' && s.p[from + 5] == ':' &&
           number(s, from, 2, 23, &c->hour) && number(s, from + 3, 2, 59, &c->minute) &&
           number(s, from + 6, 2, 60, &c->second);
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
static bool
fixed_date(struct slice s, struct civil *c)
{
    return s.n == 29 && slice_ends(s, SLICE(" GMT")) && number(s, 5, 2, 31, &c->day) &&
           month(s, 8, &c->month) && number(s, 12, 4, 9999, &c->year) && time_of_day(s, 17, c);
}

/* "Sunday, 06-Nov-94 08:49:37 GMT": two digits of a year are taken as 1970 to 2069. */
static bool
old_date(struct slice s, struct civil *c)
{
    size_t comma = slice_find(s, ',');
    struct slice rest = slice_from(s, comma + 2 > s.n ? s.n : comma + 2);

    if (rest.n != 22 || !slice_ends(rest, SLICE(" GMT")) || !number(rest, 0, 2, 31, &c->day) ||
        !month(rest, 3, &c->month) || !number(rest, 7, 2, 99, &c->year) ||
        !time_of_day(rest, 10, c))
        return false;
    c->year += c->year >= 70 ? 1900 : 2000;
    return true;
}

/* "Sun Nov  6 08:49:37 1994" */
static bool
c_date(struct slice s, struct civil *c)
{
    return s.n == 24 && month(s, 4, &c->month) && number(s, 8, 2, 31, &c->day) &&
           time_of_day(s, 11, c) && number(s, 20, 4, 9999, &c->year);
}

enum err
http_retry_date(struct slice s, int64_t *seconds)
{
    struct civil c = {0, 0, 0, 0, 0, 0, 0};

    if (!fixed_date(s, &c) && !old_date(s, &c) && !c_date(s, &c))
        return ERR_BAD;
    if (c.day == 0)
        return ERR_BAD;
    *seconds = clock_from_civil(&c);
    return ERR_OK;
}

int64_t
http_retry_after(struct slice value, struct slice date, int64_t wall_ns)
{
    uint64_t wait_s;
    int64_t until, now;
    enum err err = num_u64_max(value, LONGEST_S, &wait_s);

    if (err == ERR_OK)
        return (int64_t)wait_s * 1000;
    if (err == ERR_RANGE)
        return (int64_t)LONGEST_S * 1000;
    if (http_retry_date(value, &until) != ERR_OK)
        return -1;
    if (http_retry_date(date, &now) != ERR_OK) {
        if (!clock_plausible(wall_ns))
            return -1;
        now = wall_ns / 1000000000;
    }
    if (until <= now)
        return 0;
    return (until - now < LONGEST_S ? until - now : LONGEST_S) * 1000;
}
