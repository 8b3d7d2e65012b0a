/*
 * runner.c: the thread of one sink: its orders, its main loop, its waits. See runner.h.
 *
 * Straight blocking code with deadlines. What it reads and counts is in runner_round.c.
 */
#include "sink/runner.h"

#include <pthread.h>
#include <signal.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/wake.h"
#include "sink/runner_round.h"
#include "sink/sink.h"

/* Stacks: pages that are never touched cost nothing; sanitizers need more. */
#define STACK_BYTES (512 * 1024)

/* Log lines of one sink that is in trouble: two at once, then one in half a minute: never more than four a minute. */
#define LOG_BURST 2
#define LOG_EVERY_MS 30000

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
    struct sink *sink;     /* NULL: not opened */
    bool connected;
    bool dormant;          /* the peer closed an idle connection: dial again when there is work */
    struct runner_round round;
    struct backoff backoff;
    int64_t retry_at;      /* no try before this time */
    bool in_trouble;       /* the last try failed */
    bool trouble_logged;   /* and the log says so: the next success is a recovery */
    struct log_limit limit;
};

const char *
runner_status_name(enum runner_status status)
{
    switch (status) {
    case RUNNER_STARTING:
        return "starting";
    case RUNNER_CONNECTING:
        return "connecting";
    case RUNNER_RUNNING:
        return "running";
    case RUNNER_BACKOFF:
        return "backoff";
    case RUNNER_AUTH_FAILED:
        return "auth_failed";
    case RUNNER_BLOCKED:
        return "blocked";
    case RUNNER_PAUSED:
        return "paused";
    case RUNNER_DISABLED:
        return "disabled";
    }
    return "?";
}

/* ---- orders ---------------------------------------------------------------------------------- */

static bool
has_orders(struct runner *r)
{
    bool any;

    pthread_mutex_lock(&r->lock);
    any = r->stopping || r->next_def != NULL;
    pthread_mutex_unlock(&r->lock);
    return any;
}

static bool
is_aborted(void *arg)
{
    struct runner *r = arg;
    bool aborting;

    pthread_mutex_lock(&r->lock);
    aborting = r->aborting;
    pthread_mutex_unlock(&r->lock);
    return aborting;
}

static bool
wait_is_over(void *arg)
{
    struct runner *r = arg;

    return r->phase == PHASE_DELIVERING ? is_aborted(r) : has_orders(r);
}

/* When idle, every signal ends a wait and stays in the pipe until the orders are taken. */
static void
enter(struct runner *r, enum phase phase)
{
    r->phase = phase;
    r->env.stream.stopped = phase == PHASE_IDLE ? NULL : wait_is_over;
}

static void
set_status(struct runner *r, enum runner_status status, const char *error)
{
    pthread_mutex_lock(&r->lock);
    r->view.status = status;
    if (error != NULL)
        slice_copy_text(slice_of(error), r->view.last_error, sizeof(r->view.last_error));
    pthread_mutex_unlock(&r->lock);
}

static void
close_sink(struct runner *r)
{
    if (r->sink != NULL) {
        r->sink->type->disconnect(r->sink);
        r->sink->type->close(r->sink);
    }
    r->sink = NULL;
    r->connected = false;
    r->dormant = false;
}

/* Take over a new definition: what the old one had in hand is judged anew. */
static void
take_definition(struct runner *r, struct sink_def *next)
{
    close_sink(r);
    runner_round_end(&r->round);
    sink_def_free(&r->def);
    r->def = *next;
    mem_free(next);
    backoff_reset(&r->backoff);
    r->retry_at = 0;
    set_status(r, r->def.paused ? RUNNER_PAUSED : RUNNER_CONNECTING, "");
}

/* Do what was ordered since the last call. False: the end. */
static bool
take_orders(struct runner *r)
{
    struct sink_def *next;
    bool stopping;

    wake_drain(&r->wake);
    pthread_mutex_lock(&r->lock);
    stopping = r->stopping;
    next = r->next_def;
    r->next_def = NULL;
    pthread_mutex_unlock(&r->lock);
    if (next != NULL)
        take_definition(r, next);
    return !stopping && !r->round.gone;
}

/* ---- what comes of a try ----------------------------------------------------------------------- */

