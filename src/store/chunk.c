/*
 * chunk.c: write and read the bytes of a log record. See chunk.h for the format.
 *
 * The builder fills a chunk in place: lines go straight from the body into the buffer, the index
 * grows beside them in the builder and follows when the chunk is closed. The reader checks every
 * length once, in chunk_open(), so that stepping through points needs no checks.
 */
#include "store/chunk.h"

#include "base/crc32c.h"
#include "base/wire.h"
#include "point/point.h"

#define VERSION 1
#define VARINT_MAX 10u /* bytes of the longest varint */
#define SLOTS 512u
#define LENGTH_WORD 4u
#define CRC_FROM 8u
#define LMDB_PAGE_HEAD 16u

static size_t
put_varint(uint8_t *p, uint64_t v)
{
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        p[n++] = (uint8_t)(v | 0x80);
    p[n++] = (uint8_t)v;
    return n;
}

static uint64_t
zigzag(int64_t to, int64_t from)
{
    uint64_t d = (uint64_t)to - (uint64_t)from;

    return d << 1 ^ (0 - (d >> 63));
}

static int64_t
unzigzag(uint64_t z, int64_t from)
{
    return (int64_t)((uint64_t)from + (z >> 1 ^ (0 - (z & 1))));
}

enum err
chunk_builder_init(struct chunk_builder *b, struct buf *out, size_t limit,
                   const struct chunk_origin *origin)
{
    if (limit < CHUNK_LIMIT_MIN || origin->db.n > CHUNK_NAME_BYTES_MAX ||
        origin->rp.n > CHUNK_NAME_BYTES_MAX)
        return ERR_RANGE;
    b->out = out;
    b->origin = *origin;
    b->limit = limit;
    b->count = 0;
    b->points = b->chunks = b->pages = 0;
    return ERR_OK;
}

/* What stands before the lines in a chunk. */
static size_t
head_bytes(const struct chunk_builder *b)
{
    return CHUNK_HEAD + b->origin.db.n + b->origin.rp.n;
}

static enum err
begin(struct chunk_builder *b, int64_t time_ns)
{
    size_t n = LENGTH_WORD + head_bytes(b);
    uint8_t *p = buf_reserve(b->out, n);

    if (p == NULL)
        return ERR_NOMEM;
    memset(p, 0, LENGTH_WORD + CHUNK_HEAD);
    if (b->origin.db.n > 0)
        memcpy(p + LENGTH_WORD + CHUNK_HEAD, b->origin.db.p, b->origin.db.n);
    if (b->origin.rp.n > 0)
        memcpy(p + n - b->origin.rp.n, b->origin.rp.p, b->origin.rp.n);
    b->base = buf_len(b->out);
    buf_commit(b->out, n);
    b->lines = b->index_bytes = b->name_bytes = 0;
    b->name_count = b->last_name = 0;
    b->base_ns = b->last_ns = time_ns;
    memset(b->slots, 0, sizeof(b->slots));
    return ERR_OK;
}

static const uint8_t *
lines_at(const struct chunk_builder *b)
{
    return buf_peek(b->out).p + b->base + LENGTH_WORD + head_bytes(b);
}

static bool
is_name(const struct chunk_builder *b, uint32_t number, struct slice raw)
{
    const struct chunk_name *name = &b->names[number];

    return name->raw == raw.n && memcmp(lines_at(b) + name->offset, raw.p, raw.n) == 0;
}

/* The number of the measurement ${raw} in the open chunk; name_count when it is new: ${slot} is
 * then where its number goes. */
static uint32_t
find_name(const struct chunk_builder *b, struct slice raw, uint32_t *slot)
{
    uint32_t hash =
        (uint32_t)raw.n * 37 + raw.p[0] + raw.p[raw.n / 2] * 59U + raw.p[raw.n - 1] * 11U;

    if (b->name_count > 0 && is_name(b, b->last_name, raw))
        return b->last_name;
    for (hash %= SLOTS; b->slots[hash] != 0; hash = (hash + 1) % SLOTS)
        if (is_name(b, b->slots[hash] - 1U, raw))
            return b->slots[hash] - 1U;
    *slot = hash;
    return b->name_count;
}

