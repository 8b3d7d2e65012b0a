/*
 * supervisor.c: see supervisor.h. Changes are in supervisor_change.c.
 */
#include "daemon/supervisor_internal.h"

#include <assert.h>

#include "base/container.h"
#include "base/log.h"
#include "base/mem.h"
#include "sink/sink_codec.h"
#include "sink/sink.h"
#include "sink/sink_types.h"

/* ---- runners ---- */

static void reap(struct mail *m);

/* On a runner's thread, as its last act. */
static void
ended(void *arg)
{
    struct supervisor *s = arg;
    bool post;

    pthread_mutex_lock(&s->reap_lock);
    post = !s->reap_posted;
    s->reap_posted = true;
    pthread_mutex_unlock(&s->reap_lock);
    if (post)
        mailbox_post(s->config.mailbox, &s->reap);
}

static bool
is_leaving(const struct supervisor *s, const char *name)
{
    for (const struct leaving *l = s->leaving; l != NULL; l = l->next) {
        if (strcmp(l->name, name) == 0)
            return true;
    }
    return false;
}

void
supervisor_start_runner(struct supervisor *s, struct entry *e)
{
    struct errinfo info;
    struct log_line line = {.event = "failed", .sink = e->def.name, .error = info.text};

    if (!s->config.config->sink.enabled || !s->started || s->stopping || e->runner != NULL ||
        is_leaving(s, e->def.name))
        return;
    if (runner_start(&e->runner, &e->def, &s->runner_config, &info) != ERR_OK) {
        e->runner = NULL;
        log_event(LOG_ERROR, &line, "the sink does not run until the next start or ALTER");
    }
}

static void
reap(struct mail *m)
{
    struct supervisor *s = CONTAINER_OF(m, struct supervisor, reap);

    pthread_mutex_lock(&s->reap_lock);
    s->reap_posted = false;
    pthread_mutex_unlock(&s->reap_lock);
    for (struct leaving **at = &s->leaving; *at != NULL;) {
        struct leaving *l = *at;

        if (!runner_has_ended(l->runner)) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        runner_join(l->runner);
        mem_free(l->name);
        mem_free(l);
    }
    for (size_t i = 0; i < s->count; i++)
        supervisor_start_runner(s, s->entries[i]);
}

void
supervisor_let_go(struct supervisor *s, struct entry *e)
{
    if (e->runner != NULL) {
        struct leaving *l = mem_zalloc(sizeof(*l));

        runner_stop(e->runner);
        if (l != NULL && (l->name = mem_text(slice_of(e->def.name))) != NULL) {
            l->runner = e->runner;
            l->next = s->leaving;
            s->leaving = l;
        } else { /* no memory to remember it: wait for it here */
            mem_free(l);
            runner_abort(e->runner);
            runner_join(e->runner);
        }
    }
    sink_def_free(&e->def);
    mem_free(e);
}

/* ---- the table ---- */

