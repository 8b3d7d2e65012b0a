/*
 * message.c: see message.h.
 */
#include "sink/message.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "point/point.h"
#include "point/point_json.h"
#include "point/point_msgpack.h"

/* Texts of groups: longer ones, and those that find no more room, are groups of their own. */
#define TEXT_MAX 4096
#define TEXTS_MAX ((size_t)1 << 20)

/* How far behind its first point a message looks for more of its group: with many groups the work
 * stays small. */
#define LOOK_AHEAD 16384

/* A text and its group. */
struct message_text {
    uint32_t at, n; /* in the texts; n is 0: a free place */
    uint32_t group;
};

/* ---- one point ---- */

enum err
message_form_check(const struct sink_def *def, struct errinfo *info)
{
    enum message_mode mode = (enum message_mode)sink_def_number(def, "batch_mode");

    if (mode == MESSAGE_JSON_ARRAY && def->format != SINK_JSON)
        return errinfo_set(info, ERR_CONFIG, "batch_mode json_array needs FORMAT json");
    if (mode == MESSAGE_LINES && def->format == SINK_MSGPACK)
        return errinfo_set(info, ERR_CONFIG,
                           "batch_mode lines joins text: FORMAT msgpack goes with individual");
    return ERR_OK;
}

struct message_form
message_form_of(const struct sink_def *def)
{
    return (struct message_form){
        .format = def->format,
        .mode = (enum message_mode)sink_def_number(def, "batch_mode"),
        .precision = (enum precision)sink_def_number(def, "precision"),
        .max_bytes = (size_t)sink_def_number(def, "max_message_bytes"),
    };
}

enum err
message_put_point(const struct message_form *form, const struct batch_point *point, struct buf *out)
{
    switch (form->format) {
    case SINK_LINE_PROTOCOL:
        return point_put_line(out, point->line, point->timestamp_ns, form->precision);
    case SINK_JSON:
        return point_json_put(out, point->line, point->timestamp_ns, form->precision);
    case SINK_MSGPACK:
        return point_msgpack_put(out, point->line, point->timestamp_ns, form->precision);
    }
    return ERR_BAD;
}

/* ---- the set ---- */

void
message_set_init(struct message_set *set)
{
    *set = (struct message_set){0};
    buf_init(&set->texts, TEXTS_MAX);
}

void
message_set_free(struct message_set *set)
{
    mem_free(set->groups);
    mem_free(set->taken);
    mem_free(set->index);
    buf_free(&set->texts);
    message_set_init(set);
}

static enum err
grow(struct message_set *set, size_t count)
{
    size_t cap = count < 64 ? 64 : count + count / 4;
    uint32_t *groups;
    uint8_t *taken;

    if (count <= set->cap)
        return ERR_OK;
    groups = mem_resize(set->groups, cap * sizeof(*groups));
    if (groups == NULL)
        return ERR_NOMEM;
    set->groups = groups;
    taken = mem_resize(set->taken, cap);
    if (taken == NULL)
        return ERR_NOMEM;
    set->taken = taken;
    set->cap = cap;
    return ERR_OK;
}

/* An empty index with room for twice as many texts as there are points. */
static enum err
grow_index(struct message_set *set, size_t count)
{
    size_t cap = 64;

    while (cap < 2 * count)
        cap *= 2;
    if (cap > set->index_cap) {
        mem_free(set->index);
        set->index_cap = 0;
        set->index = mem_array(cap, sizeof(*set->index));
        if (set->index == NULL)
            return ERR_NOMEM;
        set->index_cap = cap;
    } else {
        memset(set->index, 0, set->index_cap * sizeof(*set->index));
    }
    buf_clear(&set->texts);
    set->group_count = 0;
    return ERR_OK;
}

enum err
message_set_begin(struct message_set *set, const struct round *round, bool grouped, bool *fresh)
{
    size_t count = round->points.count;
    uint64_t first = batch_point(&round->points, 0).seq;
    uint64_t last = batch_point(&round->points, count - 1).seq;

    *fresh = set->count != count || set->first_seq != first || set->last_seq != last;
    if (!*fresh)
        return ERR_OK;
    set->count = 0;
    if (grow(set, count) != ERR_OK || (grouped && grow_index(set, count) != ERR_OK))
        return ERR_NOMEM;
    memset(set->taken, 0, count);
    set->grouped = grouped;
    set->first_seq = first;
    set->last_seq = last;
    set->count = count;
    return ERR_OK;
}

static uint64_t
hash(struct slice text)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

    for (size_t i = 0; i < text.n; i++)
        h = (h ^ text.p[i]) * 0x100000001b3u;
    return h;
}

