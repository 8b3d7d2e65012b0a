/*
 * num.c: decimal and hexadecimal numbers, floating point and durations, without a locale.
 * Not for: grammars; a caller that wants less than strtod takes checks that first.
 */
#include "base/num.h"

#include <float.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/num_float.h"

static bool
is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

enum err
num_u64_max(struct slice s, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    bool over = false;

    if (s.n == 0)
        return ERR_BAD;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_digit(s.p[i]))
            return ERR_BAD;
        uint64_t digit = (uint64_t)(s.p[i] - '0');
        if (value > max / 10 || digit > max - value * 10)
            over = true; /* go on: a later byte may still make it malformed */
        else
            value = value * 10 + digit;
    }
    if (over)
        return ERR_RANGE;
    *out = value;
    return ERR_OK;
}

enum err
num_u64(struct slice s, uint64_t *out)
{
    return num_u64_max(s, UINT64_MAX, out);
}

enum err
num_i64(struct slice s, int64_t *out)
{
    bool negative = s.n > 0 && s.p[0] == '-';
    uint64_t magnitude = 0;
    uint64_t max = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    enum err err = num_u64_max(negative ? slice_from(s, 1) : s, max, &magnitude);

    if (err != ERR_OK)
        return err;
    if (!negative)
        *out = (int64_t)magnitude;
    else
        *out = magnitude > (uint64_t)INT64_MAX ? INT64_MIN : -(int64_t)magnitude;
    return ERR_OK;
}

enum err
num_hex(struct slice s, uint64_t *out)
{
    uint64_t value = 0;
    bool over = false;

    if (s.n == 0)
        return ERR_BAD;
    for (size_t i = 0; i < s.n; i++) {
        uint8_t c = s.p[i];
        unsigned digit;
        if (is_digit(c))
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            digit = (unsigned)(c - 'A') + 10;
        else
            return ERR_BAD;
        if (value >> 60 != 0)
            over = true;
        value = value << 4 | digit;
    }
    if (over)
        return ERR_RANGE;
    *out = value;
    return ERR_OK;
}

/*
 * No double needs more than 767 significant decimal digits to be told from its neighbours; of what
 * lies behind them only matters whether it is zero. So a longer text is cut to this many, and a
 * last '1' stands for a tail that was not zero.
 */
#define DIGITS_MAX 800
#define F64_TEXT 1024

struct mantissa {
    char *text; /* F64_TEXT bytes */
    size_t n;
    size_t digits;    /* significant ones that were kept */
    int64_t exponent; /* to add to the written one */
    bool sticky;      /* a digit that is not 0 was dropped */
    bool point;
};

static enum err
mantissa_digit(struct mantissa *m, uint8_t c)
{
    if (c == '.') {
        if (m->point)
            return ERR_BAD;
        m->point = true;
        return ERR_OK;
    }
    if (!is_digit(c))
        return ERR_BAD;
    if (m->point)
        m->exponent--;
    if (m->digits == 0 && c == '0')
        return ERR_OK;
    if (m->digits < DIGITS_MAX) {
        m->text[m->n++] = (char)c;
        m->digits++;
        return ERR_OK;
    }
    m->exponent++;
    m->sticky = m->sticky || c != '0';
    return ERR_OK;
}

/* Reads the exponent behind the 'e'; one that is out of all bounds is cut, the result is the
 * same. */
static enum err
read_exponent(struct slice s, int64_t *out)
{
    const int64_t bound = INT64_C(1000000000000);
    bool negative = s.n > 0 && s.p[0] == '-';
    uint64_t value = 0;

    if (s.n > 0 && (s.p[0] == '-' || s.p[0] == '+'))
        s = slice_from(s, 1);
    enum err err = num_u64_max(s, (uint64_t)bound, &value);
    if (err == ERR_RANGE)
        value = (uint64_t)bound;
    else if (err != ERR_OK)
        return err;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return ERR_OK;
}

/* Rewrites a number of any length as at most DIGITS_MAX + 1 digits and an exponent. */
static enum err
shorten(struct slice s, char text[F64_TEXT])
{
    struct mantissa m = {.text = text};
    int64_t written = 0;
    size_t i = 0, begin;

    if (s.p[0] == '-' || s.p[0] == '+')
        text[m.n++] = (char)s.p[i++];
    for (begin = i; i < s.n && s.p[i] != 'e' && s.p[i] != 'E'; i++) {
        enum err err = mantissa_digit(&m, s.p[i]);
        if (err != ERR_OK)
            return err;
    }
    if (i - begin == (m.point ? 1U : 0U))
        return ERR_BAD; /* no digit at all */
    if (i < s.n) {
        enum err err = read_exponent(slice_from(s, i + 1), &written);
        if (err != ERR_OK)
            return err;
    }
    if (m.digits == 0)
        text[m.n++] = '0';
    if (m.sticky) {
        text[m.n++] = '1';
        m.exponent--;
    }

    int64_t exponent = m.exponent + written;
    if (exponent > 99999)
        exponent = 99999;
    if (exponent < -99999)
        exponent = -99999;
    text[m.n++] = 'e';
    m.n += num_put_i64((uint8_t *)text + m.n, exponent);
    text[m.n] = '\0';
    return ERR_OK;
}

