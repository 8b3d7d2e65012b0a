/*
 * round.h: the points a sink is delivering, and what is known of each.
 *
 * A round is offered, in the same order, until each of its points has a verdict. It outlives
 * reconnects: what is confirmed is never sent again within a run. The runner fills it; a sink type
 * sets verdicts and reads everything else.
 */
#ifndef SINKD_SINK_ROUND_H
#define SINKD_SINK_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "store/batch.h"

enum verdict {
    VERDICT_OPEN,
    VERDICT_DELIVERED, /* the destination confirmed it */
    VERDICT_REFUSED    /* the destination, or a limit of the protocol, will never take it */
};

struct round {
    struct batch points;
    uint8_t *verdicts; /* enum verdict, one a point */
    size_t verdicts_cap;
    size_t counted; /* leading points that a step has counted already */
};

/* round_init(r): empty, no memory yet. round_clear keeps the memory, round_free gives it back. */
void round_init(struct round *r);
void round_clear(struct round *r);
void round_free(struct round *r);

/* round_open_new(r, known): the points from index ${known} on are new: their verdict is OPEN.
 * ERR_NOMEM: they are then to be given up with the round. */
enum err round_open_new(struct round *r, size_t known) MUST_USE;

static inline bool
round_is_open(const struct round *r, size_t i)
{
    return r->verdicts[i] == VERDICT_OPEN;
}

/* round_count(r, from, to, verdict): how many points of [from, to) have that verdict. */
size_t round_count(const struct round *r, size_t from, size_t to, enum verdict verdict);

/* round_set(r, from, to, verdict): of the open points of [from, to). */
void round_set(struct round *r, size_t from, size_t to, enum verdict verdict);

/* round_reopen(r, verdict): take that verdict back, of all points not counted yet. */
void round_reopen(struct round *r, enum verdict verdict);

/* What the leading resolved points come to. */
struct round_tally {
    size_t upto; /* index behind the last resolved one */
    uint64_t delivered, refused;
};

/* round_resolved(r, refused_resolves): the run of resolved points behind those already counted; a
 * refused point ends it unless ${refused_resolves}. */
struct round_tally round_resolved(const struct round *r, bool refused_resolves);

/* round_skip_to(r, seq): points up to that number were counted by somebody else (dropped). */
void round_skip_to(struct round *r, uint64_t seq);

#endif
