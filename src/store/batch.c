/*
 * batch.c: points copied out of the log, in order.
 *
 * Names and lines lie one behind the other in one buffer; the entries hold offsets into it, so that
 * it may move when it grows. What the points of a chunk share is a source and is kept once.
 */
#include "store/batch.h"

#include <assert.h>

#include "base/mem.h"

/* The largest body is 25 MiB; nobody asks for more in one batch. Offsets fit 32 bits. */
#define BATCH_BYTES_MAX (256u * 1024 * 1024)

struct batch_entry {
    uint64_t seq;
    int64_t timestamp_ns;
    uint32_t source;
    uint32_t measurement, measurement_size;
    uint32_t line, line_size;
};

struct batch_source {
    uint32_t database, database_size;
    uint32_t policy, policy_size;
};

void
batch_init(struct batch *b)
{
    *b = (struct batch){0};
    buf_init(&b->bytes, BATCH_BYTES_MAX);
}

void
batch_free(struct batch *b)
{
    mem_free(b->entries);
    mem_free(b->sources);
    buf_free(&b->bytes);
    batch_init(b);
}

void
batch_clear(struct batch *b)
{
    b->count = 0;
    b->source_count = 0;
    b->line_bytes = 0;
    buf_clear(&b->bytes);
}

size_t
batch_bytes(const struct batch *b)
{
    return b->line_bytes;
}

static struct slice
at(const struct batch *b, uint32_t offset, uint32_t size)
{
    return slice_to(slice_from(buf_peek(&b->bytes), offset), size);
}

struct batch_point
batch_point(const struct batch *b, size_t i)
{
    const struct batch_entry *e;
    const struct batch_source *source;

    assert(i < b->count);
    e = &b->entries[i];
    source = &b->sources[e->source];
    return (struct batch_point){
        .seq = e->seq,
        .timestamp_ns = e->timestamp_ns,
        .database = at(b, source->database, source->database_size),
        .policy = at(b, source->policy, source->policy_size),
        .measurement = at(b, e->measurement, e->measurement_size),
        .line = at(b, e->line, e->line_size),
    };
}

/* Room for one more of ${size} bytes behind ${count} of ${*items}. */
static enum err
grow(void **items, size_t count, size_t *cap, size_t size)
{
    size_t wanted = *cap == 0 ? 16 : *cap * 2;
    void *bigger;

    if (count < *cap)
        return ERR_OK;
    if (wanted > SIZE_MAX / size)
        return ERR_NOMEM;
    bigger = mem_resize(*items, wanted * size);
    if (bigger == NULL)
        return ERR_NOMEM;
    *items = bigger;
    *cap = wanted;
    return ERR_OK;
}

static enum err
copy(struct batch *b, struct slice s, uint32_t *offset)
{
    size_t length = buf_len(&b->bytes);

    if (buf_add(&b->bytes, s) != ERR_OK)
        return ERR_NOMEM;
    *offset = (uint32_t)length;
    return ERR_OK;
}

enum err
batch_source(struct batch *b, struct slice database, struct slice policy)
{
    struct batch_source source = {0};
    size_t length = buf_len(&b->bytes);
    void *sources = b->sources;

    if (b->source_count > 0) {
        source = b->sources[b->source_count - 1];
        if (slice_eq(at(b, source.database, source.database_size), database) &&
            slice_eq(at(b, source.policy, source.policy_size), policy))
            return ERR_OK;
    }
    if (grow(&sources, b->source_count, &b->source_cap, sizeof(*b->sources)) != ERR_OK)
        return ERR_NOMEM;
    b->sources = sources;
    if (copy(b, database, &source.database) != ERR_OK ||
        copy(b, policy, &source.policy) != ERR_OK) {
        buf_cut(&b->bytes, length);
        return ERR_NOMEM;
    }
    source.database_size = (uint32_t)database.n;
    source.policy_size = (uint32_t)policy.n;
    b->sources[b->source_count++] = source;
    return ERR_OK;
}

enum err
batch_add(struct batch *b, uint64_t seq, int64_t timestamp_ns, struct slice measurement,
          struct slice line)
{
    const struct batch_entry *last = b->count == 0 ? NULL : &b->entries[b->count - 1];
    struct batch_entry e = {.seq = seq, .timestamp_ns = timestamp_ns};
    size_t length = buf_len(&b->bytes);
    void *entries = b->entries;

    assert(b->source_count > 0);
    e.source = (uint32_t)(b->source_count - 1);
    e.measurement_size = (uint32_t)measurement.n;
    e.line_size = (uint32_t)line.n;
    if (last != NULL && slice_eq(at(b, last->measurement, last->measurement_size), measurement))
        e.measurement = last->measurement;
    else if (copy(b, measurement, &e.measurement) != ERR_OK)
        return ERR_NOMEM;
    if (copy(b, line, &e.line) != ERR_OK ||
        grow(&entries, b->count, &b->entries_cap, sizeof(*b->entries)) != ERR_OK) {
        buf_cut(&b->bytes, length);
        return ERR_NOMEM;
    }
    b->entries = entries;
    b->entries[b->count++] = e;
    b->line_bytes += line.n;
    return ERR_OK;
}