/* One point on its way into a chunk. */
struct entry {
    size_t line; /* bytes of its line */
    uint32_t name, slot;
    size_t name_bytes; /* of a new name in the table, at most; else 0 */
    size_t index_bytes;
    uint8_t index[3 * VARINT_MAX];
};

static void
prepare(const struct chunk_builder *b, const struct lineproto_point *point, struct entry *entry)
{
    uint8_t *p = entry->index;

    entry->line = point->key.n + 1 + point->fields.n;
    entry->name = find_name(b, point->measurement, &entry->slot);
    entry->name_bytes = 0;
    if (entry->name == b->name_count) {
        uint8_t scratch[VARINT_MAX];
        entry->name_bytes = put_varint(scratch, point->measurement.n * 2 + point->escaped);
        entry->name_bytes += point->escaped ? point->measurement.n : put_varint(scratch, b->lines);
    }
    p += put_varint(p, entry->line);
    p += put_varint(p, entry->name);
    p += put_varint(p, zigzag(point->time_ns, b->last_ns));
    entry->index_bytes = (size_t)(p - entry->index);
}

/* Whether the open chunk has room for one more. */
static bool
fits(const struct chunk_builder *b, const struct entry *entry)
{
    return head_bytes(b) + b->lines + b->index_bytes + b->name_bytes + entry->line +
                   entry->index_bytes + entry->name_bytes <=
               b->limit &&
           b->index_bytes + entry->index_bytes <= CHUNK_INDEX_MAX && entry->name < CHUNK_NAMES_MAX;
}

static enum err
put_entry(struct chunk_builder *b, const struct lineproto_point *point, const struct entry *entry)
{
    uint8_t *p = buf_reserve(b->out, entry->line);

    if (p == NULL)
        return ERR_NOMEM;
    memcpy(p, point->key.p, point->key.n);
    p[point->key.n] = ' ';
    memcpy(p + point->key.n + 1, point->fields.p, point->fields.n);
    buf_commit(b->out, entry->line);
    if (entry->name == b->name_count) {
        b->names[entry->name] =
            (struct chunk_name){(uint32_t)b->lines, (uint32_t)point->measurement.n, point->escaped};
        b->slots[entry->slot] = (uint8_t)(entry->name + 1);
        b->name_count++;
    }
    memcpy(b->index + b->index_bytes, entry->index, entry->index_bytes);
    b->index_bytes += entry->index_bytes;
    b->name_bytes += entry->name_bytes;
    b->lines += entry->line;
    b->last_name = entry->name;
    b->last_ns = point->time_ns;
    b->count++;
    b->points++;
    return ERR_OK;
}

enum err
chunk_builder_add(struct chunk_builder *b, const struct lineproto_point *point)
{
    struct entry entry;
    enum err err = ERR_OK;

    if (point->key.n + point->fields.n >= UINT32_MAX / 2)
        return ERR_NOMEM;
    if (b->count > 0) {
        prepare(b, point, &entry);
        if (fits(b, &entry))
            return put_entry(b, point, &entry);
        err = chunk_builder_finish(b);
    }
    if (err == ERR_OK)
        err = begin(b, point->time_ns);
    if (err != ERR_OK)
        return err;
    prepare(b, point, &entry);
    return put_entry(b, point, &entry);
}

/* The table of names, at ${p}, which has room for name_bytes. Returns its length. */
static size_t
put_names(const struct chunk_builder *b, uint8_t *p)
{
    uint8_t *start = p;

    for (uint32_t i = 0; i < b->name_count; i++) {
        const struct chunk_name *name = &b->names[i];
        struct slice raw = slice_make(lines_at(b) + name->offset, name->raw);
        if (!name->escaped) {
            p += put_varint(p, (uint64_t)name->raw * 2);
            p += put_varint(p, name->offset);
            continue;
        }
        /* The unescaped text is shorter than the raw one: its length must be known first. */
        uint8_t *text = p + VARINT_MAX;
        size_t n = point_unescape(POINT_MEASUREMENT, raw, text);
        p += put_varint(p, (uint64_t)n * 2 + 1);
        memmove(p, text, n);
        p += n;
    }
    return (size_t)(p - start);
}

