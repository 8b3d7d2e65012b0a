/*
 * msgpack_plan.c: see msgpack_plan.h.
 *
 * Entries (a float field, or a row) hang in a list for each group (target, series and field; or
 * target and rows). Groups are found by a hash with a secret seed, so that no client can make them
 * collide.
 */
#include "sink/msgpack_plan.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/port.h"
#include "msgpack/msgpack_write.h"
#include "point/point.h"
#include "point/point_msgpack.h"
#include "point/point_unique.h"

#define NONE UINT32_MAX
#define SCRATCH_MAX ((size_t)256 << 20)
#define UNWRITABLE UINT32_MAX /* in the place of a count of entries */
#define VALUE_BYTES 18        /* a double and a timestamp at most */

enum entry_kind { ENTRY_COLUMN, ENTRY_ROW, ENTRY_REST };

struct entry {
    double value;
    uint32_t point, next;
    uint8_t kind;
    bool done;
};

struct group {
    uint64_t hash;
    uint32_t chain;       /* the next one in its slot */
    uint32_t first, last; /* entries */
    uint32_t field, size; /* the raw name in the line of the first entry's point; 0 bytes: rows */
};

struct msgpack_plan {
    struct msgpack_plan_config config;
    uint64_t seed;

    struct entry *entries;
    struct group *groups;
    uint32_t *slots; /* a power of two of them */
    uint32_t *left;  /* of each point: entries not confirmed, or UNWRITABLE */
    size_t entry_count, entry_cap, group_count, group_cap, slot_count, left_cap;
    struct buf scratch;

    size_t count; /* the round it is for: points, and their first and last number */
    uint64_t first_seq, last_seq;
};

enum err
msgpack_plan_open(struct msgpack_plan **out, const struct msgpack_plan_config *config)
{
    struct msgpack_plan *plan = mem_zalloc(sizeof(*plan));

    if (plan == NULL || port_random(&plan->seed, sizeof(plan->seed)) != ERR_OK) {
        mem_free(plan);
        return ERR_NOMEM;
    }
    plan->config = *config;
    buf_init(&plan->scratch, SCRATCH_MAX);
    *out = plan;
    return ERR_OK;
}

void
msgpack_plan_close(struct msgpack_plan *plan)
{
    if (plan == NULL)
        return;
    mem_free(plan->entries);
    mem_free(plan->groups);
    mem_free(plan->slots);
    mem_free(plan->left);
    buf_free(&plan->scratch);
    mem_free(plan);
}

/* ---- making one ---- */

/* Room for one more of ${size} bytes in an array; doubles it. */
static enum err
grow(void *array, size_t *cap, size_t count, size_t size)
{
    void *old, *grown;
    size_t wanted = *cap < 64 ? 64 : *cap * 2;

    if (count < *cap)
        return ERR_OK;
    if (count >= NONE - 1 || wanted > SIZE_MAX / size)
        return ERR_NOMEM;
    memcpy(&old, array, sizeof(old));
    grown = mem_resize(old, wanted * size);
    if (grown == NULL)
        return ERR_NOMEM;
    memcpy(array, &grown, sizeof(grown));
    *cap = wanted;
    return ERR_OK;
}

static uint64_t
mix(uint64_t hash, struct slice s)
{
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);

    hash = (hash ^ s.n) * factor;
    while (s.n > 0) {
        uint64_t word = 0;
        size_t n = s.n < 8 ? s.n : 8;

        memcpy(&word, s.p, n);
        hash = (hash ^ word) * factor;
        hash ^= hash >> 29;
        s = slice_from(s, n);
    }
    return hash;
}

/* What the entries of a group have in common. */
struct group_key {
    uint64_t hash;
    struct batch_point point;
    struct slice series, field; /* raw; empty for rows */
};

static struct slice
series_of(struct slice line)
{
    struct point p;

    if (point_open(&p, line) != ERR_OK)
        return slice_make(line.p, 0);
    return slice_make(line.p, (size_t)(p.fields.p - line.p) - 1);
}

static bool
is_group(const struct msgpack_plan *plan, const struct round *round, const struct group *g,
         const struct group_key *key)
{
    struct batch_point first;

    if (g->hash != key->hash || g->size != key->field.n)
        return false;
    first = batch_point(&round->points, plan->entries[g->first].point);
    if (!plan->config.one_target && (!slice_eq(first.database, key->point.database) ||
                                     !slice_eq(first.policy, key->point.policy)))
        return false;
    return g->size == 0 || (slice_eq(slice_make(first.line.p + g->field, g->size), key->field) &&
                            slice_eq(series_of(first.line), key->series));
}