size_t
supervisor_place(const struct supervisor *s, struct slice name, bool *found)
{
    size_t low = 0, high = s->count;

    *found = false;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = slice_cmp(slice_of(s->entries[middle]->def.name), name);

        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void
supervisor_insert(struct supervisor *s, struct entry *e)
{
    bool found;
    size_t at = supervisor_place(s, slice_of(e->def.name), &found);

    assert(!found && s->count < STORE_SINKS_MAX);
    memmove(&s->entries[at + 1], &s->entries[at], (s->count - at) * sizeof(s->entries[0]));
    s->entries[at] = e;
    s->count++;
}

void
supervisor_take_out(struct supervisor *s, const struct entry *e)
{
    bool found;
    size_t at = supervisor_place(s, slice_of(e->def.name), &found);

    assert(found);
    s->count--;
    memmove(&s->entries[at], &s->entries[at + 1], (s->count - at) * sizeof(s->entries[0]));
}

size_t
supervisor_count(const struct supervisor *s)
{
    return s->count;
}

const struct sink_def *
supervisor_at(const struct supervisor *s, size_t i)
{
    return &s->entries[i]->def;
}

const struct sink_def *
supervisor_find(const struct supervisor *s, struct slice name)
{
    bool found;
    size_t at = supervisor_place(s, name, &found);

    return found ? &s->entries[at]->def : NULL;
}

uint64_t
supervisor_batch_size(const struct supervisor *s, const struct sink_def *def)
{
    return def->batch_size > 0 ? def->batch_size : s->runner_config.default_batch_size;
}

int64_t
supervisor_flush_interval_ms(const struct supervisor *s, const struct sink_def *def)
{
    return def->flush_interval_ms >= 0 ? def->flush_interval_ms
                                       : s->runner_config.default_flush_interval_ms;
}

struct entry *
supervisor_entry(const struct supervisor *s, const struct sink_def *def)
{
    bool found;
    size_t at = supervisor_place(s, slice_of(def->name), &found);

    assert(found);
    return s->entries[at];
}

void
supervisor_view(struct supervisor *s, const struct sink_def *def, struct supervisor_view *out)
{
    const struct entry *e = supervisor_entry(s, def);
    struct store_usage usage;
    uint64_t last;

    *out = (struct supervisor_view){.runner = {.status = RUNNER_STARTING}};
    store_usage(s->config.store, &usage);
    if (committer_record(s->config.committer, def->id, &out->record, NULL) != ERR_OK)
        out->record = (struct store_record){.sink = def->id};
    last = usage.last_seq > out->record.cursor ? usage.last_seq : out->record.cursor;
    out->accepted = last - out->record.start;
    out->pending = last - out->record.cursor;
    if (e->runner != NULL)
        runner_view(e->runner, &out->runner);
    else if (!s->config.config->sink.enabled)
        out->runner.status = RUNNER_DISABLED;
    else if (def->paused)
        out->runner.status = RUNNER_PAUSED;
}

bool
supervisor_oldest_age(struct supervisor *s, const struct sink_def *def, int64_t *age_ms)
{
    struct store_record record;

    return committer_record(s->config.committer, def->id, &record, NULL) == ERR_OK &&
           store_age(s->reader, record.cursor, age_ms);
}

/* ---- start and stop ---- */

bool
supervisor_may_lose(const struct supervisor *s, const struct sink_def *def)
{
    enum { INHERIT, REJECT, DROP_OLDEST };
    int64_t choice = sink_def_number(def, "on_full");

    return choice == DROP_OLDEST ||
           (choice == INHERIT && s->config.config->storage.on_full == CONFIG_DROP_OLDEST);
}

struct loading {
    struct supervisor *s;
    enum err err;
    struct errinfo *info;
};

static void
load_one(void *arg, struct slice key, struct slice value)
{
    struct loading *loading = arg;
    struct supervisor *s = loading->s;
    struct entry *e;

    (void)key;
    if (loading->err != ERR_OK)
        return;
    e = mem_zalloc(sizeof(*e));
    loading->err = e == NULL || s->count == STORE_SINKS_MAX
                       ? errinfo_set(loading->info, ERR_NOMEM, "no memory for the sinks")
                       : sink_codec_decode(&e->def, value, loading->info);
    if (loading->err != ERR_OK) {
        mem_free(e);
        return;
    }
    if (committer_record(s->config.committer, e->def.id, NULL, NULL) != ERR_OK)
        loading->err =
            errinfo_set(loading->info, ERR_BAD,
                        "the store has no record of sink \"%.60s\": it is damaged", e->def.name);
    supervisor_insert(s, e);
    committer_set_policy(s->config.committer, e->def.id, supervisor_may_lose(s, &e->def));
}

static void
fill_runner_config(struct supervisor *s)
{
    const struct config *c = s->config.config;

    s->runner_config = (struct runner_config){
        .store = s->config.store,
        .committer = s->config.committer,
        .clock = s->config.clock,
        .node = s->config.node,
        .backoff = {c->sink.max_retries, c->sink.backoff_base_secs * 1000,
                    c->sink.backoff_max_secs * 1000},
        .default_batch_size = c->sink.default_batch_size,
        .default_flush_interval_ms = c->sink.default_flush_interval_secs * 1000,
        .cursor_delay_ms = c->storage.cursor_delay_ms,
        .ended = ended,
        .arg = s,
    };
}

enum err
supervisor_open(struct supervisor **out, const struct supervisor_config *config,
                struct errinfo *info)
{
    struct supervisor *s = mem_zalloc(sizeof(*s));
    struct loading loading = {s, ERR_OK, info};
    enum err err;

    if (s == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for the sinks");
    s->config = *config;
    s->reap.call = reap;
    s->next_id = store_next_sink(config->store);
    buf_init(&s->key, 1024);
    buf_init(&s->value, DEFINITION_MAX);
    pthread_mutex_init(&s->reap_lock, NULL);
    fill_runner_config(s);
    err = store_reader_open(&s->reader, config->store, info);
    if (err == ERR_OK)
        err = store_each_meta(config->store, SLICE(META_SINK), load_one, &loading, info);
    if (err == ERR_OK)
        err = loading.err;
    if (err != ERR_OK) {
        supervisor_close(s);
        return err;
    }
    *out = s;
    return ERR_OK;
}

void
supervisor_start(struct supervisor *s)
{
    s->started = true;
    for (size_t i = 0; i < s->count; i++)
        supervisor_start_runner(s, s->entries[i]);
}

void
supervisor_stop(struct supervisor *s)
{
    s->stopping = true;
    for (size_t i = 0; i < s->count; i++) {
        if (s->entries[i]->runner != NULL)
            runner_stop(s->entries[i]->runner);
    }
}

void
supervisor_abort(struct supervisor *s)
{
    s->stopping = true;
    for (size_t i = 0; i < s->count; i++) {
        if (s->entries[i]->runner != NULL)
            runner_abort(s->entries[i]->runner);
    }
    for (struct leaving *l = s->leaving; l != NULL; l = l->next)
        runner_abort(l->runner);
}

bool
supervisor_is_stopped(struct supervisor *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->entries[i]->runner != NULL && !runner_has_ended(s->entries[i]->runner))
            return false;
    }
    for (struct leaving *l = s->leaving; l != NULL; l = l->next) {
        if (!runner_has_ended(l->runner))
            return false;
    }
    return true;
}

