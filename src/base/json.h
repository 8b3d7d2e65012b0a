/*
 * json.h: reading JSON (RFC 8259) without building a tree.
 *
 * A document is checked whole once; after that a value is a slice of it that can be walked and
 * asked. Nothing is copied or allocated but decoded strings, into the caller's buffer. Nesting is
 * bounded and nothing recurses.
 * Not for: writing; that is text_json() and plain appending.
 */
#ifndef SINKD_BASE_JSON_H
#define SINKD_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

enum json_type {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

/* A value: ${raw} is it as it stands in the document, a string with its quotes. */
struct json {
    enum json_type type;
    struct slice raw;
};

#define JSON_DEPTH_MAX 64

/*
 * json_parse(text, out):
 * Check all of ${text} and give its one value, a loan of ${text}.
 * Errors: ERR_BAD (no JSON, bytes behind the value), ERR_RANGE (nested deeper than JSON_DEPTH_MAX).
 *         Invalid UTF-8 and lone surrogates are taken; decoding replaces them.
 */
enum err json_parse(struct slice text, struct json *out) MUST_USE;

/* Walking an array or object. For others there is nothing to walk. */
struct json_walk {
    struct slice rest; /* private */
    bool object;
};

void json_walk(struct json_walk *w, const struct json *v);

/* json_next(w, key, value): the next element; ${key} (may be NULL) gets the raw key of a member,
 * quotes included, or an empty slice in an array. false: no more. */
bool json_next(struct json_walk *w, struct slice *key, struct json *value);

/* json_get(object, name, out): the member ${name}, the first if it stands there twice. false, with
 * ${out} set to null, when there is none or ${object} is none. */
bool json_get(const struct json *object, const char *name, struct json *out);

/* json_is(s, text): whether the raw string ${s} means ${text} (ASCII without escapes of its
 * own). */
bool json_is(struct slice s, const char *text);

/* json_text(out, raw): append what a raw string means, as UTF-8; broken parts become U+FFFD.
 * ERR_NOMEM. */
enum err json_text(struct buf *out, struct slice raw) MUST_USE;

/* json_u64(v, out): a number that is a whole one. ERR_BAD, ERR_RANGE. */
enum err json_u64(const struct json *v, uint64_t *out) MUST_USE;

#endif