/* Twice as many slots as groups, at least. */
static enum err
grow_slots(struct msgpack_plan *plan)
{
    size_t count = plan->slot_count == 0 ? 128 : plan->slot_count * 2;
    uint32_t *slots;

    if (plan->group_count * 2 < plan->slot_count)
        return ERR_OK;
    slots = mem_resize(plan->slots, count * sizeof(*slots));
    if (slots == NULL)
        return ERR_NOMEM;
    plan->slots = slots;
    plan->slot_count = count;
    memset(slots, 0xff, count * sizeof(*slots));
    for (size_t i = 0; i < plan->group_count; i++) {
        uint32_t *slot = &slots[plan->groups[i].hash & (count - 1)];

        plan->groups[i].chain = *slot;
        *slot = (uint32_t)i;
    }
    return ERR_OK;
}

static enum err
new_group(struct msgpack_plan *plan, const struct group_key *key, uint32_t *out)
{
    struct group *g;
    uint32_t *slot;

    if (grow(&plan->groups, &plan->group_cap, plan->group_count, sizeof(*plan->groups)) != ERR_OK ||
        grow_slots(plan) != ERR_OK)
        return ERR_NOMEM;
    *out = (uint32_t)plan->group_count++;
    g = &plan->groups[*out];
    slot = &plan->slots[key->hash & (plan->slot_count - 1)];
    *g = (struct group){key->hash,
                        *slot,
                        NONE,
                        NONE,
                        key->field.n == 0 ? 0 : (uint32_t)(key->field.p - key->point.line.p),
                        (uint32_t)key->field.n};
    *slot = *out;
    return ERR_OK;
}

static enum err
find_group(struct msgpack_plan *plan, const struct round *round, const struct group_key *key,
           uint32_t *out)
{
    uint32_t at = plan->slot_count == 0 ? NONE : plan->slots[key->hash & (plan->slot_count - 1)];

    for (; at != NONE; at = plan->groups[at].chain) {
        if (is_group(plan, round, &plan->groups[at], key)) {
            *out = at;
            return ERR_OK;
        }
    }
    return new_group(plan, key, out);
}

static enum err
add_entry(struct msgpack_plan *plan, const struct round *round, const struct group_key *key,
          size_t point, enum entry_kind kind, double value)
{
    struct group *g;
    uint32_t group, at;

    if (grow(&plan->entries, &plan->entry_cap, plan->entry_count, sizeof(*plan->entries)) !=
            ERR_OK ||
        find_group(plan, round, key, &group) != ERR_OK)
        return ERR_NOMEM;
    at = (uint32_t)plan->entry_count++;
    plan->entries[at] = (struct entry){value, (uint32_t)point, NONE, (uint8_t)kind, false};
    g = &plan->groups[group];
    if (g->first == NONE)
        g->first = at;
    else
        plan->entries[g->last].next = at;
    g->last = at;
    plan->left[point]++;
    return ERR_OK;
}

static enum err
add_row(struct msgpack_plan *plan, const struct round *round, size_t i, uint64_t target,
        enum entry_kind kind)
{
    struct group_key key = {
        mix(target, SLICE("")), batch_point(&round->points, i), {NULL, 0}, {NULL, 0}};

    return add_entry(plan, round, &key, i, kind, 0);
}

/* What is not cut into columns: very many fields; a name that a receiver takes only beside others
 * (time) or behind others (a blank at its start would be skipped). */
static bool
goes_whole(struct slice fields)
{
    struct slice key, value;
    size_t n = 0;

    while (point_cut_field(&fields, &key, &value))
        if (++n > MSGPACK_PLAN_COLUMNS_MAX || slice_eq(key, SLICE("time")) ||
            (key.n > 0 && (key.p[0] == '\t' || key.p[0] == 0)))
            return true;
    return false;
}

