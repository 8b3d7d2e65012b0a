/*
 * query_exec.h: what each statement does.
 *
 * Not for: requests and their order (query_api.h), nor how results look (query_results.h).
 */
#ifndef SINKD_DAEMON_QUERY_EXEC_H
#define SINKD_DAEMON_QUERY_EXEC_H

#include <stdbool.h>

#include "base/err.h"
#include "daemon/daemon.h"
#include "daemon/query_results.h"
#include "sql/sql.h"

/* One statement being executed. */
struct query_exec {
    struct daemon *daemon;
    struct query_results *results; /* its result has been begun */
    void (*resume)(void *arg);     /* called when a statement that was parked is done */
    void *arg;
};

/*
 * query_exec_run(x, statement):
 * Execute it. True: done, its result (or error) is there. False: it waits for a commit; x->resume
 * is called later on the loop's thread, and ${x} and ${statement} stay until then.
 */
bool query_exec_run(struct query_exec *x, const struct sql_statement *statement);

/* query_exec_changes(kind): whether the statement changes anything (and so is not for GET). */
bool query_exec_changes(enum sql_kind kind);

#endif
