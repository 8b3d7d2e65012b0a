/*
 * runner_round.h: what a runner reads, offers and counts: from its cursor to the step behind it.
 *
 * The arithmetic of the ledger is here: every number between two cursors is a delivered, a refused,
 * a damaged or a filtered point, and each is counted once, in the step that passes it.
 * Not for: the connection, the retries, the waits (runner.c).
 */
#ifndef SINKD_SINK_RUNNER_ROUND_H
#define SINKD_SINK_RUNNER_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "sink/delivery.h"
#include "sink/filter.h"
#include "sink/round.h"
#include "sink/runner.h"
#include "sink/sink.h"

struct runner_round {
    const struct runner_config *config;
    const struct sink_def *def;
    struct store_reader *reader;
    struct filter *filter; /* NULL: to be made of def */
    struct round round;
    struct delivery_memory memory;
    uint64_t batch_size;
    size_t max_bytes;
    int64_t flush_ms;
    uint64_t cursor;    /* where the next step starts */
    uint64_t passed;    /* the last number judged; cursor <= passed */
    int64_t due_ms;     /* when the round is to be offered; DEADLINE_NEVER without points */
    int64_t read_at_ms; /* the log could not be read: not again before this time */
    bool sealed;        /* full, or offered once: nothing is added any more */
    bool more;          /* the last look at the log stopped early: look again at once */
    bool unsettled;     /* a step waits for its commit (cursor_delay_ms = 0 alone) */
    bool gone;          /* the store has no such sink any more */
};

/* runner_round_open(rr, config, def, info): ${config} and ${def} outlive it. ERR_NOMEM, ERR_IO. */
enum err runner_round_open(struct runner_round *rr, const struct runner_config *config,
                           const struct sink_def *def, struct errinfo *info) MUST_USE;
void runner_round_close(struct runner_round *rr);

/* runner_round_end(rr): give up the points in hand: what is not counted yet is read and judged
 * again, by the definition as it is by then. */
void runner_round_end(struct runner_round *rr);

/*
 * runner_round_gather(rr, info):
 * Judge what the log has, until the round is full or the log is at its end; step over what is
 * filtered at the head. Errors: ERR_NOMEM, ERR_IO, ERR_CONFIG: try again later.
 */
enum err runner_round_gather(struct runner_round *rr, struct errinfo *info) MUST_USE;

/*
 * runner_round_deliver(rr, sink, outcome, info):
 * Offer the round once, then step over what is resolved. ERR_OK: all of it. Else ${outcome} says
 * what stands in the way; with REJECTED it is a point that the destination refuses, which blocks
 * the sink.
 */
enum err runner_round_deliver(struct runner_round *rr, struct sink *sink, struct outcome *outcome,
                              struct errinfo *info) MUST_USE;

/* One failed try, one retry: they ride on the next commit. */
void runner_round_count_error(struct runner_round *rr, enum store_error_kind kind);
void runner_round_count_retry(struct runner_round *rr);

/* runner_round_settled(rr): whether the next round may begin; asks for a commit where one is needed
 * first. */
bool runner_round_settled(struct runner_round *rr);

/* runner_round_arm(rr, reading): have the pipe signalled when the log has what is missing, or the
 * step is committed. */
void runner_round_arm(struct runner_round *rr, bool reading);

#endif
