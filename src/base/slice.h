/*
 * slice.h: borrowed bytes, passed by value.
 *
 * A slice is a loan until its owner's next change. It is not terminated by a NUL and may hold any
 * bytes. Functions take no allocation and never fail.
 */
#ifndef SINKD_BASE_SLICE_H
#define SINKD_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const uint8_t *p;
    size_t n;
};

/* A slice of a string literal, for expressions and for initialisers of static tables. */
#define SLICE(literal) ((struct slice)SLICE_INIT(literal))
#define SLICE_INIT(literal)                                \
    {                                                      \
        (const uint8_t *)("" literal), sizeof(literal) - 1 \
    }

/* For printf: `"%.*s", SLICE_PRI(s)`; cut at INT_MAX, which no message reaches. */
#define SLICE_PRI(s) (int)(s).n, (const char *)(s).p

static inline struct slice
slice_make(const void *p, size_t n)
{
    return (struct slice){p, n};
}

static inline struct slice
slice_of(const char *text)
{
    return (struct slice){(const uint8_t *)text, text == NULL ? 0 : strlen(text)};
}

/* slice_from(s, i), slice_to(s, i): all from byte i on, all before byte i; i is cut to the
 * length. */
static inline struct slice
slice_from(struct slice s, size_t i)
{
    if (i > s.n)
        i = s.n;
    return (struct slice){i == 0 ? s.p : s.p + i, s.n - i}; /* NULL + 0 is not defined */
}

static inline struct slice
slice_to(struct slice s, size_t i)
{
    return (struct slice){s.p, i < s.n ? i : s.n};
}

bool slice_eq(struct slice a, struct slice b);
bool slice_eq_nocase(struct slice a, struct slice b); /* ASCII letters only */
bool slice_starts(struct slice s, struct slice prefix);
bool slice_ends(struct slice s, struct slice suffix);
int slice_cmp(struct slice a, struct slice b); /* as memcmp; then the shorter is less */

/* slice_find(s, byte): the index of its first occurrence, or s.n. */
size_t slice_find(struct slice s, uint8_t byte);

/* slice_split(rest, byte, head): cut ${rest} at its first ${byte}; false once it is used up.
 * "a,,b" gives "a", "", "b"; "a," gives "a"; an empty slice gives nothing. */
bool slice_split(struct slice *rest, uint8_t byte, struct slice *head);

/* slice_trim(s): without the blanks and tabs at both ends. */
struct slice slice_trim(struct slice s);

/* slice_copy_text(s, out, size): a NUL-terminated copy in ${out}, cut to ${size} - 1 bytes; size >
 * 0. */
void slice_copy_text(struct slice s, char *out, size_t size);

#endif
