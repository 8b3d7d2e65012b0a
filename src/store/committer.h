/*
 * committer.h: the one thread that writes, and its bounded queue.
 *
 * Bodies, sink steps and definition changes that wait together go into one transaction with one
 * sync (group commit). It also keeps room: deletes what every sink has passed, moves sinks that
 * may lose points (on_full, max_age) and refuses what does not fit.
 *
 * Locking: one mutex over the queue, the sink table and the stats; never held while LMDB works,
 * and no callback runs under it. Callbacks run on the committer's thread and must not wait.
 */
#ifndef SINKD_STORE_COMMITTER_H
#define SINKD_STORE_COMMITTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/histogram.h"
#include "base/slice.h"
#include "net/wake.h"
#include "store/store.h"

struct committer;

struct committer_options {
    const struct clock *clock;
    enum store_sync sync;
    int64_t sync_interval_ms; /* interval mode: between two commits of waiting points */
    int64_t commit_delay_us;  /* wait this long for more writers */
    int64_t cursor_delay_ms;  /* how long a step may wait for a commit to ride on */
    int64_t max_age_ms;       /* 0: points never expire */
    uint64_t keep_delivered_bytes;
    size_t queue_max_bytes; /* bytes of bodies that may wait, one body alone always may */
};

/* committer_start(out, store, options, info): loads the records, starts the thread. ERR_NOMEM,
 * ERR_IO. */
enum err committer_start(struct committer **out, struct store *store,
                         const struct committer_options *options, struct errinfo *info) MUST_USE;

/* committer_end(c): commit all that is queued and every step, and end the thread. What cannot be
 * committed is answered with an error; what comes later is refused: bodies with ERR_BUSY, changes
 * with ERR_STOP, on the caller's thread. committer_stop(c): end, if it has not ended, and free. No
 * call may come after it. The store stays open. */
void committer_end(struct committer *c);
void committer_stop(struct committer *c);

/* ---- bodies ---- */

/* One body on its way. The caller owns it and keeps it unchanged until ${done} was called, once. */
struct committer_body {
    struct slice chunks; /* a sequence of chunks as chunk_builder leaves it */
    void (*done)(struct committer_body *body, enum err result, const struct errinfo *info);
    struct committer_body *next; /* private */
    uint64_t points;             /* set before ${done}: how many were stored */
};

/*
 * committer_append(c, body):
 * Queue it. ${done} is called after the commit it was part of: ERR_OK (durable as the sync mode
 * says), ERR_FULL (no room in the log), ERR_IO (with the reason). In interval mode it is called
 * as soon as the points wait in memory.
 * Errors: ERR_BUSY (the queue is full), ERR_FULL (the log was full at the last try and nothing
 * has changed since); the body was not taken and ${done} will not be called.
 */
enum err committer_append(struct committer *c, struct committer_body *body) MUST_USE;

/* ---- definitions ---- */

enum committer_op_kind {
    COMMITTER_PUT,         /* meta key = value */
    COMMITTER_DELETE,      /* meta key */
    COMMITTER_SINK_CREATE, /* a record for the new id ${sink}, from the log's end or its start */
    COMMITTER_SINK_DROP,
    COMMITTER_SINK_POLICY /* may_lose of ${sink} */
};

struct committer_op {
    enum committer_op_kind kind;
    struct slice key, value;
    uint32_t sink;
    bool earliest; /* SINK_CREATE */
    bool may_lose; /* SINK_CREATE, SINK_POLICY: on_full = drop_oldest */
};

/* One atomic change. Ownership as of a body. Never refused for a full queue. */
struct committer_change {
    const struct committer_op *ops;
    size_t count;
    void (*done)(struct committer_change *change, enum err result, const struct errinfo *info);
    struct committer_change *next; /* private */
};
void committer_change(struct committer *c, struct committer_change *change);

/* committer_set_policy(c, sink, may_lose): at start, for sinks that the store already has. */
void committer_set_policy(struct committer *c, uint32_t sink, bool may_lose);

/* ---- a runner's side ---- */

struct committer_step {
    uint32_t sink;
    uint64_t from, to; /* the cursor before and after; from == to only carries the figures below */
    uint64_t forwarded, filtered, dead, dropped[STORE_DROPS]; /* sum to to - from */
    uint64_t errors[STORE_ERRORS], retries;                   /* added */
    int64_t last_success_ns;                                  /* 0: unchanged */
    uint64_t learned_points;                                  /* 0: unchanged */
};

/*
 * committer_step(c, step, now):
 * Add the step to what the next commit writes for this sink. Never waits and is never refused for
 * want of room; steps fold into one. ${now} gets the record as it will be.
 * Errors: ERR_BUSY: the sink's cursor is not ${from} (points were dropped meanwhile; ${now} says
 * where it is, and they are already counted); ERR_EOF: no such sink any more. Nothing was added
 * in both cases.
 */
enum err committer_step(struct committer *c, const struct committer_step *step,
                        struct store_record *now) MUST_USE;

/* committer_record(c, sink, committed, now): the record as last committed and as it will be;
 * either may be NULL. ERR_EOF: no such sink. The runner's next step starts at now->cursor. */
enum err committer_record(struct committer *c, uint32_t sink, struct store_record *committed,
                          struct store_record *now) MUST_USE;

/* committer_flush(c): commit the waiting steps now, without waiting for cursor_delay_ms
 * (cursor_delay_ms = 0, a runner that ends). The runner is woken when its record is committed, if
 * it armed for it. */
void committer_flush(struct committer *c);

/*
 * committer_attach(c, sink, wake), committer_arm(c, sink, seq, settled):
 * Which pipe to signal (NULL: none; once it returned, the old pipe is not used any more), and for
 * what: when the log's committed end reaches ${seq} (UINT64_MAX: never), or, with ${settled},
 * when the sink's record is committed as it is now. The pipe is signalled at once if that is so
 * already. A signal disarms. A cursor that others move (drops) always signals.
 */
void committer_attach(struct committer *c, uint32_t sink, const struct wake *wake);
void committer_arm(struct committer *c, uint32_t sink, uint64_t seq, bool settled);

/* ---- figures, any thread ---- */

struct committer_stats {
    uint64_t commits, failed_commits;
    uint64_t points;           /* appended and committed by this run */
    uint64_t queued_bytes;     /* bodies waiting, in interval mode those in memory too */
    bool full;                 /* the last body did not fit and nothing has changed since */
    struct errinfo last_error; /* of the last commit, if it failed: code ERR_OK otherwise */
    struct histogram commit_seconds;
};
void committer_stats(struct committer *c, struct committer_stats *out);

#endif
