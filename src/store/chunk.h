/*
 * chunk.h: the bytes of one log record. Pure: no store, no clock.
 *
 * A chunk holds points of one database and retention policy that were accepted together. It is at
 * most the limit given (LMDB's page size - 16) unless it holds a single larger point. Integers are
 * little-endian; a varint is seven bits a byte, low ones first, the top bit says that more follow.
 *
 *   0 u8 version (1) | 1 u8 flags (0) | 2 u16 zero | 4 u32 CRC-32C of all that follows
 *   8 u32 length of the chunk | 12 u32 count of points | 16 i64 time accepted, ns since 1970
 *  24 i64 monotonic ms at acceptance | 32 u32 run | 36 u32 bytes of lines | 40 u32 bytes of index
 *  44 u16 count of names | 46 u16 bytes of database | 48 u16 bytes of retention policy | 50 u16
 * zero
 *  52 i64 base timestamp, ns
 *  60 database | retention policy | lines | index | names
 *
 * lines: each is key, one space, fields; without timestamp and without separator.
 * index, an entry a point: varint length of the line | varint number of its name |
 *        varint zigzag(timestamp - the one before; of the first one: - base)
 * names, measurements unescaped: varint length * 2 + own | own: the bytes; else varint offset of
 *        the name in lines
 */
#ifndef SINKD_STORE_CHUNK_H
#define SINKD_STORE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "point/lineproto.h"

#define CHUNK_HEAD 60u
#define CHUNK_NAMES_MAX 255u      /* measurements in one chunk; then the next one begins */
#define CHUNK_NAME_BYTES_MAX 255u /* of a database or retention policy */
#define CHUNK_INDEX_MAX 4096u     /* bytes of index in one chunk; then the next one begins */
#define CHUNK_LIMIT_MIN 1024u     /* smallest limit */

/* Where points come from. Slices are borrowed. */
struct chunk_origin {
    struct slice db, rp; /* rp may be empty: the default one */
    int64_t accepted_ns; /* wall clock */
    int64_t accepted_ms; /* monotonic clock of that run */
    uint32_t run;        /* which run of the daemon */
};

/* ---- building ---- */

struct chunk_name {       /* private */
    uint32_t offset, raw; /* in the lines of the chunk */
    bool escaped;
};

/*
 * A builder turns points into finished chunks, one behind the other in a buffer of the caller:
 * each is a u32 length (little-endian) and that many bytes; chunk_split() takes them apart.
 */
struct chunk_builder {
    struct buf *out;
    struct chunk_origin origin;
    size_t limit;
    size_t base;  /* private: of the open chunk's length word, from the head of out */
    size_t lines; /* private: bytes of lines so far */
    size_t index_bytes, name_bytes;
    uint32_t count; /* private: points in the open chunk; 0: none is open */
    uint32_t name_count, last_name;
    int64_t base_ns, last_ns;
    uint64_t points;    /* in all, the open chunk's too */
    uint64_t chunks;    /* finished ones */
    uint64_t pages;     /* that the finished ones take, of limit + 16 bytes each */
    uint8_t slots[512]; /* private: name number + 1 by hash */
    struct chunk_name names[CHUNK_NAMES_MAX];
    uint8_t index[CHUNK_INDEX_MAX];
};

/*
 * chunk_builder_init(b, out, limit, origin):
 * Append to ${out}, which is kept, as the origin's slices are, until the end. Nothing to free.
 * Errors: ERR_RANGE: database or retention policy over CHUNK_NAME_BYTES_MAX, or limit too small.
 */
enum err chunk_builder_init(struct chunk_builder *b, struct buf *out, size_t limit,
                            const struct chunk_origin *origin) MUST_USE;

/* chunk_builder_add(b, point): copy one point in. ERR_NOMEM (${out} is at its maximum): give up. */
enum err chunk_builder_add(struct chunk_builder *b, const struct lineproto_point *point) MUST_USE;

/* chunk_builder_finish(b): close the last chunk. More points may follow in a new one. ERR_NOMEM. */
enum err chunk_builder_finish(struct chunk_builder *b) MUST_USE;

/* chunk_split(rest, chunk): the next chunk of what a builder wrote; false at the end. */
bool chunk_split(struct slice *rest, struct slice *chunk);

/* ---- reading ---- */

struct chunk {
    struct chunk_origin origin;          /* slices of the value */
    uint32_t count;                      /* points */
    uint32_t name_count;                 /* 0 after chunk_header() */
    struct slice names[CHUNK_NAMES_MAX]; /* measurements, unescaped */
    struct slice lines, index;           /* private */
    int64_t base_ns;                     /* private */
};

/*
 * chunk_header(value, chunk):
 * Fill in origin and count alone: no checksum, no look at the points.
 * Errors: ERR_BAD: not a chunk, or cut; ERR_CONFIG: a version that this program does not know.
 */
enum err chunk_header(struct slice value, struct chunk *chunk) MUST_USE;

/*
 * chunk_open(value, chunk):
 * Check the checksum and every length, and read the table of names. ${value} must outlive the
 * chunk. After ERR_OK, reading the points cannot fail. Errors: as chunk_header; ERR_BAD: damaged.
 */
enum err chunk_open(struct slice value, struct chunk *chunk) MUST_USE;

/* One point of a chunk. */
struct chunk_point {
    struct slice line;        /* key, space, fields: point_open() it */
    struct slice measurement; /* unescaped: chunk.names[name] */
    uint32_t name;
    int64_t time_ns;
};

/* A place in a chunk. */
struct chunk_cursor {
    const struct chunk *chunk;
    uint32_t at;        /* the number of the next point, from 0 */
    size_t line, index; /* private */
    int64_t time_ns;    /* private */
};

/* chunk_first(cursor, chunk): before the first point of an opened chunk, which is kept.
 * chunk_skip(cursor, n): step over ${n} points, at most to the end.
 * chunk_next(cursor, point): the next point; false at the end. */
void chunk_first(struct chunk_cursor *cursor, const struct chunk *chunk);
void chunk_skip(struct chunk_cursor *cursor, uint32_t n);
bool chunk_next(struct chunk_cursor *cursor, struct chunk_point *point);

#endif