static void
log_trouble(struct runner *r, const char *event, unsigned attempt, const struct outcome *outcome,
            const struct errinfo *info, int64_t wait_ms)
{
    struct log_line line = {event, r->def.name, 0, attempt, store_error_name(outcome->kind),
                            info->text};
    unsigned held;

    if (!log_allow(&r->limit, clock_mono_ms(r->config.clock)))
        return;
    r->trouble_logged = true;
    held = r->limit.held_back;
    r->limit.held_back = 0;
    if (held > 0)
        log_event(LOG_WARN, &line, "next try in %lld ms; %u lines held back", (long long)wait_ms, held);
    else
        log_event(LOG_WARN, &line, "next try in %lld ms", (long long)wait_ms);
}

static int64_t
pause_after(struct runner *r, const struct outcome *outcome, enum runner_status *status,
            const char **event)
{
    const struct backoff_limits *limits = &r->config.backoff;
    int64_t wait_ms;

    *event = "failed";
    switch (outcome->what) {
    case DELIVERY_AUTH:
        *status = RUNNER_AUTH_FAILED;
        return backoff_refused(&r->backoff, limits);
    case DELIVERY_TARGET:
    case DELIVERY_REJECTED:
    case DELIVERY_TOO_LARGE:
        *status = RUNNER_BLOCKED;
        return backoff_refused(&r->backoff, limits);
    case DELIVERY_TRANSIENT:
    case DELIVERY_THROTTLED:
    case DELIVERY_DONE:
        break;
    }
    *status = RUNNER_BACKOFF;
    wait_ms = backoff_next(&r->backoff, limits);
    if (!r->backoff.pausing) {
        *event = "retry";
        runner_round_count_retry(&r->round);
    }
    return wait_ms > outcome->retry_after_ms ? wait_ms : outcome->retry_after_ms;
}

static void
failed(struct runner *r, const struct outcome *outcome, const struct errinfo *info)
{
    enum runner_status status;
    const char *event;
    int64_t wait_ms = pause_after(r, outcome, &status, &event);

    runner_round_count_error(&r->round, outcome->kind);
    r->retry_at = clock_after(clock_mono_ms(r->config.clock), wait_ms);
    r->in_trouble = true;
    set_status(r, status, info->text);
    log_trouble(r, event, r->backoff.attempt, outcome, info, wait_ms);
}

static void
succeeded(struct runner *r)
{
    struct log_line line = {.event = "recovered", .sink = r->def.name};

    backoff_reset(&r->backoff);
    r->retry_at = 0;
    if (r->trouble_logged)
        log_event(LOG_INFO, &line, NULL);
    r->in_trouble = r->trouble_logged = false;
    set_status(r, RUNNER_RUNNING, NULL);
}

/* ---- connecting and delivering ------------------------------------------------------------------ */

static bool
open_sink(struct runner *r)
{
    struct outcome outcome;
    struct errinfo info = {ERR_OK, 0, ""};

    if (r->sink != NULL)
        return true;
    if (r->def.type->open(&r->sink, &r->def, &r->env, &info) == ERR_OK)
        return true;
    r->sink = NULL;
    outcome_is(&outcome, DELIVERY_TARGET, STORE_ERROR_TARGET);
    failed(r, &outcome, &info);
    return false;
}

static int64_t
timeout_ms(const struct runner *r)
{
    return r->def.type->has_url ? sink_def_number(&r->def, "timeout") : 10000;
}

static bool
connect_sink(struct runner *r)
{
    struct log_line line = {.event = "connected", .sink = r->def.name};
    struct outcome outcome;
    struct errinfo info = {ERR_OK, 0, ""};
    enum err err;

    if (r->connected)
        return true;
    if (!open_sink(r))
        return false;
    set_status(r, RUNNER_CONNECTING, NULL);
    outcome_is(&outcome, DELIVERY_TRANSIENT, STORE_ERROR_CONNECT);
    enter(r, PHASE_CONNECTING);
    err = r->sink->type->connect(
        r->sink, clock_after(clock_mono_ms(r->config.clock), timeout_ms(r)), &outcome, &info);
    enter(r, PHASE_IDLE);
    if (err == ERR_STOP && has_orders(r))
        return false;
    if (err != ERR_OK) {
        r->sink->type->disconnect(r->sink);
        failed(r, &outcome, &info);
        return false;
    }
    r->connected = true;
    r->dormant = false;
    if (!r->in_trouble)
        log_event(LOG_DEBUG, &line, NULL);
    set_status(r, RUNNER_RUNNING, NULL);
    return true;
}

