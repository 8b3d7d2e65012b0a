/*
 * slice.c: comparing, searching and cutting borrowed bytes.
 * Not for: anything that allocates or knows an encoding.
 */
#include "base/slice.h"

#include <assert.h>

/* memcmp and memchr must not see NULL, even for no bytes. */
static bool
same(const uint8_t *a, const uint8_t *b, size_t n)
{
    return n == 0 || memcmp(a, b, n) == 0;
}

static uint8_t
lower(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte + ('a' - 'A')) : byte;
}

bool
slice_eq(struct slice a, struct slice b)
{
    return a.n == b.n && same(a.p, b.p, a.n);
}

bool
slice_eq_nocase(struct slice a, struct slice b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}

bool
slice_starts(struct slice s, struct slice prefix)
{
    return s.n >= prefix.n && same(s.p, prefix.p, prefix.n);
}

bool
slice_ends(struct slice s, struct slice suffix)
{
    return s.n >= suffix.n && slice_eq(slice_from(s, s.n - suffix.n), suffix);
}

int
slice_cmp(struct slice a, struct slice b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n == 0 ? 0 : memcmp(a.p, b.p, n);

    if (order != 0 || a.n == b.n)
        return order;
    return a.n < b.n ? -1 : 1;
}

size_t
slice_find(struct slice s, uint8_t byte)
{
    const uint8_t *at = s.n == 0 ? NULL : memchr(s.p, byte, s.n);

    return at == NULL ? s.n : (size_t)(at - s.p);
}

bool
slice_split(struct slice *rest, uint8_t byte, struct slice *head)
{
    if (rest->n == 0)
        return false;

    size_t at = slice_find(*rest, byte);
    *head = slice_to(*rest, at);
    *rest = slice_from(*rest, at + 1); /* cut to the length when there was none */
    return true;
}

struct slice
slice_trim(struct slice s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = slice_from(s, 1);
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

void
slice_copy_text(struct slice s, char *out, size_t size)
{
    assert(size > 0);
    size_t n = s.n < size ? s.n : size - 1;

    if (n > 0)
        memcpy(out, s.p, n);
    out[n] = '\0';
}