/* What strtod says, on a copy that it cannot take for anything but a decimal number. */
static enum err
read_slowly(struct slice s, double *out)
{
    char text[F64_TEXT];
    char *end = NULL;

    for (size_t i = 0; i < s.n; i++)
        if (!is_digit(s.p[i]) && memchr("+-.eE", s.p[i], 5) == NULL)
            return ERR_BAD;
    if (s.n < sizeof(text)) {
        slice_copy_text(s, text, sizeof(text));
    } else {
        enum err err = shorten(s, text);
        if (err != ERR_OK)
            return err;
    }

    double value = strtod(text, &end);
    if (end == text || *end != '\0')
        return ERR_BAD;
    if (value > DBL_MAX || value < -DBL_MAX)
        return ERR_RANGE;
    *out = value;
    return ERR_OK;
}

/* The digits of an ordinary number, at most 19 significant ones, and its power of ten. False: read
 * it slowly, which also finds what is wrong with it. */
static bool
cut_decimal(struct slice s, uint64_t *digits, int *exponent)
{
    size_t i = 0, significant = 0, seen = 0, behind = 0;
    int64_t written = 0;
    bool point = false;

    for (*digits = 0; i < s.n && (is_digit(s.p[i]) || (s.p[i] == '.' && !point)); i++) {
        if (s.p[i] == '.') {
            point = true;
            continue;
        }
        *digits = *digits * 10 + (uint64_t)(s.p[i] - '0');
        significant += *digits != 0;
        behind += point;
        seen++;
        if (significant > 19)
            return false;
    }
    if (seen == 0 || seen > 1000)
        return false;
    if (i < s.n) {
        if ((s.p[i] != 'e' && s.p[i] != 'E') ||
            read_exponent(slice_from(s, i + 1), &written) != ERR_OK || written > 9999 ||
            written < -9999)
            return false;
    }
    *exponent = (int)written - (int)behind;
    return true;
}

enum err
num_f64(struct slice s, double *out)
{
    uint64_t digits;
    int exponent;
    bool negative = s.n > 0 && s.p[0] == '-';
    double value;

    if (s.n == 0)
        return ERR_BAD;
    if (!cut_decimal(negative ? slice_from(s, 1) : s, &digits, &exponent) ||
        !num_float_read(digits, exponent, &value))
        return read_slowly(s, out);
    *out = negative ? -value : value;
    return ERR_OK;
}

/* "00" to "99": two digits a division. */
static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                            "25262728293031323334353637383940414243444546474849"
                            "50515253545556575859606162636465666768697071727374"
                            "75767778798081828384858687888990919293949596979899";

size_t
num_put_u64(uint8_t *p, uint64_t v)
{
    uint8_t digits[NUM_TEXT];
    size_t at = sizeof(digits), n;

    for (; v >= 100; v /= 100) {
        at -= 2;
        memcpy(digits + at, pairs + v % 100 * 2, 2);
    }
    if (v >= 10) {
        at -= 2;
        memcpy(digits + at, pairs + v * 2, 2);
    } else {
        digits[--at] = (uint8_t)('0' + v);
    }
    n = sizeof(digits) - at;
    memcpy(p, digits + at, n);
    return n;
}

size_t
num_put_i64(uint8_t *p, int64_t v)
{
    if (v >= 0)
        return num_put_u64(p, (uint64_t)v);
    *p = '-';
    return 1 + num_put_u64(p + 1, UINT64_C(0) - (uint64_t)v);
}

static size_t
put_zeros(uint8_t *p, int count)
{
    for (int i = 0; i < count; i++)
        p[i] = '0';
    return (size_t)count;
}