static void
log_batch(struct runner *r, int64_t started_us, const struct outcome *outcome)
{
    struct log_line line = {.event = "batch", .sink = r->def.name, .seq = r->round.passed};

    if (sink_def_bool(&r->def, "verbose"))
        log_event(LOG_INFO, &line, "%zu points, %s, %lld ms", r->round.round.points.count,
                  outcome->what == DELIVERY_DONE ? "delivered" : "not all delivered",
                  (long long)((clock_mono_ms(r->config.clock) * 1000 - started_us) / 1000));
}

static void
deliver(struct runner *r)
{
    struct outcome outcome;
    struct errinfo info = {ERR_OK, 0, ""};
    int64_t started_us = clock_mono_ms(r->config.clock) * 1000;
    enum err err;

    outcome_is(&outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
    enter(r, PHASE_DELIVERING);
    err = runner_round_deliver(&r->round, r->sink, &outcome, &info);
    enter(r, PHASE_IDLE);
    log_batch(r, started_us, &outcome);
    if (err == ERR_OK) {
        pthread_mutex_lock(&r->lock);
        histogram_add(&r->view.duration, clock_mono_ms(r->config.clock) * 1000 - started_us);
        pthread_mutex_unlock(&r->lock);
        succeeded(r);
    } else if (err != ERR_STOP) {
        if (outcome.what == DELIVERY_TRANSIENT) {
            r->sink->type->disconnect(r->sink);
            r->connected = false;
        }
        failed(r, &outcome, &info);
    }
}

/* ---- the main loop ---------------------------------------------------------------------------------- */

static int64_t
earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Until when there is nothing to do, if nobody wakes us. */
static int64_t
next_deadline(struct runner *r)
{
    const struct runner_round *rr = &r->round;
    int64_t at = DEADLINE_NEVER;

    if (rr->more)
        return 0;
    if (rr->due_ms < DEADLINE_NEVER)
        at = rr->due_ms > r->retry_at ? rr->due_ms : r->retry_at;
    else if (!r->connected && !r->dormant)
        at = r->retry_at;
    return rr->read_at_ms > 0 ? earlier(at, rr->read_at_ms) : at;
}

static void
idle(struct runner *r, int64_t until)
{
    struct outcome outcome;
    struct errinfo info = {ERR_OK, 0, ""};
    enum err err;

    if (!r->connected) {
        err = stream_pause(&r->env.stream, until);
        (void)err; /* the deadline or a wake: the loop looks at everything anyway */
        return;
    }
    err = r->sink->type->idle(r->sink, until, &info);
    if (err == ERR_OK || err == ERR_TIMEOUT || err == ERR_STOP)
        return;
    r->sink->type->disconnect(r->sink);
    r->connected = false;
    r->dormant = err == ERR_EOF;
    if (!r->dormant) {
        outcome_is(&outcome, DELIVERY_TRANSIENT, STORE_ERROR_CONNECT);
        failed(r, &outcome, &info);
    }
}

static void
work(struct runner *r)
{
    struct outcome outcome;
    struct errinfo info = {ERR_OK, 0, ""};
    int64_t now;

    if (runner_round_gather(&r->round, &info) != ERR_OK) {
        outcome_is(&outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
        failed(r, &outcome, &info);
    }
    now = clock_mono_ms(r->config.clock);
    if (r->round.gone || now < r->retry_at)
        return;
    if (r->round.due_ms <= now) {
        if (connect_sink(r))
            deliver(r);
    } else if (!r->connected && !r->dormant) {
        (void)connect_sink(r);
    }
}

/* One turn: what can be done now, then a wait. A step that must be committed first holds the next
 * round back. */
static void
turn(struct runner *r)
{
    bool settled = runner_round_settled(&r->round);
    int64_t deadline = DEADLINE_NEVER;

    if (settled && !r->def.paused) {
        work(r);
        if (has_orders(r) || r->round.gone || !runner_round_settled(&r->round))
            return;
        deadline = next_deadline(r);
    }
    if (deadline <= clock_mono_ms(r->config.clock))
        return;
    runner_round_arm(&r->round, settled && !r->def.paused);
    idle(r, deadline);
}

static void
log_closing(struct runner *r)
{
    struct log_line line = {.event = "closed", .sink = r->def.name, .seq = r->round.cursor};
    struct store_record record;

    if (committer_record(r->config.committer, r->def.id, NULL, &record) == ERR_OK)
        log_event(LOG_INFO, &line, "forwarded %llu, filtered %llu, dead %llu, dropped %llu",
                  (unsigned long long)record.forwarded, (unsigned long long)record.filtered,
                  (unsigned long long)record.dead,
                  (unsigned long long)store_record_dropped(&record));
    else
        log_event(LOG_INFO, &line, "dropped");
}

static void *
run(void *arg)
{
    struct runner *r = arg;
    struct log_line line = {.event = "opened", .sink = r->def.name};

    committer_attach(r->config.committer, r->def.id, &r->wake);
    log_event(LOG_INFO, &line, "type %s", r->def.type->name);
    if (r->def.paused)
        set_status(r, RUNNER_PAUSED, NULL);
    while (take_orders(r))
        turn(r);
    close_sink(r);
    committer_attach(r->config.committer, r->def.id, NULL);
    log_closing(r);
    pthread_mutex_lock(&r->lock);
    r->ended = true;
    pthread_mutex_unlock(&r->lock);
    r->config.ended(r->config.arg);
    return NULL;
}

/* ---- the supervisor's side ----------------------------------------------------------------------------- */

static void
free_runner(struct runner *r)
{
    runner_round_close(&r->round);
    sink_def_free(&r->def);
    if (r->next_def != NULL) {
        sink_def_free(r->next_def);
        mem_free(r->next_def);
    }
    wake_close(&r->wake);
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
}

/* Signals belong to the loop's thread. */
static enum err
start_thread(struct runner *r, struct errinfo *info)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int sys;

    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    sys = pthread_create(&r->thread, &attributes, run, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (sys != 0)
        return errinfo_sys(info, ERR_IO, sys, "cannot start a thread for sink \"%s\"", r->def.name);
    return ERR_OK;
}

enum err
runner_start(struct runner **out, const struct sink_def *def, const struct runner_config *config,
             struct errinfo *info)
{
    struct runner *r = mem_zalloc(sizeof(*r));
    enum err err;

    if (r == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for sink \"%s\"", def->name);
    r->config = *config;
    r->env = (struct sink_env){.stream = {.clock = config->clock,
                                          .wake = &r->wake,
                                          .aborted = is_aborted,
                                          .arg = r},
                               .node = config->node};
    r->limit = (struct log_limit){.burst = LOG_BURST, .every_ms = LOG_EVERY_MS};
    r->backoff.seed = (uint64_t)clock_wall_ns(config->clock) ^ ((uint64_t)def->id << 32);
    pthread_mutex_init(&r->lock, NULL);
    err = wake_open(&r->wake, info);
    if (err == ERR_OK)
        err = sink_def_copy(&r->def, def);
    if (err == ERR_OK)
        err = runner_round_open(&r->round, config, &r->def, info);
    if (err == ERR_OK)
        err = start_thread(r, info);
    if (err != ERR_OK) {
        free_runner(r);
        return err;
    }
    *out = r;
    return ERR_OK;
}

enum err
runner_alter(struct runner *r, const struct sink_def *def)
{
    struct sink_def *copy = mem_zalloc(sizeof(*copy)), *unused;

    if (copy == NULL || sink_def_copy(copy, def) != ERR_OK) {
        mem_free(copy);
        return ERR_NOMEM;
    }
    pthread_mutex_lock(&r->lock);
    unused = r->next_def;
    r->next_def = copy;
    pthread_mutex_unlock(&r->lock);
    if (unused != NULL) {
        sink_def_free(unused);
        mem_free(unused);
    }
    wake_signal(&r->wake);
    return ERR_OK;
}

void
runner_stop(struct runner *r)
{
    pthread_mutex_lock(&r->lock);
    r->stopping = true;
    pthread_mutex_unlock(&r->lock);
    wake_signal(&r->wake);
}

void
runner_abort(struct runner *r)
{
    pthread_mutex_lock(&r->lock);
    r->stopping = true;
    r->aborting = true;
    pthread_mutex_unlock(&r->lock);
    wake_signal(&r->wake);
}

bool
runner_has_ended(struct runner *r)
{
    bool ended;

    pthread_mutex_lock(&r->lock);
    ended = r->ended;
    pthread_mutex_unlock(&r->lock);
    return ended;
}

void
runner_join(struct runner *r)
{
    if (r == NULL)
        return;
    pthread_join(r->thread, NULL);
    free_runner(r);
}

void
runner_view(struct runner *r, struct runner_view *out)
{
    pthread_mutex_lock(&r->lock);
    *out = r->view;
    pthread_mutex_unlock(&r->lock);
}
