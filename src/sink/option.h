/*
 * option.h: the options of a sink type, as one table.
 *
 * The parser of WITH, SHOW SINK, export and the page in docs/ all read the same tables. An option
 * is declared once, with its type, default, limits and a line of help; a value is checked against
 * that when it is set and is typed from then on.
 */
#ifndef SINKD_SINK_OPTION_H
#define SINKD_SINK_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/secret.h"
#include "base/slice.h"

enum option_kind {
    OPTION_BOOL,     /* true or false */
    OPTION_NUMBER,   /* a whole number */
    OPTION_DURATION, /* "10s"; kept in ms */
    OPTION_CHOICE,   /* one of a few words; kept as its index */
    OPTION_TEXT,     /* any text without NUL */
    OPTION_SECRET    /* a text that is never shown */
};

struct option {
    const char *name;
    enum option_kind kind;
    const char *fallback; /* the default as a user would write it; NULL: none */
    int64_t min, max;     /* NUMBER: the value; DURATION: ms; TEXT, SECRET: bytes */
    const char *choices;  /* CHOICE: the words, blanks between */
    const char *help;     /* one line */
};

struct option_table {
    const struct option *list;
    size_t count;
};

/* A value. ${text} is it as it was written (also of what is no secret: one way to keep and
 * wipe). */
struct option_value {
    bool set;       /* given by the user; else the default */
    int64_t number; /* BOOL 0 or 1, NUMBER, DURATION in ms, CHOICE its index */
    struct secret text;
};

/*
 * option_parse(o, text, out, info):
 * Check ${text} and fill ${out} (which holds a value or is zeroed) with it, marked as set.
 * Errors: ERR_CONFIG, with a text that names the option and what it takes, never the value;
 * ERR_NOMEM.
 */
enum err option_parse(const struct option *o, struct slice text, struct option_value *out,
                      struct errinfo *info) MUST_USE;

/* option_default(o, out): fill ${out} with the default, not marked as set. ERR_NOMEM. */
enum err option_default(const struct option *o, struct option_value *out) MUST_USE;

void option_free(struct option_value *v);

/* option_choice(o, index): the index-th word of a CHOICE; an empty slice beyond the last. */
struct slice option_choice(const struct option *o, size_t index);

#endif