void
supervisor_join(struct supervisor *s)
{
    struct leaving *l;

    supervisor_abort(s);
    for (size_t i = 0; i < s->count; i++) {
        runner_join(s->entries[i]->runner);
        s->entries[i]->runner = NULL;
    }
    while ((l = s->leaving) != NULL) {
        s->leaving = l->next;
        runner_join(l->runner);
        mem_free(l->name);
        mem_free(l);
    }
}

void
supervisor_close(struct supervisor *s)
{
    if (s == NULL)
        return;
    supervisor_join(s);
    (void)mailbox_deliver(s->config.mailbox); /* what runners and the committer have posted last */
    for (size_t i = 0; i < s->count; i++) {
        sink_def_free(&s->entries[i]->def);
        mem_free(s->entries[i]);
    }
    store_reader_close(s->reader);
    buf_free(&s->key);
    buf_wipe(&s->value);
    pthread_mutex_destroy(&s->reap_lock);
    mem_free(s);
}

void
supervisor_refresh(struct supervisor *s, struct entry *e)
{
    struct log_line line = {.event = "failed", .sink = e->def.name};

    if (e->runner == NULL)
        supervisor_start_runner(s, e);
    else if (runner_alter(e->runner, &e->def) != ERR_OK)
        log_event(LOG_ERROR, &line,
                  "no memory for the changed definition; it applies at the next start");
}

void
supervisor_reload(struct supervisor *s)
{
    for (size_t i = 0; i < s->count; i++)
        supervisor_refresh(s, s->entries[i]);
}
