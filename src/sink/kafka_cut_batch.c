/*
 * kafka_cut_batch.c: the batches of a cut: made, sent again, split, given up. See kafka_cut.h.
 */
#include "sink/kafka_cut_internal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "kafka/kafka_record.h"

struct kafka_cut_lane *
kafka_cut_lane(struct kafka_cut *cut, const struct kafka_cut_batch *b)
{
    return &cut->topics[b->topic].lanes[b->partition];
}

/* Give up all batches. Where one may have been written, the next must not take its number. */
void
kafka_cut_give_up(struct kafka_cut *cut)
{
    for (size_t i = 0; i < cut->batch_count; i++) {
        struct kafka_cut_batch *b = &cut->batches[i];
        struct kafka_cut_lane *lane = kafka_cut_lane(cut, b);

        if (b->resolved)
            continue;
        lane->gap = lane->gap || b->stamped;
        lane->batch = lane->last = KAFKA_CUT_NONE;
    }
    cut->batch_count = cut->order_count = cut->unresolved = 0;
    buf_clear(&cut->bytes);
    if (cut->point_count > 0) {
        memset(cut->taken, 0, cut->point_count);
        memset(cut->topic_of, 0xff, cut->point_count * sizeof(*cut->topic_of));
    }
}

enum err
kafka_cut_out_of_memory(struct kafka_cut *cut, struct errinfo *info)
{
    for (size_t t = 0; t < cut->topics_cap; t++) {
        for (uint32_t i = 0; i < cut->topics[t].lane_count; i++)
            cut->topics[t].lanes[i].head = KAFKA_CUT_NO_POINT;
    }
    kafka_cut_give_up(cut);
    return errinfo_set(info, ERR_NOMEM, "no memory for record batches");
}

/* ---- batches ---- */

static bool
room_for_batch(struct kafka_cut *cut)
{
    size_t cap = cut->batches_cap == 0 ? 16 : cut->batches_cap * 2;
    struct kafka_cut_batch *batches;

    if (cut->batch_count < cut->batches_cap)
        return true;
    batches = mem_resize(cut->batches, cap * sizeof(*batches));
    if (batches == NULL)
        return false;
    cut->batches = batches;
    cut->batches_cap = cap;
    return true;
}

static bool
room_for_order(struct kafka_cut *cut, size_t more)
{
    size_t cap = cut->order_count + more;
    struct kafka_cut_member *order;

    if (cap <= cut->order_cap)
        return true;
    order = mem_resize(cut->order, cap * sizeof(*order));
    if (order == NULL)
        return false;
    cut->order = order;
    cut->order_cap = cap;
    return true;
}

/* What one partition's points are made into: batches that hang behind one another. */
struct cutting {
    struct kafka_cut *cut;
    struct round *round;
    size_t topic;
    uint32_t partition;
    size_t max_bytes;
    uint32_t max_records;
    struct kafka_record_batch writer;
    bool open; /* a batch is under way */
    size_t first_batch, last_batch;
};

static enum err
open_batch(struct cutting *c)
{
    if (c->open)
        return ERR_OK;
    if (!room_for_batch(c->cut) || kafka_record_begin(&c->writer, &c->cut->bytes) != ERR_OK)
        return ERR_NOMEM;
    c->open = true;
    c->cut->batches[c->cut->batch_count] = (struct kafka_cut_batch){.topic = c->topic,
                                                                    .partition = c->partition,
                                                                    .first = c->cut->order_count,
                                                                    .at = c->writer.start,
                                                                    .next = KAFKA_CUT_NONE};
    return ERR_OK;
}

static enum err
close_batch(struct cutting *c)
{
    struct kafka_cut *cut = c->cut;
    struct kafka_cut_batch *b = &cut->batches[cut->batch_count];

    if (!c->open)
        return ERR_OK;
    c->open = false;
    b->raw_size = buf_len(&cut->bytes) - b->at;
    b->records = c->writer.count;
    b->count = cut->order_count - b->first;
    if (kafka_record_end(&c->writer, cut->gzip, &cut->packed) != ERR_OK)
        return ERR_NOMEM;
    b->size = buf_len(&cut->bytes) - b->at;
    if (c->first_batch == KAFKA_CUT_NONE)
        c->first_batch = cut->batch_count;
    else
        cut->batches[c->last_batch].next = cut->batch_count;
    c->last_batch = cut->batch_count++;
    cut->unresolved++;
    return ERR_OK;
}

static bool
fits(const struct cutting *c, const struct kafka_record *record, size_t limit)
{
    size_t used = c->open ? buf_len(&c->cut->bytes) - c->writer.start : KAFKA_RECORD_BATCH_HEAD;

    return used + kafka_record_bound(record) <= limit;
}

/* One record of the first of ${count} points; ${used} says how many are in it. */
static enum err
add_record(struct cutting *c, const uint32_t *members, size_t count, size_t *used)
{
    struct kafka_cut *cut = c->cut;
    struct kafka_record record;
    enum err err = kafka_value_make(&cut->value, &c->round->points, members, count,
                                    c->max_bytes - (c->max_bytes < 400 ? 0 : 200), &record, used);

    if (err == ERR_BAD) {
        kafka_cut_refuse(cut, c->round, members[0], "it is no line protocol");
        *used = 1;
        return ERR_OK;
    }
    if (err != ERR_OK)
        return err;
    if (c->open && (c->writer.count >= c->max_records || !fits(c, &record, c->max_bytes)))
        err = close_batch(c);
    if (err == ERR_OK && !c->open && !fits(c, &record, cut->max_bytes) && *used == 1) {
        kafka_cut_refuse(cut, c->round, members[0], "it is larger than max_message_bytes");
        return ERR_OK;
    }
    if (err == ERR_OK)
        err = open_batch(c);
    if (err == ERR_OK)
        err = kafka_record_add(&c->writer, &record);
    for (size_t i = 0; err == ERR_OK && i < *used; i++) {
        cut->order[cut->order_count++] = (struct kafka_cut_member){members[i], c->writer.count - 1};
        cut->taken[members[i]] = 1;
    }
    return err;
}

