/*
 * provision.h: [sink] init_file: the SQL that makes the sinks of a new store.
 *
 * It runs once in the life of a store, before the daemon listens, all or nothing: a mark in the
 * store says that it is done. A start that finds no mark takes back what an interrupted one left
 * and runs the file again.
 */
#ifndef SINKD_DAEMON_PROVISION_H
#define SINKD_DAEMON_PROVISION_H

#include "base/attr.h"
#include "base/err.h"
#include "daemon/daemon.h"

struct provision;

/*
 * provision_start(out, daemon, done, arg, info):
 * ${done}(arg, error) is called on the loop's thread, maybe before this returns: NULL when the
 * store is ready, else what is wrong with the file. Errors: ERR_NOMEM, ERR_IO.
 */
enum err provision_start(struct provision **out, struct daemon *daemon,
                         void (*done)(void *arg, const char *error), void *arg,
                         struct errinfo *info) MUST_USE;
void provision_close(struct provision *p); /* after the committer stopped; NULL does nothing */

#endif