/* A column for each float field, a row for the rest. */
static enum err
add_fields(struct msgpack_plan *plan, const struct round *round, size_t i,
           const struct batch_point *point, struct slice fields, uint64_t target)
{
    struct slice series = slice_make(point->line.p, (size_t)(fields.p - point->line.p) - 1);
    struct group_key key = {0, *point, series, {NULL, 0}};
    uint64_t hash = mix(target, series);
    struct point_unique unique;
    struct slice rest = fields;
    struct point_field field;
    bool others = false;
    enum err err = point_unique_find(&unique, POINT_UNIQUE_FIELDS, fields, &plan->scratch);

    while (err == ERR_OK && point_next_field(&rest, &field)) {
        if (point_unique_skips(&unique, &plan->scratch, (size_t)(field.key.p - fields.p)))
            continue;
        if (field.type != POINT_FLOAT) {
            others = true;
            continue;
        }
        key.field = field.key;
        key.hash = mix(hash, field.key);
        err = add_entry(plan, round, &key, i, ENTRY_COLUMN, field.value.number);
    }
    buf_clear(&plan->scratch);
    if (err == ERR_OK && rest.n > 0)
        return ERR_BAD;
    if (err == ERR_OK && others)
        err = add_row(plan, round, i, target, ENTRY_REST);
    return err;
}

static enum err
add_point(struct msgpack_plan *plan, const struct round *round, size_t i)
{
    struct batch_point point = batch_point(&round->points, i);
    uint64_t target = plan->seed;
    struct point p;
    enum err err = point_open(&p, point.line);

    if (err != ERR_OK)
        return err;
    if (!plan->config.one_target)
        target = mix(mix(target, point.database), point.policy);
    if (!plan->config.columnar || goes_whole(p.fields))
        return add_row(plan, round, i, target, ENTRY_ROW);
    return add_fields(plan, round, i, &point, p.fields, target);
}

static bool
is_same(const struct msgpack_plan *plan, const struct round *round)
{
    size_t count = round->points.count;

    return count > 0 && plan->count == count &&
           plan->first_seq == batch_point(&round->points, 0).seq &&
           plan->last_seq == batch_point(&round->points, count - 1).seq;
}

/* A point without a verdict of which nothing is left to send: its verdict was taken back. */
static void
settle(const struct msgpack_plan *plan, struct round *round)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->left[i] == UNWRITABLE)
            round_set(round, i, i + 1, VERDICT_REFUSED);
        else if (plan->left[i] == 0)
            round_set(round, i, i + 1, VERDICT_DELIVERED);
    }
}

static void
forget(struct msgpack_plan *plan)
{
    plan->count = plan->entry_count = plan->group_count = 0;
    if (plan->slots != NULL)
        memset(plan->slots, 0xff, plan->slot_count * sizeof(*plan->slots));
}

/* All of the plan but what tells which round it is for. */
static enum err
make(struct msgpack_plan *plan, const struct round *round, size_t count)
{
    if (count > plan->left_cap) {
        uint32_t *left = mem_resize(plan->left, count * sizeof(*left));

        if (left == NULL)
            return ERR_NOMEM;
        plan->left = left;
        plan->left_cap = count;
    }
    for (size_t i = 0; i < count; i++) {
        enum err err = ERR_OK;

        plan->left[i] = 0;
        if (round_is_open(round, i))
            err = add_point(plan, round, i);
        if (err == ERR_BAD || err == ERR_RANGE)
            plan->left[i] = UNWRITABLE;
        else if (err != ERR_OK)
            return err;
    }
    return ERR_OK;
}

enum err
msgpack_plan_use(struct msgpack_plan *plan, struct round *round)
{
    size_t count = round->points.count;

    if (!is_same(plan, round)) {
        forget(plan);
        if (make(plan, round, count) != ERR_OK)
            return ERR_NOMEM;
        plan->count = count;
        plan->first_seq = count == 0 ? 0 : batch_point(&round->points, 0).seq;
        plan->last_seq = count == 0 ? 0 : batch_point(&round->points, count - 1).seq;
    }
    settle(plan, round);
    return ERR_OK;
}

/* ---- bodies ---- */

static bool
is_wanted(const struct entry *e, const struct round *round, size_t from, size_t to)
{
    return !e->done && e->point >= from && e->point < to && round_is_open(round, e->point);
}

static uint32_t
next_wanted(const struct msgpack_plan *plan, const struct round *round, uint32_t at,
            const struct msgpack_body *body)
{
    while (at != NONE && !is_wanted(&plan->entries[at], round, body->range_from, body->range_to))
        at = plan->entries[at].next;
    return at;
}

static void
take(struct msgpack_body *body, const struct entry *e)
{
    body->to = e->point + (size_t)1;
    body->behind = e->next;
}

