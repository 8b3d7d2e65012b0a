/*
 * sink.h: the contract between a sink type and the runner around it.
 *
 * A type is one struct sink_type; the runner is the same for all. The runner owns the points, their
 * verdicts, the retries and the cursor; a type owns its connection and its protocol. Everything of
 * one sink happens on one thread. docs/adding-a-sink.md shows a skeleton.
 */
#ifndef SINKD_SINK_SINK_H
#define SINKD_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/err.h"
#include "net/stream.h"
#include "sink/option.h"
#include "sink/round.h"
#include "sink/sink_def.h"
#include "store/store.h"

/* What a failed delivery means for its points: docs/user-guide/delivery.md has the table. */
enum delivery {
    DELIVERY_DONE,      /* every point of the range has a verdict */
    DELIVERY_TRANSIENT, /* later it may work */
    DELIVERY_THROTTLED, /* later, but not before retry_after_ms */
    DELIVERY_AUTH,      /* credentials or rights refused */
    DELIVERY_TARGET,    /* the destination refuses whatever is sent */
    DELIVERY_TOO_LARGE, /* this request is too large: offer fewer points */
    DELIVERY_REJECTED   /* something in this request is refused for good: find out which point */
};

struct outcome {
    enum delivery what;
    enum store_error_kind kind; /* what it counts as, unless DONE */
    size_t from, to;            /* TOO_LARGE, REJECTED: the points of the request it is about */
    bool names_points;          /* REJECTED: the answer speaks of points, not of the request */
    int64_t retry_after_ms;     /* THROTTLED, TRANSIENT: wait at least this long; 0: not said */
};

struct sink;

/* What a sink may use of its surroundings; outlives it. */
struct sink_env {
    struct stream_env stream; /* clock, wake pipe, when to stop */
    const char *node;         /* names this daemon to its peers */

    /* Whether a delivery is to end after the request under way: another definition waits. Asked
     * with stream.arg; NULL: never. */
    bool (*yields)(void *arg);
};

struct sink_type {
    const char *name;
    struct option_table options; /* its own; sink_types.h adds what all types have */
    bool has_url;                /* it is a network type */
    const char *schemes;         /* of its URL, blanks between: "http https" */
    unsigned formats;            /* bits 1 << enum sink_format; the first is the default */

    /* check(def, info): structure only, no I/O. ERR_CONFIG. */
    enum err (*check)(const struct sink_def *def, struct errinfo *info);

    /*
     * open(out, def, env, info): make one, without touching the network. ${def} outlives it.
     * Errors: ERR_NOMEM, ERR_CONFIG (something about it cannot work: a file that is missing).
     * NULL: this build does not have the type.
     */
    enum err (*open)(struct sink **out, const struct sink_def *def, const struct sink_env *env,
                     struct errinfo *info);

    /*
     * connect(s, deadline, outcome, info): dial and shake hands; connected already: ERR_OK.
     * On an error ${outcome} says what it means (TRANSIENT, THROTTLED, AUTH, TARGET).
     */
    enum err (*connect)(struct sink *s, int64_t deadline, struct outcome *outcome,
                        struct errinfo *info);

    /*
     * deliver(s, round, from, to, outcome, info):
     * Resolve the open points of [from, to): send them, wait for the answers (each at most the
     * option `timeout`), set verdicts. Verdicts count on every return. ERR_OK exactly when
     * outcome->what is DONE. ERR_STOP: told to give up, or to yield between two requests; outcome
     * is TRANSIENT.
     */
    enum err (*deliver)(struct sink *s, struct round *round, size_t from, size_t to,
                        struct outcome *outcome, struct errinfo *info);

    /*
     * idle(s, until, info): nothing to deliver: keep the connection alive, notice when it dies;
     * wait until then or until woken. Errors: ERR_TIMEOUT (until came), ERR_STOP (woken), another:
     * the connection is gone.
     */
    enum err (*idle)(struct sink *s, int64_t until, struct errinfo *info);

    void (*disconnect)(struct sink *s); /* drop the connection, keep the rest */
    void (*close)(struct sink *s);      /* free it; NULL does nothing */
};

/* Every sink begins with this. */
struct sink {
    const struct sink_type *type;
    const struct sink_env *env; /* of its runner; NULL without one */
};

/* sink_yields(s): asked between two requests of a delivery. */
static inline bool
sink_yields(const struct sink *s)
{
    return s->env != NULL && s->env->yields != NULL && s->env->yields(s->env->stream.arg);
}

/* outcome_is(o, what, kind): an outcome that is about no particular points. */
static inline void
outcome_is(struct outcome *o, enum delivery what, enum store_error_kind kind)
{
    *o = (struct outcome){what, kind, 0, 0, false, 0};
}

#endif
