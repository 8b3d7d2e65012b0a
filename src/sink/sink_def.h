/*
 * sink_def.h: the definition of a sink, as CREATE SINK gave it.
 *
 * Plain data with its own memory: made by the daemon from a statement or from the store, checked
 * once, then never changed; ALTER makes a new one. sink_codec.h has its bytes in the store.
 */
#ifndef SINKD_SINK_SINK_DEF_H
#define SINKD_SINK_SINK_DEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/secret.h"
#include "base/slice.h"
#include "sink/option.h"

struct sink_type;

enum sink_format { SINK_LINE_PROTOCOL, SINK_JSON, SINK_MSGPACK };
const char *sink_def_format_name(enum sink_format format);

/* sink_def_default_format(type): the format of a sink without FORMAT. */
enum sink_format sink_def_default_format(const struct sink_type *type);

enum selector_kind { SELECTOR_NAME, SELECTOR_GLOB, SELECTOR_REGEX };

struct selector {
    enum selector_kind kind;
    char *text;
};

/* A list of selectors, or of databases (then every kind is SELECTOR_NAME). */
struct selector_list {
    struct selector *list;
    size_t count;
};

struct sink_def {
    uint32_t id; /* of its record in the store */
    char *name;
    const struct sink_type *type;
    char *url;      /* without user info; NULL for stdout */
    char *username; /* NULL: none */
    struct secret password;
    enum sink_format format;
    struct selector_list databases; /* empty: all */
    struct selector_list include;   /* empty: all */
    struct selector_list exclude;
    uint64_t batch_size;          /* 0: the configured default */
    int64_t flush_interval_ms;    /* -1: the configured default */
    struct option_value *options; /* one for each option of the type, in sink_type_option order */
    bool paused;
    bool followed; /* came from a hub */
    int64_t created_ns;
};

/* sink_def_init(d, type): empty, options at their defaults. ERR_NOMEM. sink_def_free() also takes a
 * zeroed one. */
enum err sink_def_init(struct sink_def *d, const struct sink_type *type) MUST_USE;
void sink_def_free(struct sink_def *d);

/* sink_def_copy(to, from): ${to} is overwritten. ERR_NOMEM, and then ${to} is zeroed. */
enum err sink_def_copy(struct sink_def *to, const struct sink_def *from) MUST_USE;

/* sink_def_add(list, kind, text): append a copy. ERR_NOMEM; ERR_CONFIG (a NUL inside, a regular
 * expression that does not compile). */
enum err sink_def_add(struct selector_list *list, enum selector_kind kind, struct slice text,
                      struct errinfo *info) MUST_USE;
void sink_def_clear(struct selector_list *list);

/*
 * sink_def_set_option(d, key, text, info): set one option of WITH.
 * sink_def_set_url(d, url, info): take the URL; user info in it becomes username and password.
 * Errors: ERR_CONFIG (an unknown key: the text lists the type's; a wrong value; a malformed URL),
 * ERR_NOMEM.
 */
enum err sink_def_set_option(struct sink_def *d, struct slice key, struct slice text,
                             struct errinfo *info) MUST_USE;
enum err sink_def_set_url(struct sink_def *d, struct slice url, struct errinfo *info) MUST_USE;

/* sink_def_reset_options(d): all back to their defaults (ALTER replaces the whole WITH clause). */
enum err sink_def_reset_options(struct sink_def *d) MUST_USE;

/* sink_def_check(d, info): the whole definition, structurally: the type's own check last.
 * ERR_CONFIG. */
enum err sink_def_check(const struct sink_def *d, struct errinfo *info) MUST_USE;

/* The value of an option, by name. The type has it: asserted. Text is NUL-terminated nowhere; "" if
 * unset. */
int64_t sink_def_number(const struct sink_def *d, const char *name);
bool sink_def_bool(const struct sink_def *d, const char *name);
struct slice sink_def_text(const struct sink_def *d, const char *name);
bool sink_def_is_set(const struct sink_def *d, const char *name);

/* sink_def_put_include(d, out): "*", or the selectors as SQL writes them, with EXCLUDE behind.
 * ERR_NOMEM. */
enum err sink_def_put_include(const struct sink_def *d, struct buf *out) MUST_USE;

#endif
