/*
 * supervisor_internal.h: what the files that make up the supervisor share. Nobody else includes it.
 *
 *   supervisor.c         the table, the runners, start and stop, figures
 *   supervisor_change.c  create, replace, drop: one change at a time, through the committer
 */
#ifndef SINKD_DAEMON_SUPERVISOR_INTERNAL_H
#define SINKD_DAEMON_SUPERVISOR_INTERNAL_H

#include <pthread.h>

#include "base/buf.h"
#include "daemon/supervisor.h"

#define META_SINK "meta_sink:"
#define DEFINITION_MAX (1u << 20)

/* A sink that exists. */
struct entry {
    struct sink_def def;
    struct runner *runner; /* NULL: the service is off, or it waits for its predecessor */
};

/* A runner whose sink was dropped, until its thread has ended. */
struct leaving {
    struct runner *runner;
    char *name;
    struct leaving *next;
};

enum change_kind { CHANGE_NONE, CHANGE_CREATE, CHANGE_REPLACE, CHANGE_DROP };

struct supervisor {
    struct supervisor_config config;
    struct runner_config runner_config;
    struct store_reader *reader;
    struct entry *entries[STORE_SINKS_MAX]; /* by name */
    size_t count;
    struct leaving *leaving;
    uint32_t next_id;
    bool started, stopping;

    struct mail reap; /* posted by a runner that ends */
    bool reap_posted; /* private to ended() and its lock */
    pthread_mutex_t reap_lock;

    /* The change under way. */
    enum change_kind kind;
    struct entry *changing; /* what it makes, or what it ends */
    struct buf key, value;
    struct committer_op ops[3];
    struct committer_change change;
    struct mail change_mail;
    enum err result;
    struct errinfo result_info;
    supervisor_done *done;
    void *done_arg;
};

/* supervisor_place(s, name, found): where in the table it is, or would be. */
size_t supervisor_place(const struct supervisor *s, struct slice name, bool *found);
struct entry *supervisor_entry(const struct supervisor *s, const struct sink_def *def);
void supervisor_insert(struct supervisor *s, struct entry *e);
void supervisor_take_out(struct supervisor *s, const struct entry *e);

/* supervisor_may_lose(s, def): whether the log may lose this sink's oldest points to make room. */
bool supervisor_may_lose(const struct supervisor *s, const struct sink_def *def);

/* supervisor_start_runner(s, e): unless the service is off, it runs already, or a predecessor of
 * that name still holds its connection. */
void supervisor_start_runner(struct supervisor *s, struct entry *e);

/* supervisor_refresh(s, e): hand the runner its definition anew: it reads its files again and
 * retries at once. */
void supervisor_refresh(struct supervisor *s, struct entry *e);

/* supervisor_let_go(s, e): the sink is gone from the store: free it; its runner ends by itself. */
void supervisor_let_go(struct supervisor *s, struct entry *e);

#endif
