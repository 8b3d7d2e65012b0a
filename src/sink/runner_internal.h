/*
 * runner_internal.h: what the files that make up the runner share. Nobody else includes it.
 *
 *   runner.c         the supervisor's side: start, orders, end    runner_thread.c  the thread
 *   runner_round.c   what it reads, offers and counts
 */
#ifndef SINKD_SINK_RUNNER_INTERNAL_H
#define SINKD_SINK_RUNNER_INTERNAL_H

#include <pthread.h>

#include "base/log.h"
#include "net/wake.h"
#include "sink/runner.h"
#include "sink/runner_round.h"
#include "sink/sink.h"

/* What may end a wait of the thread, beside its deadline. */
enum phase {
    PHASE_IDLE,       /* every signal: new points, orders */
    PHASE_CONNECTING, /* orders */
    PHASE_DELIVERING  /* only the order to give up: the request under way ends first */
};

struct runner {
    struct runner_config config;
    pthread_t thread;
    struct wake wake;

    pthread_mutex_t lock; /* guards what follows, up to the blank line */
    bool stopping, aborting, ended;
    struct sink_def *next_def; /* of ALTER, not taken over yet */
    struct runner_view view;

    /* The thread's own. */
    enum phase phase;
    struct sink_def def;
    struct sink_env env;
    struct sink *sink; /* NULL: not opened */
    bool connected;
    bool dormant; /* the peer closed an idle connection: dial again when there is work */
    struct runner_round round;
    struct backoff backoff;
    int64_t retry_at;    /* no try before this time */
    bool in_trouble;     /* the last try failed */
    bool trouble_logged; /* and the log says so: the next success is a recovery */
    struct log_limit limit;
};

/* runner_thread_run(r): the thread's function. */
void *runner_thread_run(void *r);

/* runner_thread_env(r, env): what the sink of ${r} gets of its surroundings. */
void runner_thread_env(struct runner *r, struct sink_env *env);

#endif
