/*
 * runner.c: the supervisor's side of a runner: see runner.h.
 */
#include <signal.h>

#include "base/mem.h"
#include "sink/runner_internal.h"

/* A test measures a tenth of it in use. Pages of a stack that are never touched cost nothing;
 * sanitizers need more. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_BYTES (1024 * 1024)
#else
#define STACK_BYTES (256 * 1024)
#endif

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
    sys = pthread_create(&r->thread, &attributes, runner_thread_run, r);
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
    runner_thread_env(r, &r->env);
    r->backoff.seed = (uint64_t)clock_wall_ns(config->clock) ^ ((uint64_t)def->id << 32);
    pthread_mutex_init(&r->lock, NULL);
    err = wake_open(&r->wake, info);
    if (err == ERR_OK)
        err = sink_def_copy(&r->def, def);
    if (err == ERR_OK)
        err = runner_round_open(&r->round, &r->config, &r->def, info);
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
