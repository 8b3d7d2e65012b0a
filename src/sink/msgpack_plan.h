/*
 * msgpack_plan.h: how a round is cut into MessagePack bodies, and what of it was confirmed.
 *
 * A point may go in several bodies: each float field in that of its column, everything else in one
 * of rows. What is confirmed is kept for each of these parts, so that it is not sent again however
 * the round is cut the next time; a point is delivered when all of its parts are. Made once a
 * round; the cost is linear in the fields of the round.
 */
#ifndef SINKD_SINK_MSGPACK_PLAN_H
#define SINKD_SINK_MSGPACK_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "point/precision.h"
#include "sink/round.h"

/* A point with more fields than this goes as a row, whole; so do a few with names of
 * which receivers take some only beside others. */
#define MSGPACK_PLAN_COLUMNS_MAX 4096

struct msgpack_plan;

struct msgpack_plan_config {
    bool columnar;   /* else every point is a row */
    bool one_target; /* else the points of a body are of one database and policy */
    enum precision precision;
    size_t max_bytes; /* of a body; a larger point goes alone */
};

/* msgpack_plan_open(out, config): ERR_NOMEM. msgpack_plan_close(NULL) does nothing. */
enum err msgpack_plan_open(struct msgpack_plan **out,
                           const struct msgpack_plan_config *config) MUST_USE;
void msgpack_plan_close(struct msgpack_plan *plan);

/*
 * msgpack_plan_use(plan, round):
 * For this round: makes a plan, or goes on with what is known when it is the one of the last call.
 * Points that have no such form are refused. ERR_NOMEM.
 */
enum err msgpack_plan_use(struct msgpack_plan *plan, struct round *round) MUST_USE;

/* A body: a run of the entries of one group; private but for these. */
struct msgpack_body {
    size_t from, to; /* its points lie in this range of the round */
    const char *content_type;
    uint32_t first, behind; /* private: entries */
    size_t range_from, range_to;
};

/* A place between two bodies. Zeroed: the start. */
struct msgpack_cursor {
    uint32_t group, entry; /* private */
    bool inside;
};

/*
 * msgpack_plan_next(plan, round, from, to, cursor, body, out):
 * The next body that holds parts of the open points of [from, to) not confirmed yet, put in ${out},
 * which is cleared first. Errors: ERR_EOF (no more), ERR_NOMEM.
 */
enum err msgpack_plan_next(struct msgpack_plan *plan, const struct round *round, size_t from,
                           size_t to, struct msgpack_cursor *cursor, struct msgpack_body *body,
                           struct buf *out) MUST_USE;

/* msgpack_plan_confirm(plan, round, body): it was taken; sets the verdicts of the points that are
 * whole by it. */
void msgpack_plan_confirm(struct msgpack_plan *plan, struct round *round,
                          const struct msgpack_body *body);

#endif
