/*
 * query_exec.c: see query_exec.h. The listings are in query_show.c.
 */
#include "daemon/query_exec.h"

#include "daemon/query_show.h"
#include "daemon/sink_ddl.h"
#include "sink/sink.h"

#define NAME(statement) SLICE_PRI((statement)->name)

static bool
fail(struct query_exec *x, const struct errinfo *info)
{
    query_results_error(x->results, "%s", info->text);
    return true;
}

/* A change was committed, or not. */
static void
change_is_over(void *arg, enum err result, const struct errinfo *info)
{
    struct query_exec *x = arg;

    if (result != ERR_OK)
        query_results_error(x->results, "the change could not be stored: %s",
                            info->text[0] != 0 ? info->text : err_name(result));
    x->resume(x->arg);
}

/* ---- sinks ---- */

static const struct sink_def *
find_sink(struct query_exec *x, const struct sql_statement *statement)
{
    const struct sink_def *def = supervisor_find(x->daemon->supervisor, statement->name);

    if (def == NULL)
        query_results_error(x->results, "sink \"%.*s\" not found", NAME(statement));
    return def;
}

static void
warn_if_off(struct query_exec *x)
{
    if (!x->daemon->config->sink.enabled)
        query_results_message(
            x->results, "warning",
            SLICE("the forwarding service is off: points are kept for this sink but not sent until "
                  "[sink] enabled is true and the daemon is started again"));
}

static bool
create_sink(struct query_exec *x, const struct sql_statement *statement)
{
    struct sink_def def;
    struct errinfo info;

    if (supervisor_find(x->daemon->supervisor, statement->name) != NULL) {
        if (!statement->if_not_exists)
            query_results_error(x->results, "sink \"%.*s\" already exists", NAME(statement));
        return true;
    }
    if (sink_ddl_create(&def, statement, &x->daemon->config->sink, &info) != ERR_OK)
        return fail(x, &info);
    if (!sink_ddl_is_available(&def)) {
        query_results_error(x->results, "sink type %s is not available in this version",
                            def.type->name);
        sink_def_free(&def);
        return true;
    }
    warn_if_off(x);
    if (supervisor_create(x->daemon->supervisor, &def,
                          sql_sink_has(&statement->sink, SQL_CLAUSE_START) &&
                              statement->sink.start == SQL_START_EARLIEST,
                          change_is_over, x, &info) != ERR_OK)
        return fail(x, &info);
    return false;
}

static bool
replace(struct query_exec *x, struct sink_def *def)
{
    struct errinfo info;

    if (supervisor_replace(x->daemon->supervisor, def, change_is_over, x, &info) != ERR_OK)
        return fail(x, &info);
    return false;
}

static bool
alter_sink(struct query_exec *x, const struct sql_statement *statement)
{
    const struct sink_def *old = find_sink(x, statement);
    struct sink_def def;
    struct errinfo info;

    if (old == NULL)
        return true;
    if (sink_ddl_alter(&def, old, statement, &x->daemon->config->sink, &info) != ERR_OK)
        return fail(x, &info);
    return replace(x, &def);
}

static bool
pause_sink(struct query_exec *x, const struct sql_statement *statement, bool paused)
{
    const struct sink_def *old = find_sink(x, statement);
    struct sink_def def;

    if (old == NULL)
        return true;
    if (sink_def_copy(&def, old) != ERR_OK) {
        query_results_error(x->results, "no memory for a sink definition");
        return true;
    }
    def.paused = paused;
    return replace(x, &def);
}

static bool
drop_sink(struct query_exec *x, const struct sql_statement *statement)
{
    struct errinfo info;

    if (statement->if_exists && supervisor_find(x->daemon->supervisor, statement->name) == NULL)
        return true;
    if (find_sink(x, statement) == NULL)
        return true;
    if (supervisor_drop(x->daemon->supervisor, statement->name, change_is_over, x, &info) != ERR_OK)
        return fail(x, &info);
    return false;
}

/* ---- databases ---- */

