/*
 * runner_rig.h: a runner on a real store, and a destination of the test's own behind it.
 *
 * The destination is a sink type that answers as it is told and writes down what it got. There is
 * one at a time. Everything in it is looked at under its lock, by the calls below.
 */
#ifndef SINKD_SUPPORT_RUNNER_RIG_H
#define SINKD_SUPPORT_RUNNER_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sink/runner.h"
#include "sink/sink.h"
#include "support/committer_drive.h"

#define RUNNER_RIG_SEQS 200000
#define RUNNER_RIG_SINK 1u /* the id of its sink */

/* How the destination answers. */
struct runner_rig_orders {
    enum delivery what;         /* DONE: as below; else every request fails so */
    enum store_error_kind kind; /* ... and counts as this */
    int64_t retry_after_ms;
    unsigned times;      /* requests that fail so; 0: all */
    unsigned take_first; /* points that it confirms before it fails */
    uint64_t refuses;    /* the point of this number is refused; 0: none */
    bool names_points;
    bool connect_fails; /* TRANSIENT or what ${what} says */
    bool open_fails;
    bool hold_connect, hold_deliver; /* waits until the order is gone, or it is told to stop */
};

/* What it got. */
struct runner_rig_seen {
    size_t count;              /* points confirmed */
    size_t requests, refusals; /* deliver calls; those that failed */
    size_t largest;            /* points of the largest request */
    size_t opens, closes, connects, disconnects, idles;
    bool connecting, delivering; /* inside that call now */
    int64_t first_ms;            /* when the first request came; 0: none yet */
    bool uncommitted;            /* a request came before the step of the last one was committed */
};

extern const struct sink_type runner_rig_type;

struct runner_rig {
    struct committer_drive *drive;
    struct runner_config config;
    struct sink_def def;
    struct runner *runner; /* NULL: none */
};

/* runner_rig_open(rig, drive): the committer runs; a definition that takes everything, with short
 * waits, batches of 1000 and a flush interval of 0; a sink of it is in the store. No runner yet. */
void runner_rig_open(struct runner_rig *rig, struct committer_drive *drive);

/* runner_rig_run(rig): start the runner. runner_rig_end(rig): stop it and wait for its end. */
void runner_rig_run(struct runner_rig *rig);
void runner_rig_end(struct runner_rig *rig);
void runner_rig_close(struct runner_rig *rig); /* ends it too; the committer goes on */

void runner_rig_order(const struct runner_rig_orders *orders);
struct runner_rig_seen runner_rig_seen(void);
uint64_t runner_rig_seq(size_t i); /* the i-th confirmed point */

/* runner_rig_until(rig, what): wait until ${what}(rig) is true; the test fails after 20 s. */
void runner_rig_until(struct runner_rig *rig, bool (*what)(struct runner_rig *rig),
                      const char *text);
#define RUNNER_RIG_UNTIL(rig, what) runner_rig_until(rig, what, #what)

/* Conditions. */
bool runner_rig_caught_up(struct runner_rig *rig); /* the cursor is at the log's end */
bool runner_rig_is_delivering(struct runner_rig *rig);
bool runner_rig_is_connecting(struct runner_rig *rig);
bool runner_rig_has_ended(struct runner_rig *rig);

/* runner_rig_status(rig), runner_rig_record(rig): what SHOW SINKS would say; the record as it will
 * be. */
enum runner_status runner_rig_status(struct runner_rig *rig);
struct store_record runner_rig_record(struct runner_rig *rig);

/* runner_rig_write(rig, points): commit a body. Its lines are of cpu, every fifth of mem. */
void runner_rig_write(struct runner_rig *rig, unsigned points);

#endif