static void
put_head(const struct chunk_builder *b, uint8_t *p, size_t n)
{
    const struct chunk_origin *origin = &b->origin;

    store_le32(p, (uint32_t)n);
    p += LENGTH_WORD;
    p[0] = VERSION;
    store_le32(p + 8, (uint32_t)n);
    store_le32(p + 12, b->count);
    store_le64(p + 16, (uint64_t)origin->accepted_ns);
    store_le64(p + 24, (uint64_t)origin->accepted_ms);
    store_le32(p + 32, origin->run);
    store_le32(p + 36, (uint32_t)b->lines);
    store_le32(p + 40, (uint32_t)b->index_bytes);
    store_le16(p + 44, (uint16_t)b->name_count);
    store_le16(p + 46, (uint16_t)origin->db.n);
    store_le16(p + 48, (uint16_t)origin->rp.n);
    store_le64(p + 52, (uint64_t)b->base_ns);
    store_le32(p + 4, crc32c(0, p + CRC_FROM, n - CRC_FROM));
}

enum err
chunk_builder_finish(struct chunk_builder *b)
{
    uint8_t *p;
    size_t n;

    if (b->count == 0)
        return ERR_OK;
    p = buf_reserve(b->out, b->index_bytes + b->name_bytes + VARINT_MAX);
    if (p == NULL)
        return ERR_NOMEM;
    memcpy(p, b->index, b->index_bytes);
    buf_commit(b->out, b->index_bytes + put_names(b, p + b->index_bytes));
    n = buf_len(b->out) - b->base - LENGTH_WORD;
    put_head(b, p - (head_bytes(b) + b->lines + LENGTH_WORD), n);
    b->count = 0;
    b->chunks++;
    b->pages += (n + LMDB_PAGE_HEAD + b->limit + LMDB_PAGE_HEAD - 1) / (b->limit + LMDB_PAGE_HEAD);
    return ERR_OK;
}

bool
chunk_split(struct slice *rest, struct slice *chunk)
{
    uint32_t n;

    if (rest->n < LENGTH_WORD)
        return false;
    n = load_le32(rest->p);
    if (n > rest->n - LENGTH_WORD)
        return false;
    *chunk = slice_make(rest->p + LENGTH_WORD, n);
    *rest = slice_from(*rest, LENGTH_WORD + (size_t)n);
    return true;
}

/* Reads a varint at ${at} of ${s}; false at one that is cut or too long. */
static inline bool
get_varint(struct slice s, size_t *at, uint64_t *v)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && *at < s.n; shift += 7) {
        uint8_t byte = s.p[(*at)++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *v = value;
            return true;
        }
    }
    return false;
}

/* The fixed part. ${names} gets what follows the index. */
static enum err
read_head(struct slice value, struct chunk *chunk, struct slice *names)
{
    const uint8_t *p = value.p;
    struct chunk_origin *origin = &chunk->origin;
    size_t db, rp;
    uint64_t lines, index;

    if (value.n < CHUNK_HEAD)
        return ERR_BAD;
    if (p[0] != VERSION)
        return ERR_CONFIG;
    db = load_le16(p + 46);
    rp = load_le16(p + 48);
    lines = load_le32(p + 36);
    index = load_le32(p + 40);
    if (p[1] != 0 || load_le16(p + 2) != 0 || load_le16(p + 50) != 0 ||
        load_le32(p + 8) != value.n || CHUNK_HEAD + db + rp + lines + index > value.n)
        return ERR_BAD;
    chunk->count = load_le32(p + 12);
    chunk->name_count = 0;
    chunk->base_ns = (int64_t)load_le64(p + 52);
    origin->accepted_ns = (int64_t)load_le64(p + 16);
    origin->accepted_ms = (int64_t)load_le64(p + 24);
    origin->run = load_le32(p + 32);
    origin->db = slice_make(p + CHUNK_HEAD, db);
    origin->rp = slice_make(p + CHUNK_HEAD + db, rp);
    chunk->lines = slice_make(origin->rp.p + rp, (size_t)lines);
    chunk->index = slice_make(chunk->lines.p + lines, (size_t)index);
    *names = slice_from(value, CHUNK_HEAD + db + rp + (size_t)lines + (size_t)index);
    return chunk->count > 0 ? ERR_OK : ERR_BAD;
}