/* Lay ${n} digits out, of which ${whole} stand before the point; it may be beside them. */
static size_t
lay_out(uint8_t *p, const uint8_t *digits, int n, int whole)
{
    size_t at = 0;

    if (whole > 21 || whole < -5) {
        p[at++] = digits[0];
        if (n > 1) {
            p[at++] = '.';
            memcpy(p + at, digits + 1, (size_t)n - 1);
            at += (size_t)n - 1;
        }
        p[at++] = 'e';
        return at + num_put_i64(p + at, whole - 1);
    }
    if (whole <= 0) {
        memcpy(p, "0.", 2);
        at = 2 + put_zeros(p + 2, -whole);
        memcpy(p + at, digits, (size_t)n);
        return at + (size_t)n;
    }
    if (whole >= n) {
        memcpy(p, digits, (size_t)n);
        return (size_t)n + put_zeros(p + n, whole - n);
    }
    memcpy(p, digits, (size_t)whole);
    p[whole] = '.';
    memcpy(p + whole + 1, digits + whole, (size_t)(n - whole));
    return (size_t)n + 1;
}

size_t
num_put_f64(uint8_t *p, double v)
{
    uint8_t digits[NUM_TEXT];
    struct num_float shortest;
    size_t at = 0;
    int n;

    if (v < 0 || (v == 0 && 1 / v < 0)) {
        p[at++] = '-';
        v = -v;
    }
    if (v == 0) {
        memcpy(p + at, "0.0", 3);
        return at == 0 ? 1 : 4;
    }
    if (v < 9007199254740992.0 && v == (double)(uint64_t)v)
        return at + num_put_u64(p + at, (uint64_t)v);
    shortest = num_float_shortest(v);
    n = (int)num_put_u64(digits, shortest.digits);
    return at + lay_out(p + at, digits, n, n + shortest.exponent);
}

struct unit {
    struct slice name;
    int64_t ns;
};

#define NS_US INT64_C(1000)
#define NS_MS INT64_C(1000000)
#define NS_S INT64_C(1000000000)
#define NS_M (60 * NS_S)
#define NS_H (60 * NS_M)

/* A longer name stands before its own prefix. */
static const struct unit units_read[] = {
    {SLICE_INIT("ns"), 1},           {SLICE_INIT("ms"), NS_MS},    {SLICE_INIT("u"), NS_US},
    {SLICE_INIT("\xc2\xb5"), NS_US}, {SLICE_INIT("s"), NS_S},      {SLICE_INIT("m"), NS_M},
    {SLICE_INIT("h"), NS_H},         {SLICE_INIT("d"), 24 * NS_H}, {SLICE_INIT("w"), 168 * NS_H},
};

static const struct unit units_written[] = {
    {SLICE_INIT("h"), NS_H},   {SLICE_INIT("m"), NS_M},  {SLICE_INIT("s"), NS_S},
    {SLICE_INIT("ms"), NS_MS}, {SLICE_INIT("u"), NS_US}, {SLICE_INIT("ns"), 1},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct unit *
find_unit(struct slice s)
{
    for (size_t i = 0; i < COUNT(units_read); i++)
        if (slice_starts(s, units_read[i].name))
            return &units_read[i];
    return NULL;
}

enum err
num_duration_ns(struct slice s, int64_t *out)
{
    int64_t total = 0;
    bool over = false;

    if (s.n == 0)
        return ERR_BAD;
    while (s.n > 0) {
        size_t digits = 0;
        uint64_t value = 0;
        while (digits < s.n && is_digit(s.p[digits]))
            digits++;
        enum err err = num_u64_max(slice_to(s, digits), (uint64_t)INT64_MAX, &value);
        const struct unit *unit = find_unit(slice_from(s, digits));
        if (err == ERR_BAD || unit == NULL)
            return ERR_BAD;
        if (err != ERR_OK || (int64_t)value > (INT64_MAX - total) / unit->ns)
            over = true;
        else
            total += (int64_t)value * unit->ns;
        s = slice_from(s, digits + unit->name.n);
    }
    if (over)
        return ERR_RANGE;
    *out = total;
    return ERR_OK;
}

char *
num_put_duration(char out[NUM_DURATION_TEXT], int64_t ns)
{
    uint64_t left = ns < 0 ? UINT64_C(0) - (uint64_t)ns : (uint64_t)ns;
    size_t n = 0;

    if (ns < 0)
        out[n++] = '-';
    for (size_t i = 0; i < COUNT(units_written); i++) {
        const struct unit *unit = &units_written[i];
        uint64_t count = left / (uint64_t)unit->ns;
        if (count == 0)
            continue;
        left -= count * (uint64_t)unit->ns;
        n += num_put_u64((uint8_t *)out + n, count);
        memcpy(out + n, unit->name.p, unit->name.n);
        n += unit->name.n;
    }
    if (n == 0) {
        out[n++] = '0';
        out[n++] = 's';
    }
    out[n] = '\0';
    return out;
}
