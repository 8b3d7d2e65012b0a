/*
 * text.h: encodings that several rooms need: base64, percent-encoding, UTF-8, JSON strings.
 * Pure; output goes to a bounded buffer.
 */
#ifndef SINKD_BASE_TEXT_H
#define SINKD_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* text_base64(out, s): append the base64 form with padding (RFC 4648 section 4). */
enum err text_base64(struct buf *out, struct slice s) MUST_USE;

/* text_unbase64(out, s): the way back; ERR_BAD on any other byte or wrong padding, nothing is
 * added. */
enum err text_unbase64(struct buf *out, struct slice s) MUST_USE;

/* text_percent(out, s): append with all but RFC 3986 unreserved bytes as %XX. */
enum err text_percent(struct buf *out, struct slice s) MUST_USE;

/* text_unpercent(out, s, plus): append decoded; with ${plus} a '+' is a space (form encoding).
 * ERR_BAD: a '%' without two hex digits, nothing is added. */
enum err text_unpercent(struct buf *out, struct slice s, bool plus) MUST_USE;

/* text_utf8(s): bytes of the valid UTF-8 sequence at the start of ${s} (1 to 4; no surrogates, no
 * overlong forms, at most U+10FFFF), or 0 when the first byte starts none. */
size_t text_utf8(struct slice s);
bool text_is_utf8(struct slice s);

/* text_json(out, s): append ${s} as a JSON string with its quotes, escaped as InfluxDB does: < > &
 * and U+2028/9 as \u00xx, control bytes as \n \r \t or \u00xx, each invalid byte as \ufffd. */
enum err text_json(struct buf *out, struct slice s) MUST_USE;

/* text_json_inner(out, s): the same without the quotes. */
enum err text_json_inner(struct buf *out, struct slice s) MUST_USE;

/* text_glob(pattern, s): whether ${s} matches; '*' stands for any bytes, nothing else is
 * special. */
bool text_glob(struct slice pattern, struct slice s);

#endif