/* The place of a text in the index: where it is, or where it belongs. */
static struct message_text *
place_of(const struct message_set *set, struct slice text)
{
    size_t i = (size_t)hash(text) & (set->index_cap - 1);

    for (;; i = (i + 1) & (set->index_cap - 1)) {
        struct message_text *place = &set->index[i];

        if (place->n == 0 ||
            slice_eq(text, slice_make(buf_peek(&set->texts).p + place->at, place->n)))
            return place;
    }
}

void
message_set_group(struct message_set *set, size_t i, struct slice text)
{
    struct message_text *place;
    size_t at = buf_len(&set->texts);

    assert(set->grouped && i < set->count);
    if (text.n == 0 || text.n > TEXT_MAX) {
        set->groups[i] = set->group_count++;
        return;
    }
    place = place_of(set, text);
    if (place->n == 0) {
        uint32_t group = set->group_count++;

        if (buf_add(&set->texts, text) == ERR_OK)
            *place = (struct message_text){(uint32_t)at, (uint32_t)text.n, group};
        set->groups[i] = group;
        return;
    }
    set->groups[i] = place->group;
}

/* ---- messages ---- */

static bool
same_group(const struct message_set *set, size_t i, size_t k)
{
    return !set->grouped || set->groups[i] == set->groups[k];
}

size_t
message_next(const struct message_set *set, const struct round *round, size_t from, size_t to)
{
    while (from < to && (set->taken[from] || !round_is_open(round, from)))
        from++;
    return from;
}

/* What stands between two points, before the first and behind the last. */
static enum err
open_message(const struct message_form *form, struct buf *out)
{
    return form->mode == MESSAGE_JSON_ARRAY ? buf_add_byte(out, '[') : ERR_OK;
}

static enum err
close_message(const struct message_form *form, struct buf *out)
{
    return form->mode == MESSAGE_JSON_ARRAY ? buf_add_byte(out, ']') : ERR_OK;
}

static enum err
put_next(const struct message_form *form, const struct round *round, size_t i, bool first,
         struct buf *out)
{
    struct batch_point point = batch_point(&round->points, i);

    if (!first && buf_add_byte(out, form->mode == MESSAGE_JSON_ARRAY ? ',' : '\n') != ERR_OK)
        return ERR_NOMEM;
    return message_put_point(form, &point, out);
}

/* Join point ${i} if the message stays within its size. */
static bool
join(const struct message_form *form, const struct round *round, size_t i, size_t start,
     struct buf *out)
{
    size_t before = buf_len(out), closing = form->mode == MESSAGE_JSON_ARRAY ? 1 : 0;

    if (put_next(form, round, i, false, out) == ERR_OK &&
        buf_len(out) - start + closing <= form->max_bytes)
        return true;
    buf_cut(out, before);
    return false;
}

enum err
message_build(const struct message_form *form, struct message_set *set, const struct round *round,
              size_t from, size_t to, struct buf *out, struct message *message)
{
    size_t start = buf_len(out);
    enum err err = open_message(form, out);

    if (to - from > LOOK_AHEAD)
        to = from + LOOK_AHEAD;
    *message = (struct message){from, from + 1, 1};
    if (err == ERR_OK)
        err = put_next(form, round, from, true, out);
    /* It ends before a point of its group that is in another message: so ranges of a group are
     * apart. */
    for (size_t i = from + 1; err == ERR_OK && form->mode != MESSAGE_INDIVIDUAL && i < to; i++) {
        if (!same_group(set, from, i))
            continue;
        if (set->taken[i] || (round_is_open(round, i) && !join(form, round, i, start, out)))
            break;
        if (!round_is_open(round, i))
            continue;
        set->taken[i] = 1;
        message->to = i + 1;
        message->count++;
    }
    if (err == ERR_OK)
        err = close_message(form, out);
    if (err != ERR_OK) {
        buf_cut(out, start);
        message_release(set, message->from, message->to);
        return err;
    }
    set->taken[from] = 1;
    return ERR_OK;
}

enum err
message_rebuild(const struct message_form *form, const struct message_set *set,
                const struct round *round, struct message *message, struct buf *out)
{
    size_t start = buf_len(out);
    enum err err = open_message(form, out);

    message->count = 0;
    for (size_t i = message->from; err == ERR_OK && i < message->to; i++) {
        if (!set->taken[i] || !round_is_open(round, i) || !same_group(set, message->from, i))
            continue;
        err = put_next(form, round, i, message->count == 0, out);
        message->count++;
    }
    if (err == ERR_OK)
        err = close_message(form, out);
    if (err != ERR_OK)
        buf_cut(out, start);
    return err;
}

void
message_settle(const struct message_set *set, struct round *round, size_t from, size_t to,
               enum verdict verdict)
{
    for (size_t i = from; i < to; i++) {
        if (set->taken[i] && same_group(set, from, i))
            round_set(round, i, i + 1, verdict);
    }
}

void
message_release(struct message_set *set, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (same_group(set, from, i))
            set->taken[i] = 0;
    }
}