static enum err
put_column(const struct msgpack_plan *plan, const struct round *round, const struct group *g,
           struct msgpack_body *body, struct buf *out)
{
    struct batch_point first = batch_point(&round->points, plan->entries[g->first].point);
    struct slice field = slice_make(first.line.p + g->field, g->size);
    size_t head = (size_t)(field.p - first.line.p) + field.n, count = 0, most = 1, n;
    struct wr w;
    uint32_t at;

    if (plan->config.max_bytes > head + 128 + VALUE_BYTES)
        most = (plan->config.max_bytes - head - 128) / VALUE_BYTES;
    for (at = body->first; at != NONE && count < most; count++) {
        take(body, &plan->entries[at]);
        at = next_wanted(plan, round, plan->entries[at].next, body);
    }
    wr_init(&w, out);
    point_msgpack_column(&w, first.line, field, count);
    for (at = body->first, n = 0; n < count; n++) {
        msgpack_write_f64(&w, plan->entries[at].value);
        at = next_wanted(plan, round, plan->entries[at].next, body);
    }
    point_msgpack_times(&w, count);
    for (at = body->first, n = 0; n < count; n++) {
        struct batch_point point = batch_point(&round->points, plan->entries[at].point);

        msgpack_write_i64(&w, precision_from_ns(point.timestamp_ns, plan->config.precision));
        at = next_wanted(plan, round, plan->entries[at].next, body);
    }
    return wr_done(&w);
}

static enum err
put_row(const struct msgpack_plan *plan, const struct round *round, const struct entry *e,
        struct buf *out)
{
    struct batch_point point = batch_point(&round->points, e->point);

    if (e->kind == ENTRY_REST)
        return point_msgpack_put_rest(out, point.line, point.timestamp_ns, plan->config.precision);
    return point_msgpack_put(out, point.line, point.timestamp_ns, plan->config.precision);
}

/* How many rows there are is known last, and stands first. */
static enum err
put_rows(struct msgpack_plan *plan, const struct round *round, struct msgpack_body *body,
         struct buf *out)
{
    struct buf *rows = &plan->scratch;
    enum err err = ERR_OK;
    size_t count = 0;
    struct wr w;

    buf_clear(rows);
    for (uint32_t at = body->first; err == ERR_OK && at != NONE; count++) {
        size_t before = buf_len(rows);

        err = put_row(plan, round, &plan->entries[at], rows);
        if (err == ERR_OK && count > 0 && buf_len(rows) > plan->config.max_bytes) {
            buf_cut(rows, before);
            break;
        }
        take(body, &plan->entries[at]);
        at = next_wanted(plan, round, plan->entries[at].next, body);
    }
    wr_init(&w, out);
    wr_fail(&w, err);
    msgpack_write_array(&w, count);
    wr_bytes(&w, buf_peek(rows));
    return wr_done(&w);
}

enum err
msgpack_plan_next(struct msgpack_plan *plan, const struct round *round, size_t from, size_t to,
                  struct msgpack_cursor *cursor, struct msgpack_body *body, struct buf *out)
{
    body->range_from = from;
    body->range_to = to;
    buf_clear(out);
    for (; cursor->group < plan->group_count; cursor->group++, cursor->inside = false) {
        const struct group *g = &plan->groups[cursor->group];
        enum err err;

        body->first = next_wanted(plan, round, cursor->inside ? cursor->entry : g->first, body);
        if (body->first == NONE)
            continue;
        body->from = plan->entries[body->first].point;
        body->content_type = g->size > 0 ? POINT_MSGPACK_COLUMN_TYPE : POINT_MSGPACK_ROWS_TYPE;
        err =
            g->size > 0 ? put_column(plan, round, g, body, out) : put_rows(plan, round, body, out);
        cursor->entry = body->behind;
        cursor->inside = true;
        return err;
    }
    return ERR_EOF;
}

void
msgpack_plan_confirm(struct msgpack_plan *plan, struct round *round,
                     const struct msgpack_body *body)
{
    for (uint32_t at = body->first; at != body->behind; at = plan->entries[at].next) {
        struct entry *e = &plan->entries[at];

        if (!is_wanted(e, round, body->range_from, body->range_to))
            continue;
        e->done = true;
        if (--plan->left[e->point] == 0)
            round_set(round, e->point, (size_t)e->point + 1, VERDICT_DELIVERED);
    }
}
