/*
 * gzip.c: zlib behind bounded buffers. Not for: raw deflate, zlib framing or files.
 *
 * zlib takes one member at a time. The first ten bytes of each are gathered here before it sees
 * them, so that what is no gzip at all is told from what was cut, in the words that InfluxDB has
 * for both: a rest of fewer than ten bytes is always "unexpected EOF".
 */
#include "base/gzip.h"

#include "config.h"

#ifdef SINKD_HAVE_ZLIB

#include <assert.h>
#include <limits.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

#include "base/mem.h"

#define HEADER_BYTES 10       /* RFC 1952 section 2.3: the fixed part */
#define GZIP_WINDOW (15 + 16) /* the largest window, in gzip framing */
#define OUT_STEP 16384

struct gzip_reader {
    z_stream z;
    uint8_t header[HEADER_BYTES];
    size_t gathered; /* bytes of the header so far */
    bool in_member;  /* zlib has the header and wants more */
    bool whole;      /* at least one member was complete */
    enum err failed; /* sticky until the reset */
};

struct gzip_writer {
    z_stream z;
};

bool
gzip_available(void)
{
    return true;
}

const char *
gzip_version(void)
{
    return zlibVersion();
}

static voidpf
zlib_alloc(voidpf opaque, uInt items, uInt size)
{
    (void)opaque;
    return mem_array(items, size);
}

static void
zlib_free(voidpf opaque, voidpf p)
{
    (void)opaque;
    mem_free(p);
}

struct gzip_reader *
gzip_reader_open(void)
{
    struct gzip_reader *r = mem_zalloc(sizeof(*r));

    if (r == NULL)
        return NULL;
    r->z.zalloc = zlib_alloc;
    r->z.zfree = zlib_free;
    if (inflateInit2(&r->z, GZIP_WINDOW) != Z_OK) {
        mem_free(r);
        return NULL;
    }
    return r;
}

void
gzip_reader_close(struct gzip_reader *r)
{
    if (r == NULL)
        return;
    (void)inflateEnd(&r->z);
    mem_free(r);
}

void
gzip_reader_reset(struct gzip_reader *r)
{
    int status = inflateReset(&r->z);

    assert(status == Z_OK);
    r->gathered = 0;
    r->in_member = false;
    r->whole = false;
    r->failed = ERR_OK;
}

/* zlib tells its data errors apart by their texts alone. */
static enum err
data_error(const char *message, struct errinfo *info)
{
    if (message != NULL &&
        (strstr(message, "data check") != NULL || strstr(message, "length check") != NULL))
        return errinfo_set(info, ERR_BAD, "gzip: invalid checksum");
    if (message != NULL &&
        (strstr(message, "header") != NULL || strstr(message, "compression method") != NULL))
        return errinfo_set(info, ERR_BAD, "gzip: invalid header");
    return errinfo_set(info, ERR_BAD, "flate: corrupt input");
}

/* Runs zlib once, into room in ${out} or, when that is at its maximum, into one spare byte: the
 * member may still end without giving any. */
