/*
 * round.c: see round.h.
 */
#include "sink/round.h"

#include <string.h>

#include "base/mem.h"

void
round_init(struct round *r)
{
    *r = (struct round){0};
    batch_init(&r->points);
}

void
round_clear(struct round *r)
{
    batch_clear(&r->points);
    r->counted = 0;
}

void
round_free(struct round *r)
{
    batch_free(&r->points);
    mem_free(r->verdicts);
    round_init(r);
}

enum err
round_open_new(struct round *r, size_t known)
{
    size_t count = r->points.count;

    if (count > r->verdicts_cap) {
        size_t cap = count < 64 ? 64 : count + count / 2;
        uint8_t *grown = mem_resize(r->verdicts, cap);

        if (grown == NULL)
            return ERR_NOMEM;
        r->verdicts = grown;
        r->verdicts_cap = cap;
    }
    if (count > known)
        memset(r->verdicts + known, VERDICT_OPEN, count - known);
    return ERR_OK;
}

size_t
round_count(const struct round *r, size_t from, size_t to, enum verdict verdict)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++)
        n += r->verdicts[i] == verdict;
    return n;
}

void
round_set(struct round *r, size_t from, size_t to, enum verdict verdict)
{
    for (size_t i = from; i < to; i++) {
        if (round_is_open(r, i))
            r->verdicts[i] = (uint8_t)verdict;
    }
}

void
round_reopen(struct round *r, enum verdict verdict)
{
    for (size_t i = r->counted; i < r->points.count; i++) {
        if (r->verdicts[i] == verdict)
            r->verdicts[i] = VERDICT_OPEN;
    }
}

struct round_tally
round_resolved(const struct round *r, bool refused_resolves)
{
    struct round_tally tally = {r->counted, 0, 0};

    for (; tally.upto < r->points.count; tally.upto++) {
        uint8_t verdict = r->verdicts[tally.upto];

        if (verdict == VERDICT_DELIVERED)
            tally.delivered++;
        else if (verdict == VERDICT_REFUSED && refused_resolves)
            tally.refused++;
        else
            break;
    }
    return tally;
}

void
round_skip_to(struct round *r, uint64_t seq)
{
    while (r->counted < r->points.count && batch_point(&r->points, r->counted).seq <= seq) {
        if (round_is_open(r, r->counted))
            r->verdicts[r->counted] = VERDICT_REFUSED;
        r->counted++;
    }
}
