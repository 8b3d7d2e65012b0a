/*
 * delivery.c: see delivery.h.
 */
#include "sink/delivery.h"

#include <assert.h>

/* A batch has fewer than 2^31 points: 31 halvings, each of which adds at most three ranges. */
#define RANGES_MAX 96

struct range {
    size_t from, to;
};

/* Ranges still to be offered; the next one, which is the leftmost, is on top. */
struct ranges {
    struct range stack[RANGES_MAX];
    size_t count;
};

static void
push(struct ranges *todo, size_t from, size_t to)
{
    if (from == to)
        return;
    assert(todo->count < RANGES_MAX);
    todo->stack[todo->count++] = (struct range){from, to};
}

/* The index in [from, to) that has half of the open points before it. */
static size_t
middle(const struct round *round, size_t from, size_t to, size_t open)
{
    size_t before = 0, i = from;

    while (i < to && before < open / 2)
        before += round_is_open(round, i++);
    return i;
}

/* What is left of ${at} when the request for ${bad} inside it was refused: both halves of that. */
static void
push_halves(struct ranges *todo, const struct round *round, struct range at, struct range bad,
            size_t open)
{
    size_t half = middle(round, bad.from, bad.to, open);

    push(todo, bad.to, at.to);
    push(todo, half, bad.to);
    push(todo, bad.from, half);
    push(todo, at.from, bad.from);
}

struct pass {
    struct sink *sink;
    struct round *round;
    struct delivery_memory *memory;
    size_t suspects;    /* refused in this pass on nobody's word but a lone request's refusal */
    struct errinfo why; /* of the last suspect */
    bool begun;         /* a request was made */
};

/* One request was refused: halve it, or give its lone point a verdict. */
static void
refused(struct pass *p, struct ranges *todo, struct range at, const struct outcome *outcome,
        const struct errinfo *info)
{
    struct range bad = {outcome->from, outcome->to};
    size_t open = round_count(p->round, bad.from, bad.to, VERDICT_OPEN);

    assert(bad.from >= at.from && bad.to <= at.to && open > 0);
    if (open > 1) {
        if (outcome->what == DELIVERY_TOO_LARGE &&
            (p->memory->learned_points == 0 || open / 2 < p->memory->learned_points))
            p->memory->learned_points = open / 2;
        push_halves(todo, p->round, at, bad, open);
        return;
    }
    round_set(p->round, bad.from, bad.to, VERDICT_REFUSED);
    if (!outcome->names_points)
        p->suspects++;
    if (info != NULL)
        p->why = *info;
    push(todo, bad.to, at.to);
    push(todo, at.from, bad.from);
}

static enum err
deliver_range(struct pass *p, size_t from, size_t to, struct outcome *outcome, struct errinfo *info)
{
    struct ranges todo = {.count = 0};

    push(&todo, from, to);
    while (todo.count > 0) {
        struct range at = todo.stack[--todo.count];
        enum err err;

        if (round_count(p->round, at.from, at.to, VERDICT_OPEN) == 0)
            continue;
        if (p->begun && sink_yields(p->sink)) {
            outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
            return ERR_STOP;
        }
        p->begun = true;
        err = p->sink->type->deliver(p->sink, p->round, at.from, at.to, outcome, info);
        if (err == ERR_OK)
            continue;
        if (outcome->what != DELIVERY_TOO_LARGE && outcome->what != DELIVERY_REJECTED)
            return err;
        refused(p, &todo, at, outcome, info);
    }
    return ERR_OK;
}

/* Whether the refusals of this pass may be believed. */
static bool
believable(const struct pass *p)
{
    const struct round *round = p->round;
    size_t delivered = round_count(round, 0, round->points.count, VERDICT_DELIVERED);

    if (p->suspects == 0 || delivered > 0)
        return true;
    return round->points.count == 1 && p->memory->delivered_any;
}

/* The words behind a pass are those of a refusal: of the last suspect, or what a type said that
 * refused points by itself; nothing when all went well. */
static void
keep_words(const struct pass *p, struct errinfo *info)
{
    const struct round *round = p->round;

    if (info == NULL)
        return;
    if (p->why.code != ERR_OK)
        *info = p->why;
    else if (round_count(round, 0, round->points.count, VERDICT_REFUSED) == 0)
        *info = (struct errinfo){ERR_OK, 0, ""};
}

enum err
delivery_pass(struct sink *s, struct round *round, struct delivery_memory *memory,
              struct outcome *outcome, struct errinfo *info)
{
    struct pass p = {.sink = s, .round = round, .memory = memory};
    size_t count = round->points.count;
    enum err err = ERR_OK;

    for (size_t at = 0, to; at < count && err == ERR_OK; at = to) {
        size_t step = memory->learned_points == 0 ? count : memory->learned_points;

        to = count - at < step ? count : at + step;
        err = deliver_range(&p, at, to, outcome, info);
    }
    if (!believable(&p)) {
        round_reopen(round, VERDICT_REFUSED);
        if (err != ERR_OK)
            return err;
        outcome_is(outcome, DELIVERY_TARGET, STORE_ERROR_REJECTED);
        if (info != NULL)
            *info = p.why;
        return ERR_BAD;
    }
    if (round_count(round, 0, count, VERDICT_DELIVERED) > 0)
        memory->delivered_any = true;
    if (err == ERR_OK) {
        outcome_is(outcome, DELIVERY_DONE, STORE_ERROR_REJECTED);
        keep_words(&p, info);
    }
    return err;
}