enum err
chunk_header(struct slice value, struct chunk *chunk)
{
    struct slice names;

    return read_head(value, chunk, &names);
}

static bool
read_names(struct chunk *chunk, struct slice table, uint32_t count)
{
    size_t at = 0;
    uint64_t word, offset;

    for (uint32_t i = 0; i < count; i++) {
        struct slice from = table;
        if (!get_varint(table, &at, &word))
            return false;
        offset = at;
        if ((word & 1) == 0) {
            from = chunk->lines;
            if (!get_varint(table, &at, &offset))
                return false;
        }
        if (offset > from.n || word / 2 > from.n - offset)
            return false;
        chunk->names[i] = slice_make(from.p + offset, (size_t)(word / 2));
        if ((word & 1) != 0)
            at += (size_t)(word / 2);
    }
    chunk->name_count = count;
    return at == table.n;
}

/* Whether the index names lines that fill the space exactly. */
static bool
check_index(const struct chunk *chunk)
{
    size_t at = 0;
    uint64_t left = chunk->lines.n, line, name, time;

    for (uint32_t i = 0; i < chunk->count; i++) {
        if (!get_varint(chunk->index, &at, &line) || !get_varint(chunk->index, &at, &name) ||
            !get_varint(chunk->index, &at, &time))
            return false;
        if (line == 0 || line > left || name >= chunk->name_count)
            return false;
        left -= line;
    }
    return left == 0 && at == chunk->index.n;
}

enum err
chunk_open(struct slice value, struct chunk *chunk)
{
    struct slice names;
    enum err err = read_head(value, chunk, &names);
    uint32_t count;

    if (err != ERR_OK)
        return err;
    if (load_le32(value.p + 4) != crc32c(0, value.p + CRC_FROM, value.n - CRC_FROM))
        return ERR_BAD;
    count = load_le16(value.p + 44);
    if (count > CHUNK_NAMES_MAX || !read_names(chunk, names, count) || !check_index(chunk))
        return ERR_BAD;
    return ERR_OK;
}

void
chunk_first(struct chunk_cursor *cursor, const struct chunk *chunk)
{
    *cursor = (struct chunk_cursor){.chunk = chunk, .time_ns = chunk->base_ns};
}

bool
chunk_next(struct chunk_cursor *cursor, struct chunk_point *point)
{
    const struct chunk *chunk = cursor->chunk;
    uint64_t line, name, time;

    if (cursor->at >= chunk->count || !get_varint(chunk->index, &cursor->index, &line) ||
        !get_varint(chunk->index, &cursor->index, &name) ||
        !get_varint(chunk->index, &cursor->index, &time))
        return false;
    cursor->time_ns = unzigzag(time, cursor->time_ns);
    point->line = slice_make(chunk->lines.p + cursor->line, (size_t)line);
    point->name = (uint32_t)name;
    point->measurement = chunk->names[name];
    point->time_ns = cursor->time_ns;
    cursor->line += (size_t)line;
    cursor->at++;
    return true;
}

void
chunk_skip(struct chunk_cursor *cursor, uint32_t n)
{
    struct chunk_point point;

    while (n > 0 && chunk_next(cursor, &point))
        n--;
}