static bool
create_database(struct query_exec *x, const struct sql_statement *statement)
{
    struct databases *databases = x->daemon->databases;
    struct errinfo info;

    if (!databases_is_valid(statement->name)) {
        query_results_error(x->results, "invalid name");
        return true;
    }
    if (databases_has(databases, statement->name))
        return true;
    if (databases_create(databases, statement->name, change_is_over, x, &info) != ERR_OK)
        return fail(x, &info);
    return false;
}

static bool
drop_database(struct query_exec *x, const struct sql_statement *statement)
{
    struct databases *databases = x->daemon->databases;
    struct errinfo info;

    if (!databases_has(databases, statement->name))
        return true;
    if (databases_drop(databases, statement->name, change_is_over, x, &info) != ERR_OK)
        return fail(x, &info);
    return false;
}

/* ---- what is not there ---- */

static bool
unsupported(struct query_exec *x, const struct sql_statement *statement)
{
    query_results_error(x->results,
                        "%.*s is not supported: sinkd forwards data and does not query it",
                        SLICE_PRI(statement->words));
    return true;
}

/* Statements about what no part of the daemon does yet: checked by the parser, then refused. */
static bool
unavailable(struct query_exec *x, const char *what)
{
    query_results_error(x->results, "%s are not available in this version", what);
    return true;
}

bool
query_exec_changes(enum sql_kind kind)
{
    switch (kind) {
    case SQL_SHOW_SINKS:
    case SQL_SHOW_SINK:
    case SQL_SHOW_LEDGER:
    case SQL_SHOW_DEAD_LETTERS:
    case SQL_SHOW_USERS:
    case SQL_SHOW_DATABASES:
    case SQL_UNSUPPORTED:
        return false;
    case SQL_CREATE_SINK:
    case SQL_ALTER_SINK:
    case SQL_PAUSE_SINK:
    case SQL_RESUME_SINK:
    case SQL_DROP_SINK:
    case SQL_REPLAY_DEAD_LETTERS:
    case SQL_REPAIR_DEAD_LETTER:
    case SQL_DROP_DEAD_LETTERS:
    case SQL_CREATE_USER:
    case SQL_DROP_USER:
    case SQL_SET_PASSWORD:
    case SQL_GRANT_ADMIN:
    case SQL_REVOKE_ADMIN:
    case SQL_GRANT:
    case SQL_REVOKE:
    case SQL_CREATE_DATABASE:
    case SQL_DROP_DATABASE:
        return true;
    }
    return true;
}

bool
query_exec_run(struct query_exec *x, const struct sql_statement *statement)
{
    const struct sink_def *def;

    switch (statement->kind) {
    case SQL_CREATE_SINK:
        return create_sink(x, statement);
    case SQL_ALTER_SINK:
        return alter_sink(x, statement);
    case SQL_PAUSE_SINK:
    case SQL_RESUME_SINK:
        return pause_sink(x, statement, statement->kind == SQL_PAUSE_SINK);
    case SQL_DROP_SINK:
        return drop_sink(x, statement);
    case SQL_SHOW_SINKS:
        query_show_sinks(x->results, x->daemon->supervisor);
        return true;
    case SQL_SHOW_SINK:
        def = find_sink(x, statement);
        if (def != NULL)
            query_show_sink(x->results, x->daemon->supervisor, def);
        return true;
    case SQL_SHOW_LEDGER:
        query_show_ledger(x->results, x->daemon->supervisor);
        return true;
    case SQL_CREATE_DATABASE:
        return create_database(x, statement);
    case SQL_DROP_DATABASE:
        return drop_database(x, statement);
    case SQL_SHOW_DATABASES:
        query_show_databases(x->results, x->daemon->databases);
        return true;
    case SQL_UNSUPPORTED:
        return unsupported(x, statement);
    case SQL_SHOW_DEAD_LETTERS:
    case SQL_REPLAY_DEAD_LETTERS:
    case SQL_REPAIR_DEAD_LETTER:
    case SQL_DROP_DEAD_LETTERS:
        return unavailable(x, "dead letters");
    case SQL_CREATE_USER:
    case SQL_DROP_USER:
    case SQL_SET_PASSWORD:
    case SQL_SHOW_USERS:
    case SQL_GRANT_ADMIN:
    case SQL_REVOKE_ADMIN:
    case SQL_GRANT:
    case SQL_REVOKE:
        return unavailable(x, "users and rights");
    }
    return true;
}
