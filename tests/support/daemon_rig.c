/*
 * daemon_rig.c: the loop's side of a daemon in a test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/daemon_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/sink_ddl.h"
#include "sql/sql.h"

#define MAP (16u << 20)

static void
open_loop(struct daemon_rig *rig)
{
    struct daemon *d = &rig->daemon;

    committer_drive_start(rig->drive, MAP);
    d->store = rig->drive->s;
    d->committer = rig->drive->c;
    d->loop = loop_open(&clock_system);
    assert_non_null(d->loop);
    assert_int_equal(mailbox_open(&d->mailbox, d->loop, NULL), ERR_OK);
}

/* In the order of the daemon's end: runners, then the committer, then their mail, then what it was
 * for. */
static void
close_loop(struct daemon_rig *rig)
{
    struct daemon *d = &rig->daemon;

    if (d->supervisor != NULL) {
        supervisor_stop(d->supervisor);
        supervisor_join(d->supervisor);
    }
    committer_stop(rig->drive->c);
    (void)mailbox_deliver(d->mailbox);
    supervisor_close(d->supervisor);
    databases_close(d->databases);
    mailbox_close(d->mailbox);
    loop_close(d->loop);
    store_close(rig->drive->s);
    d->supervisor = NULL;
    d->databases = NULL;
}

int
daemon_rig_setup(void **state)
{
    struct daemon_rig *rig = calloc(1, sizeof(*rig));
    void *drive;

    assert_non_null(rig);
    assert_int_equal(committer_drive_setup(&drive), 0);
    rig->drive = drive;
    rig->config.sink.enabled = true;
    rig->config.sink.default_batch_size = 1000;
    rig->config.sink.default_flush_interval_secs = 0;
    rig->config.sink.max_retries = 3;
    rig->config.sink.backoff_base_secs = 1;
    rig->config.sink.backoff_max_secs = 30;
    rig->daemon.config = &rig->config;
    rig->daemon.clock = &clock_system;
    (void)snprintf(rig->daemon.node, sizeof(rig->daemon.node), "node-1");
    open_loop(rig);
    *state = rig;
    return 0;
}

int
daemon_rig_teardown(void **state)
{
    struct daemon_rig *rig = *state;

    close_loop(rig);
    store_drive_remove(rig->drive->dir);
    (void)pthread_mutex_destroy(&rig->drive->time.mutex);
    free(rig->drive);
    free(rig);
    return mem_live() == 0 ? 0 : -1;
}

void
daemon_rig_open_databases(struct daemon_rig *rig)
{
    struct daemon *d = &rig->daemon;

    assert_int_equal(databases_open(&d->databases, d->store, d->committer, d->mailbox, NULL),
                     ERR_OK);
}

void
daemon_rig_open_supervisor(struct daemon_rig *rig)
{
    struct daemon *d = &rig->daemon;
    const struct supervisor_config config = {.config = &rig->config,
                                             .store = d->store,
                                             .committer = d->committer,
                                             .mailbox = d->mailbox,
                                             .clock = d->clock,
                                             .node = d->node};
    struct errinfo info;

    if (supervisor_open(&d->supervisor, &config, &info) != ERR_OK)
        fail_msg("%s", info.text);
    supervisor_start(d->supervisor);
}

void
daemon_rig_restart(struct daemon_rig *rig)
{
    bool databases = rig->daemon.databases != NULL, supervisor = rig->daemon.supervisor != NULL;

    close_loop(rig);
    open_loop(rig);
    if (databases)
        daemon_rig_open_databases(rig);
    if (supervisor)
        daemon_rig_open_supervisor(rig);
}

void
daemon_rig_done(void *arg, enum err result, const struct errinfo *info)
{
    struct daemon_rig *rig = arg;

    assert_false(rig->done);
    rig->done = true;
    rig->result = result;
    if (info != NULL)
        rig->info = *info;
}

void
daemon_rig_turn(struct daemon_rig *rig, int64_t ms)
{
    int64_t until = clock_mono_ms(&clock_system) + ms;

    while (clock_mono_ms(&clock_system) < until)
        loop_turn(rig->daemon.loop, until);
}

void
daemon_rig_until(struct daemon_rig *rig, bool (*what)(struct daemon_rig *, void *), void *arg)
{
    int64_t deadline = clock_mono_ms(&clock_system) + 20000;

    while (!what(rig, arg)) {
        if (clock_mono_ms(&clock_system) > deadline)
            fail_msg("waited in vain");
        loop_turn(rig->daemon.loop, clock_mono_ms(&clock_system) + 2);
    }
}

static bool
is_done(struct daemon_rig *rig, void *arg)
{
    (void)arg;
    return rig->done;
}

enum err
daemon_rig_wait(struct daemon_rig *rig)
{
    daemon_rig_until(rig, is_done, NULL);
    rig->done = false;
    return rig->result;
}

static enum err
begin(struct daemon_rig *rig, const struct sql_statement *s)
{
    struct supervisor *v = rig->daemon.supervisor;
    const struct sink_def *old = supervisor_find(v, s->name);
    struct sink_def def;
    enum err err;

    switch ((int)s->kind) {
    case SQL_CREATE_SINK:
        err = sink_ddl_create(&def, s, &rig->config.sink, &rig->info);
        return err != ERR_OK ? err
                             : supervisor_create(v, &def, s->sink.start == SQL_START_EARLIEST,
                                                 daemon_rig_done, rig, &rig->info);
    case SQL_ALTER_SINK:
        err = sink_ddl_alter(&def, old, s, &rig->config.sink, &rig->info);
        break;
    case SQL_PAUSE_SINK:
    case SQL_RESUME_SINK:
        err = sink_def_copy(&def, old);
        if (err == ERR_OK)
            def.paused = s->kind == SQL_PAUSE_SINK;
        break;
    default:
        return supervisor_drop(v, s->name, daemon_rig_done, rig, &rig->info);
    }
    return err != ERR_OK ? err : supervisor_replace(v, &def, daemon_rig_done, rig, &rig->info);
}

enum err
daemon_rig_sql(struct daemon_rig *rig, const char *sql)
{
    struct sql_script script;
    struct sql_error error;
    enum err err;

    if (sql_parse(slice_of(sql), &script, &error) != ERR_OK)
        fail_msg("%s", sql);
    mem_fail_at(rig->fail_at);
    rig->fail_at = 0;
    err = begin(rig, &script.statements[0]);
    if (err == ERR_OK)
        err = daemon_rig_wait(rig);
    mem_fail_at(0);
    sql_free(&script);
    return err;
}
