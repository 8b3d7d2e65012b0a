/*
 * gzip.h: gzip bodies, bounded both ways. The only file that includes zlib is gzip.c.
 *
 * Source: RFC 1952. A stream is kept and reset between bodies (setting one up costs more than
 * packing a small body). Built without zlib, every call answers ERR_CONFIG and gzip_available() is
 * false.
 */
#ifndef SINKD_BASE_GZIP_H
#define SINKD_BASE_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

bool gzip_available(void);
const char *gzip_version(void); /* the library's version, or "none" */

struct gzip_reader;
struct gzip_writer;

/* gzip_reader_open(): NULL without memory or without zlib. Members may follow one another. */
struct gzip_reader *gzip_reader_open(void) MUST_USE;
void gzip_reader_close(struct gzip_reader *r);
void gzip_reader_reset(struct gzip_reader *r);

/*
 * gzip_reader_feed(r, in, out):
 * Inflate ${in} and append to ${out}, whose maximum is the limit on the inflated size.
 * Errors: ERR_BAD (not gzip, damaged, wrong checksum), ERR_RANGE (${out} would pass its maximum),
 * ERR_NOMEM. ${info} says which in InfluxDB's words: "gzip: invalid header", "gzip: invalid
 * checksum".
 */
enum err gzip_reader_feed(struct gzip_reader *r, struct slice in, struct buf *out,
                          struct errinfo *info) MUST_USE;

/* gzip_reader_end(r, info): ERR_OK at the end of a member; else ERR_SHORT, "unexpected EOF" or
 * "EOF". */
enum err gzip_reader_end(const struct gzip_reader *r, struct errinfo *info) MUST_USE;

/* gzip_writer_open(level): level 1 to 9. */
struct gzip_writer *gzip_writer_open(int level) MUST_USE;
void gzip_writer_close(struct gzip_writer *w);

/* gzip_writer_pack(w, in, out): append ${in} as one gzip member to ${out}. ERR_NOMEM. */
enum err gzip_writer_pack(struct gzip_writer *w, struct slice in, struct buf *out) MUST_USE;

#endif