static enum err
add_records(struct cutting *c, const uint32_t *members, size_t count)
{
    enum err err = room_for_order(c->cut, count) ? ERR_OK : ERR_NOMEM;

    c->first_batch = c->last_batch = KAFKA_CUT_NONE;
    for (size_t i = 0, used; i < count && err == ERR_OK; i += used)
        err = add_record(c, members + i, count - i, &used);
    return err == ERR_OK ? close_batch(c) : err;
}

static size_t
batch_limit(const struct kafka_cut *cut, size_t topic)
{
    size_t learned = cut->topics[topic].max_bytes;

    return learned > 0 && learned < cut->max_bytes ? learned : cut->max_bytes;
}

/* The points queued for one partition; ${members} has room for them. */
enum err
kafka_cut_fill(struct kafka_cut *cut, struct round *round, size_t topic, uint32_t partition,
               uint32_t *members)
{
    struct kafka_cut_lane *lane = &cut->topics[topic].lanes[partition];
    struct cutting c = {.cut = cut,
                        .round = round,
                        .topic = topic,
                        .partition = partition,
                        .max_bytes = batch_limit(cut, topic),
                        .max_records = UINT32_MAX};
    size_t count = 0;
    enum err err;

    for (uint32_t i = lane->head; i != KAFKA_CUT_NO_POINT; i = cut->link[i])
        members[count++] = i;
    lane->head = lane->tail = KAFKA_CUT_NO_POINT;
    err = add_records(&c, members, count);
    if (err != ERR_OK || c.first_batch == KAFKA_CUT_NONE)
        return err;
    if (lane->batch == KAFKA_CUT_NONE)
        lane->batch = c.first_batch;
    else
        cut->batches[lane->last].next = c.first_batch;
    lane->last = c.last_batch;
    return ERR_OK;
}

/* ---- what became of a batch ---- */

void
kafka_cut_resolve(struct kafka_cut *cut, struct round *round, size_t b, enum verdict verdict)
{
    struct kafka_cut_batch *batch = &cut->batches[b];
    struct kafka_cut_lane *lane = kafka_cut_lane(cut, batch);

    assert(lane->batch == b && !batch->resolved);
    for (size_t i = 0; i < batch->count; i++) {
        uint32_t point = cut->order[batch->first + i].point;

        round_set(round, point, (size_t)point + 1, verdict);
        cut->taken[point] = verdict == VERDICT_DELIVERED;
    }
    batch->resolved = true;
    cut->unresolved--;
    lane->batch = batch->next;
    if (lane->batch == KAFKA_CUT_NONE)
        lane->last = KAFKA_CUT_NONE;
}

void
kafka_cut_refuse(struct kafka_cut *cut, struct round *round, size_t i, const char *format, ...)
{
    va_list args;

    round_set(round, i, i + 1, VERDICT_REFUSED);
    cut->refused = i;
    va_start(args, format);
    (void)vsnprintf(cut->why.text, sizeof(cut->why.text), format, args);
    va_end(args);
}

void
kafka_cut_unstamp(struct kafka_cut *cut, size_t b)
{
    struct kafka_cut_batch *batch = &cut->batches[b];

    if (!batch->stamped)
        return;
    batch->stamped = false;
    kafka_cut_lane(cut, batch)->sequence = batch->sequence;
}

enum err
kafka_cut_again(struct kafka_cut *cut, struct round *round, size_t b, size_t max_bytes,
                uint32_t max_records, struct errinfo *info)
{
    struct kafka_cut_batch old = cut->batches[b];
    struct kafka_cut_lane *lane = kafka_cut_lane(cut, &old);
    struct cutting c = {.cut = cut,
                        .round = round,
                        .topic = old.topic,
                        .partition = old.partition,
                        .max_bytes = max_bytes,
                        .max_records = max_records};
    uint32_t *members = mem_array(old.count, sizeof(*members));
    size_t count = 0;

    assert(lane->batch == b && !old.stamped);
    if (members == NULL)
        return kafka_cut_out_of_memory(cut, info);
    for (size_t i = 0; i < old.count; i++) {
        uint32_t point = cut->order[old.first + i].point;

        cut->taken[point] = 0;
        if (round_is_open(round, point))
            members[count++] = point;
    }
    cut->batches[b].resolved = true;
    cut->unresolved--;
    if (add_records(&c, members, count) != ERR_OK) {
        mem_free(members);
        return kafka_cut_out_of_memory(cut, info);
    }
    mem_free(members);
    lane->batch = c.first_batch == KAFKA_CUT_NONE ? old.next : c.first_batch;
    if (c.first_batch != KAFKA_CUT_NONE)
        cut->batches[c.last_batch].next = old.next;
    if (old.next == KAFKA_CUT_NONE)
        lane->last = c.last_batch;
    return ERR_OK;
}

void
kafka_cut_release(struct kafka_cut *cut, size_t b)
{
    struct kafka_cut_lane *lane = kafka_cut_lane(cut, &cut->batches[b]);

    lane->batch = lane->last = KAFKA_CUT_NONE;
    while (b != KAFKA_CUT_NONE) {
        struct kafka_cut_batch *batch = &cut->batches[b];

        lane->gap = lane->gap || batch->stamped;
        for (size_t i = 0; i < batch->count; i++)
            cut->taken[cut->order[batch->first + i].point] = 0;
        batch->resolved = true;
        cut->unresolved--;
        b = batch->next;
    }
}
