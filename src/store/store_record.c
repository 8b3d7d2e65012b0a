/*
 * store_record.c: the bytes of the log's state and of a sink's record, and the ledger's law.
 * The forms: docs/store.md.
 */
#include "store/store_record.h"

#include <assert.h>

#include "base/wire.h"

#define VERSION 1u

uint64_t
store_record_dropped(const struct store_record *r)
{
    uint64_t sum = 0;
    size_t i;

    for (i = 0; i < STORE_DROPS; i++)
        sum += r->dropped[i];
    return sum;
}

bool
store_record_adds_up(const struct store_record *r)
{
    return r->cursor >= r->start &&
           r->forwarded + r->filtered + r->dead + store_record_dropped(r) == r->cursor - r->start;
}

void
store_record_put_state(uint8_t out[STORE_RECORD_STATE_SIZE], const struct store_state *state)
{
    store_le32(out, VERSION);
    store_le32(out + 4, state->run);
    store_le64(out + 8, state->next_seq);
    store_le64(out + 16, state->first_seq);
    store_le32(out + 24, state->next_sink);
    store_le32(out + 28, 0);
    store_le64(out + 32, state->expired);
    store_le64(out + 40, state->moved);
}

enum err
store_record_get_state(struct slice bytes, struct store_state *state)
{
    struct rd r;
    struct store_state got = {0};

    rd_init(&r, bytes);
    if (rd_le32(&r) != VERSION && r.err == ERR_OK)
        return ERR_CONFIG;
    got.run = rd_le32(&r);
    got.next_seq = rd_le64(&r);
    got.first_seq = rd_le64(&r);
    got.next_sink = rd_le32(&r);
    (void)rd_le32(&r);
    got.expired = rd_le64(&r);
    got.moved = rd_le64(&r);
    if (rd_done(&r) != ERR_OK || got.first_seq == 0 || got.next_seq < got.first_seq ||
        got.next_sink == 0)
        return ERR_BAD;
    *state = got;
    return ERR_OK;
}

static uint8_t *
put_u64s(uint8_t *p, const uint64_t *values, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        store_le64(p + 8 * i, values[i]);
    return p + 8 * count;
}

static void
get_u64s(struct rd *r, uint64_t *values, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        values[i] = rd_le64(r);
}

/* version 4 | reserved 4 | start cursor forwarded filtered dead retries learned last_success |
 * dropped, room for 6 | errors, room for 8: 184 bytes. What has no name yet is zero. */
#define DROPS_ROOM 6u
#define ERRORS_ROOM 8u

void
store_record_put(uint8_t out[STORE_RECORD_SIZE], const struct store_record *r)
{
    const uint64_t figures[8] = {
        r->start, r->cursor,  r->forwarded,      r->filtered,
        r->dead,  r->retries, r->learned_points, (uint64_t)r->last_success_ns};
    uint64_t dropped[DROPS_ROOM] = {0}, errors[ERRORS_ROOM] = {0};
    uint8_t *p = out;
    size_t i;

    assert(store_record_adds_up(r));
    for (i = 0; i < STORE_DROPS; i++)
        dropped[i] = r->dropped[i];
    for (i = 0; i < STORE_ERRORS; i++)
        errors[i] = r->errors[i];
    store_le32(p, VERSION);
    store_le32(p + 4, 0);
    p = put_u64s(p + 8, figures, 8);
    p = put_u64s(p, dropped, DROPS_ROOM);
    p = put_u64s(p, errors, ERRORS_ROOM);
    assert(p == out + STORE_RECORD_SIZE);
}

enum err
store_record_get(struct slice bytes, uint32_t sink, struct store_record *out)
{
    uint64_t figures[8], dropped[DROPS_ROOM], errors[ERRORS_ROOM];
    struct store_record r = {.sink = sink};
    struct rd in;
    size_t i;

    rd_init(&in, bytes);
    if (rd_le32(&in) != VERSION && in.err == ERR_OK)
        return ERR_CONFIG;
    (void)rd_le32(&in);
    get_u64s(&in, figures, 8);
    get_u64s(&in, dropped, DROPS_ROOM);
    get_u64s(&in, errors, ERRORS_ROOM);
    if (rd_done(&in) != ERR_OK)
        return ERR_BAD;
    r.start = figures[0];
    r.cursor = figures[1];
    r.forwarded = figures[2];
    r.filtered = figures[3];
    r.dead = figures[4];
    r.retries = figures[5];
    r.learned_points = figures[6];
    r.last_success_ns = (int64_t)figures[7];
    for (i = 0; i < STORE_DROPS; i++)
        r.dropped[i] = dropped[i];
    for (i = 0; i < STORE_ERRORS; i++)
        r.errors[i] = errors[i];
    if (!store_record_adds_up(&r))
        return ERR_BAD;
    *out = r;
    return ERR_OK;
}
