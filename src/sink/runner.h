/*
 * runner.h: one sink's thread: reads the log, judges, batches, delivers, moves the cursor.
 *
 * The same for every type. All calls are made by the supervisor, from the loop's thread, and none
 * of them waits for the network but runner_join.
 */
#ifndef SINKD_SINK_RUNNER_H
#define SINKD_SINK_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/histogram.h"
#include "sink/backoff.h"
#include "sink/sink_def.h"
#include "store/committer.h"
#include "store/store.h"

struct runner;

struct runner_config {
    struct store *store;
    struct committer *committer;
    const struct clock *clock;
    const char *node;
    struct backoff_limits backoff;
    uint64_t default_batch_size;
    int64_t default_flush_interval_ms;
    int64_t cursor_delay_ms;  /* 0: a step is committed before the next round */
    void (*ended)(void *arg); /* called on the runner's thread as its last act */
    void *arg;
};

enum runner_status {
    RUNNER_STARTING,
    RUNNER_CONNECTING,
    RUNNER_RUNNING,
    RUNNER_BACKOFF,
    RUNNER_AUTH_FAILED,
    RUNNER_BLOCKED,
    RUNNER_PAUSED,
    RUNNER_DISABLED /* no runner has it: for a sink of a service that is off */
};
const char *runner_status_name(enum runner_status status);
#define RUNNER_STATUSES 8

/* What SHOW SINKS and /metrics say beside the record. */
struct runner_view {
    enum runner_status status;
    char last_error[160]; /* empty: none since it was opened */
    struct histogram duration;
};

/* runner_start(out, def, config, info): copy both and start the thread. ERR_NOMEM, ERR_IO. */
enum err runner_start(struct runner **out, const struct sink_def *def,
                      const struct runner_config *config, struct errinfo *info) MUST_USE;

/* runner_alter(r, def): go on with a copy of ${def} (also to pause, to resume and to read files
 * again): the request under way ends, then the round ends, and the new definition judges anew.
 * ERR_NOMEM. */
enum err runner_alter(struct runner *r, const struct sink_def *def) MUST_USE;

/* runner_stop(r): end; the round under way may finish. runner_abort(r): end now. Both return at
 * once. */
void runner_stop(struct runner *r);
void runner_abort(struct runner *r);

bool runner_has_ended(struct runner *r);

/* runner_join(r): wait for the thread's end and free it; after runner_has_ended() it does not wait.
 * NULL does nothing. */
void runner_join(struct runner *r);

void runner_view(struct runner *r, struct runner_view *out);

#endif
