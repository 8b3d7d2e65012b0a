/*
 * h1_body.h: takes a body apart as its head framed it: a length, chunks, or all until the close.
 *
 * Bytes go in as they come, pieces of content come out as slices of the input. Nothing is
 * allocated or kept. Chunks are read strictly (CR LF everywhere; RFC 9112 section 7.1); chunk
 * extensions and trailer fields are skipped within a bound.
 */
#ifndef SINKD_HTTP_H1_BODY_H
#define SINKD_HTTP_H1_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "http/h1_parse.h"

/* Bytes of one chunk's size line, and of all trailer fields together. */
#define H1_CHUNK_LINE_MAX 4096
#define H1_TRAILER_MAX 16384

struct h1_body {
    enum h1_framing framing;
    uint64_t left;  /* bytes to come of the length or of the present chunk */
    unsigned state; /* private: where in the chunk grammar */
    size_t skipped; /* private: bytes of the present line or trailer */
    bool done;
    const char *why; /* after ERR_BAD: a static text */
};

/* h1_body_init(b, framing, length): at the start of a body. H1_NONE is done at once. */
void h1_body_init(struct h1_body *b, enum h1_framing framing, uint64_t length);

/*
 * h1_body_next(b, in, used, data):
 * Look at ${in}; ${used} of its bytes are taken.
 * ERR_OK: ${data} is a piece of content within ${in}, not empty; call again with the rest.
 * ERR_EOF: the body is complete; what lies behind ${used} belongs to the next message.
 * ERR_SHORT: all of ${in} is used and more is to come.
 * ERR_BAD: malformed; b->why says how: "invalid byte in chunk length", "http chunk length too
 * large", "malformed chunked encoding", "chunk extension or trailer too long".
 */
enum err h1_body_next(struct h1_body *b, struct slice in, size_t *used,
                      struct slice *data) MUST_USE;

/* h1_body_close(b): the sender closed. ERR_OK if the body is complete by that, else ERR_SHORT. */
enum err h1_body_close(struct h1_body *b) MUST_USE;

#endif