static enum err
inflate_step(struct gzip_reader *r, struct buf *out, struct errinfo *info)
{
    size_t room = out->max - buf_len(out);
    size_t step = room < OUT_STEP ? room : OUT_STEP;
    uint8_t spare;
    uint8_t *to = step == 0 ? &spare : buf_reserve(out, step);

    if (to == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory to inflate the body");
    r->z.next_out = to;
    r->z.avail_out = step == 0 ? 1 : (uInt)step;
    int status = inflate(&r->z, Z_NO_FLUSH);
    if (step == 0 && r->z.avail_out == 0)
        return errinfo_set(info, ERR_RANGE, "the inflated body is larger than %zu bytes", out->max);
    if (step > 0)
        buf_commit(out, step - r->z.avail_out);

    switch (status) {
    case Z_OK:
    case Z_BUF_ERROR: /* no progress: it wants more input */
        return ERR_OK;
    case Z_STREAM_END:
        r->in_member = false;
        r->whole = true;
        r->gathered = 0;
        return inflateReset(&r->z) == Z_OK ? ERR_OK : ERR_BAD;
    case Z_MEM_ERROR:
        return errinfo_set(info, ERR_NOMEM, "no memory to inflate the body");
    default:
        return data_error(status == Z_NEED_DICT ? NULL : r->z.msg, info);
    }
}

/* Inflates from ${in} until it is used up or the member ends; cuts ${in} to what is left. */
static enum err
inflate_some(struct gzip_reader *r, struct slice *in, struct buf *out, struct errinfo *info)
{
    uInt given = in->n > UINT_MAX ? UINT_MAX : (uInt)in->n;
    enum err err;

    r->z.next_in = in->p;
    r->z.avail_in = given;
    do
        err = inflate_step(r, out, info);
    while (err == ERR_OK && r->in_member && (r->z.avail_in > 0 || r->z.avail_out == 0));
    *in = slice_from(*in, given - r->z.avail_in);
    return err;
}

/* Gathers the fixed part of a header and gives it to zlib once it is whole and looks like one. */
static enum err
begin_member(struct gzip_reader *r, struct slice *in, struct buf *out, struct errinfo *info)
{
    size_t wanted = HEADER_BYTES - r->gathered;
    struct slice part = slice_to(*in, wanted);

    memcpy(r->header + r->gathered, part.p, part.n);
    r->gathered += part.n;
    *in = slice_from(*in, part.n);
    if (r->gathered < HEADER_BYTES)
        return ERR_OK;
    if (r->header[0] != 0x1f || r->header[1] != 0x8b || r->header[2] != Z_DEFLATED)
        return errinfo_set(info, ERR_BAD, "gzip: invalid header");

    struct slice header = slice_make(r->header, HEADER_BYTES);
    r->in_member = true;
    return inflate_some(r, &header, out, info);
}

enum err
gzip_reader_feed(struct gzip_reader *r, struct slice in, struct buf *out, struct errinfo *info)
{
    if (r->failed != ERR_OK)
        return errinfo_set(info, r->failed, "the gzip body failed before");
    while (in.n > 0 && r->failed == ERR_OK)
        r->failed =
            r->in_member ? inflate_some(r, &in, out, info) : begin_member(r, &in, out, info);
    return r->failed;
}

enum err
gzip_reader_end(const struct gzip_reader *r, struct errinfo *info)
{
    if (r->failed != ERR_OK)
        return errinfo_set(info, r->failed, "the gzip body failed before");
    if (r->in_member || r->gathered > 0)
        return errinfo_set(info, ERR_SHORT, "unexpected EOF");
    return r->whole ? ERR_OK : errinfo_set(info, ERR_SHORT, "EOF");
}

struct gzip_writer *
gzip_writer_open(int level)
{
    assert(level >= 1 && level <= 9);
    struct gzip_writer *w = mem_zalloc(sizeof(*w));

    if (w == NULL)
        return NULL;
    w->z.zalloc = zlib_alloc;
    w->z.zfree = zlib_free;
    if (deflateInit2(&w->z, level, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        mem_free(w);
        return NULL;
    }
    return w;
}

void
gzip_writer_close(struct gzip_writer *w)
{
    if (w == NULL)
        return;
    (void)deflateEnd(&w->z);
    mem_free(w);
}

/* Packs until the stream ends or ${out} is full. */
static enum err
deflate_all(z_stream *z, struct slice in, struct buf *out)
{
    int status = Z_OK;

    z->next_in = in.p;
    z->avail_in = 0;
    while (status != Z_STREAM_END) {
        size_t room = out->max - buf_len(out);
        size_t step = room < OUT_STEP ? room : OUT_STEP;
        uint8_t *to = step == 0 ? NULL : buf_reserve(out, step);
        if (to == NULL)
            return ERR_NOMEM;
        if (z->avail_in == 0 && in.n > 0) {
            z->avail_in = in.n > UINT_MAX ? UINT_MAX : (uInt)in.n;
            in = slice_from(in, z->avail_in);
        }
        z->next_out = to;
        z->avail_out = (uInt)step;
        status = deflate(z, in.n > 0 ? Z_NO_FLUSH : Z_FINISH);
        assert(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR);
        buf_commit(out, step - z->avail_out);
    }
    return ERR_OK;
}

enum err
gzip_writer_pack(struct gzip_writer *w, struct slice in, struct buf *out)
{
    size_t before = buf_len(out);
    enum err err = deflate_all(&w->z, in, out);
    int status = deflateReset(&w->z);

    assert(status == Z_OK);
    if (err != ERR_OK)
        buf_cut(out, before);
    return err;
}

#else /* no zlib */

bool
gzip_available(void)
{
    return false;
}

const char *
gzip_version(void)
{
    return "none";
}

struct gzip_reader *
gzip_reader_open(void)
{
    return NULL;
}

void
gzip_reader_close(struct gzip_reader *r)
{
    (void)r;
}

void
gzip_reader_reset(struct gzip_reader *r)
{
    (void)r;
}

enum err
gzip_reader_feed(struct gzip_reader *r, struct slice in, struct buf *out, struct errinfo *info)
{
    (void)r;
    (void)in;
    (void)out;
    return errinfo_set(info, ERR_CONFIG, "this sinkd was built without zlib: no gzip");
}

enum err
gzip_reader_end(const struct gzip_reader *r, struct errinfo *info)
{
    (void)r;
    return errinfo_set(info, ERR_CONFIG, "this sinkd was built without zlib: no gzip");
}

struct gzip_writer *
gzip_writer_open(int level)
{
    (void)level;
    return NULL;
}

void
gzip_writer_close(struct gzip_writer *w)
{
    (void)w;
}

enum err
gzip_writer_pack(struct gzip_writer *w, struct slice in, struct buf *out)
{
    (void)w;
    (void)in;
    (void)out;
    return ERR_CONFIG;
}

#endif
