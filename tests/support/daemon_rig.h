/*
 * daemon_rig.h: the loop's side of a daemon in a test: loop, mailbox, store and committer, and what
 * stands on them, without a server. For cmocka tests: what cannot go wrong fails the test.
 */
#ifndef SINKD_SUPPORT_DAEMON_RIG_H
#define SINKD_SUPPORT_DAEMON_RIG_H

#include <stdbool.h>

#include "daemon/config.h"
#include "daemon/daemon.h"
#include "support/committer_drive.h"

struct daemon_rig {
    struct committer_drive *drive;
    struct config config;
    struct daemon daemon; /* loop, mailbox, store, committer; databases and supervisor as opened */

    /* Of the change under way. */
    size_t fail_at; /* the allocation of that number fails, behind the parser; then none any more */
    bool done;
    enum err result;
    struct errinfo info;
};

/* setup and teardown are cmocka's: the store is open, its committer runs, the service is on. */
int daemon_rig_setup(void **state);
int daemon_rig_teardown(void **state);

/* Open and close these parts; daemon_rig_restart: everything down and up again, the store too. */
void daemon_rig_open_databases(struct daemon_rig *rig);
void daemon_rig_open_supervisor(struct daemon_rig *rig);
void daemon_rig_restart(struct daemon_rig *rig);

/* daemon_rig_done: the callback of a change (arg: the rig). daemon_rig_wait: turn the loop until it
 * was called; its result. */
void daemon_rig_done(void *rig, enum err result, const struct errinfo *info);
enum err daemon_rig_wait(struct daemon_rig *rig);

/* daemon_rig_until(rig, what, arg): turn the loop until that is true; fails after 20 s. */
void daemon_rig_until(struct daemon_rig *rig, bool (*what)(struct daemon_rig *, void *), void *arg);

/* daemon_rig_turn(rig, ms): turn the loop for so long. */
void daemon_rig_turn(struct daemon_rig *rig, int64_t ms);

/* daemon_rig_sql(rig, sql): what one CREATE, ALTER, PAUSE, RESUME or DROP SINK does; the result of
 * its change, its text in rig->info. */
enum err daemon_rig_sql(struct daemon_rig *rig, const char *sql);

#endif
