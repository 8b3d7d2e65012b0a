/*
 * toml.h: a reader for the part of TOML 1.0 that the configuration needs.
 *
 * In it:     [table] headers of one name, bare keys, basic and literal strings of one line,
 *            integers in all four bases, booleans, arrays of strings (over several lines too),
 *            comments.
 * Not in it: dotted and quoted keys, multi-line strings, floats, dates, inline tables, arrays of
 *            tables; each is an error that says so.
 * More lenient than TOML in one thing: a comment may hold any bytes.
 * Pure: bytes in, items out. After an error the reader goes on at the next line, so that one run
 * finds every error of a file.
 */
#ifndef SINKD_DAEMON_TOML_H
#define SINKD_DAEMON_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

enum toml_type { TOML_STRING, TOML_INTEGER, TOML_BOOLEAN, TOML_STRINGS };

struct toml_value {
    enum toml_type type;
    struct slice text; /* STRING: decoded; STRINGS: each followed by a NUL (no string holds one) */
    size_t count;      /* STRINGS: how many */
    int64_t integer;
    bool boolean;
};

enum toml_kind { TOML_END, TOML_TABLE, TOML_KEY, TOML_ERROR };

struct toml_item {
    enum toml_kind kind;
    unsigned line;           /* where the item begins, from 1 */
    struct slice name;       /* TABLE, KEY; ERROR: the key whose value is wrong, or empty */
    struct toml_value value; /* KEY */
    char error[160];         /* ERROR: what is wrong, without the place */
};

/* The longest name of a table or key, the most text of one value, decoded. */
#define TOML_NAME_MAX 64
#define TOML_VALUE_MAX 65536

struct toml_reader {
    struct slice rest; /* private, all of it */
    unsigned line;
    struct buf scratch; /* the value of the last item, decoded */
};

/* toml_init(r, text): read ${text}, which must stay. toml_free() frees the scratch memory. */
void toml_init(struct toml_reader *r, struct slice text);
void toml_free(struct toml_reader *r);

/*
 * toml_next(r, item):
 * The next item; TOML_END for good once the text is used up.
 * Owns:   what ${item} points at is valid until the next call.
 * Errors: ERR_NOMEM: a value did not fit in memory. All else is an item of kind TOML_ERROR.
 * Source: TOML 1.0.0.
 */
enum err toml_next(struct toml_reader *r, struct toml_item *item) MUST_USE;

/*
 * toml_integer(text, out):
 * ${text} as a TOML integer: an optional sign, digits with single underscores between them, or 0x,
 * 0o, 0b forms. Errors: ERR_BAD; ERR_RANGE over int64.
 */
enum err toml_integer(struct slice text, int64_t *out) MUST_USE;

#endif
