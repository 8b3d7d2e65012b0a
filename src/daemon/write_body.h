/*
 * write_body.h: the body of a write, in any of its forms, parsed once into chunks.
 *
 * Points that are refused are counted and the first is described; all others are kept. Not for: the
 * request around it, and what becomes of the chunks (write_api.h).
 */
#ifndef SINKD_DAEMON_WRITE_BODY_H
#define SINKD_DAEMON_WRITE_BODY_H

#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "point/precision.h"
#include "store/chunk.h"

struct daemon;

enum write_form {
    WRITE_BODY_LINES,
    WRITE_BODY_ROWS,   /* MessagePack: points, each a map */
    WRITE_BODY_COLUMNS /* MessagePack: values of one field of one series */
};

/* Points that a MessagePack body may hold. */
#define WRITE_BODY_POINTS_MAX 500000u

struct write_body {
    struct buf chunks;
    uint64_t good, bad;
    struct buf
        complaint; /* about the refused points, or why there is an error: the answer's text */
};

/* write_body_form(content_type): what the header says; all but MessagePack is taken for lines. */
enum write_form write_body_form(struct slice content_type);

void write_body_init(struct write_body *b);
void write_body_free(struct write_body *b);

/*
 * write_body_parse(b, daemon, form, body, precision, origin, limit):
 * ${origin}: whose points they are and when they came. ${limit}: bytes that the points may take as
 * lines, which bounds what a small body can grow to.
 * Errors, where nothing of the body may be kept: ERR_BAD (not of that form), ERR_RANGE (over the
 * limit or WRITE_BODY_POINTS_MAX), both with a complaint; ERR_NOMEM.
 */
enum err write_body_parse(struct write_body *b, struct daemon *daemon, enum write_form form,
                          struct slice body, enum precision precision,
                          const struct chunk_origin *origin, size_t limit) MUST_USE;

#endif
