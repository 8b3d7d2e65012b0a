/*
 * runner_thread.c: the thread of one sink: its orders, its main loop, its waits. See runner.h.
 *
 * Straight blocking code with deadlines. What it reads and counts is in runner_round.c.
 */
#include "base/mem.h"
#include "sink/runner_internal.h"

/* Log lines of one sink that is in trouble: two at once, then one in half a minute: never more than
 * four a minute. */
#define LOG_BURST 2
#define LOG_EVERY_MS 30000

/* ---- orders ---- */

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

/* Another definition waits: what is confirmed by now counts, the rest is judged anew. */
static bool
is_altered(void *arg)
{
    struct runner *r = arg;
    bool altered;

    pthread_mutex_lock(&r->lock);
    altered = r->next_def != NULL;
    pthread_mutex_unlock(&r->lock);
    return altered;
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

/* ---- what comes of a try ---- */

static void
log_trouble(struct runner *r, const char *event, unsigned attempt, const struct outcome *outcome,
            const struct errinfo *info, int64_t wait_ms)
{
    struct log_line line = {event,     r->def.name, 0, attempt, store_error_name(outcome->kind),
                            info->text};
    unsigned held;

    if (!log_allow(&r->limit, clock_mono_ms(r->config.clock)))
        return;
    r->trouble_logged = true;
    held = r->limit.held_back;
    r->limit.held_back = 0;
    if (held > 0)
        log_event(LOG_WARN, &line, "next try in %lld ms; %u lines held back", (long long)wait_ms,
                  held);
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

/* ---- connecting and delivering ---- */

static bool
open_sink(struct runner *r)
{
    struct outcome outcome;
    struct errinfo info = {ERR_OK, 0, ""};

    if (r->sink != NULL)
        return true;
    if (r->def.type->open(&r->sink, &r->def, &r->env, &info) == ERR_OK) {
        r->sink->env = &r->env;
        return true;
    }
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
log_batch(struct runner *r, size_t points, int64_t started_us, const struct outcome *outcome)
{
    struct log_line line = {.event = "batch", .sink = r->def.name, .seq = r->round.passed};

    if (sink_def_bool(&r->def, "verbose"))
        log_event(LOG_INFO, &line, "%zu points, %s, %lld ms", points,
                  outcome->what == DELIVERY_DONE ? "delivered" : "not all delivered",
                  (long long)((clock_mono_ms(r->config.clock) * 1000 - started_us) / 1000));
}

static void
deliver(struct runner *r)
{
    struct outcome outcome;
    struct errinfo info = {ERR_OK, 0, ""};
    int64_t started_us = clock_mono_ms(r->config.clock) * 1000;
    size_t points = r->round.round.points.count - r->round.round.counted;
    enum err err;

    outcome_is(&outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
    enter(r, PHASE_DELIVERING);
    err = runner_round_deliver(&r->round, r->sink, &outcome, &info);
    enter(r, PHASE_IDLE);
    log_batch(r, points, started_us, &outcome);
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

/* ---- the main loop ---- */

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

void *
runner_thread_run(void *arg)
{
    struct runner *r = arg;
    struct log_line line = {.event = "opened", .sink = r->def.name};

    r->limit = (struct log_limit){.burst = LOG_BURST, .every_ms = LOG_EVERY_MS};
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

void
runner_thread_env(struct runner *r, struct sink_env *env)
{
    *env = (struct sink_env){
        .stream = {.clock = r->config.clock, .wake = &r->wake, .aborted = is_aborted, .arg = r},
        .node = r->config.node,
        .yields = is_altered,
    };
}
