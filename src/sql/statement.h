/*
 * statement.h: SQL statements as plain structs.
 *
 * What a statement says, not whether it may be done: which option keys a sink type knows, whether a
 * name exists and who may run it is decided above. The parser fills these; code that wants a text
 * (export, log lines) may fill one by hand and render it. See sql.h for the calls.
 */
#ifndef SINKD_SQL_STATEMENT_H
#define SINKD_SQL_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define SQL_TEXT_MAX ((size_t)1 << 20) /* bytes of one request's text: 1 MiB */
#define SQL_STATEMENTS_MAX 1024        /* statements of one request: more than 256 sinks need */
#define SQL_LIST_MAX 1024              /* selectors, databases or options of one clause */
#define SQL_NAME_MAX 200               /* bytes of the name of a sink, user or database */

enum sql_kind {
    SQL_CREATE_SINK,         /* name, if_not_exists, sink */
    SQL_ALTER_SINK,          /* name, sink: only the clauses that are set */
    SQL_PAUSE_SINK,          /* name */
    SQL_RESUME_SINK,         /* name */
    SQL_DROP_SINK,           /* name, if_exists */
    SQL_SHOW_SINKS,          /* */
    SQL_SHOW_SINK,           /* name */
    SQL_SHOW_LEDGER,         /* */
    SQL_SHOW_DEAD_LETTERS,   /* [name], [id], [limit] */
    SQL_REPLAY_DEAD_LETTERS, /* name, [id] */
    SQL_REPAIR_DEAD_LETTER,  /* name, id, line */
    SQL_DROP_DEAD_LETTERS,   /* name, [id] */
    SQL_CREATE_USER,         /* name, password, admin */
    SQL_DROP_USER,           /* name */
    SQL_SET_PASSWORD,        /* name, password */
    SQL_SHOW_USERS,          /* */
    SQL_GRANT_ADMIN,         /* name: GRANT ALL PRIVILEGES TO name */
    SQL_REVOKE_ADMIN,        /* name */
    SQL_GRANT,               /* name, privilege, database */
    SQL_REVOKE,              /* name, privilege, database */
    SQL_CREATE_DATABASE,     /* name; InfluxQL's WITH clauses are checked and dropped */
    SQL_DROP_DATABASE,       /* name */
    SQL_SHOW_DATABASES,      /* */
    SQL_UNSUPPORTED          /* words: a statement of InfluxQL that sinkd does not have */
};

enum sql_type {
    SQL_TYPE_HTTP_LINE,
    SQL_TYPE_HTTP_MSGPACK,
    SQL_TYPE_MQTT,
    SQL_TYPE_KAFKA,
    SQL_TYPE_STDOUT
};
enum sql_format { SQL_FORMAT_LINE_PROTOCOL, SQL_FORMAT_JSON, SQL_FORMAT_MSGPACK };
enum sql_start { SQL_START_LATEST, SQL_START_EARLIEST };
enum sql_privilege { SQL_PRIVILEGE_READ, SQL_PRIVILEGE_WRITE, SQL_PRIVILEGE_ALL };

enum sql_selector_kind {
    SQL_SELECT_NAME, /* exactly this measurement */
    SQL_SELECT_GLOB, /* '*' stands for any bytes (text_glob) */
    SQL_SELECT_REGEX /* a POSIX extended regular expression, unanchored, without its slashes */
};

struct sql_selector {
    enum sql_selector_kind kind;
    struct slice text; /* escapes resolved */
};

enum sql_value_kind {
    SQL_VALUE_STRING,   /* 'x' or "x"; text has the escapes resolved */
    SQL_VALUE_INTEGER,  /* 12: decimal digits */
    SQL_VALUE_NUMBER,   /* 1.5 */
    SQL_VALUE_DURATION, /* 10s: num_duration_ns reads it */
    SQL_VALUE_BOOLEAN,  /* true or false, in lower case */
    SQL_VALUE_WORD      /* any other bare word, as typed: acks = all */
};

/* One option of WITH. A value may be a secret: never log it; sql_render masks it. */
struct sql_option {
    struct slice key; /* in lower case */
    enum sql_value_kind kind;
    struct slice value;
};

/* Which clauses of a sink statement were given. */
enum sql_clause {
    SQL_CLAUSE_TO = 1 << 0,
    SQL_CLAUSE_TYPE = 1 << 1,
    SQL_CLAUSE_USERNAME = 1 << 2,
    SQL_CLAUSE_PASSWORD = 1 << 3,
    SQL_CLAUSE_FORMAT = 1 << 4,
    SQL_CLAUSE_ON = 1 << 5,
    SQL_CLAUSE_INCLUDE = 1 << 6,
    SQL_CLAUSE_EXCLUDE = 1 << 7,
    SQL_CLAUSE_BATCH_SIZE = 1 << 8,
    SQL_CLAUSE_FLUSH_INTERVAL = 1 << 9,
    SQL_CLAUSE_START = 1 << 10,
    SQL_CLAUSE_WITH = 1 << 11
};

struct sql_sink {
    unsigned clauses; /* a sum of enum sql_clause; a field counts only with its bit */
    struct slice to;  /* the URL as written: may hold user info and tokens */
    enum sql_type type;
    struct slice username;
    struct slice password; /* a secret */
    enum sql_format format;
    bool include_all;              /* INCLUDE ALL; include is then empty */
    const struct slice *databases; /* ON */
    size_t database_count;
    const struct sql_selector *include;
    size_t include_count;
    const struct sql_selector *exclude;
    size_t exclude_count;
    uint64_t batch_size;       /* points, 1 to 2147483647 */
    int64_t flush_interval_ns; /* 0 or more */
    enum sql_start start;
    const struct sql_option *options; /* WITH; no key twice; may be empty: WITH () */
    size_t option_count;
};

struct sql_statement {
    enum sql_kind kind;
    struct slice name; /* of the sink, user or database; empty where there is none */
    bool if_not_exists;
    bool if_exists;
    bool has_id, has_limit;
    uint64_t id;           /* a point's sequence number */
    uint64_t limit;        /* 1 to 2147483647 */
    struct slice line;     /* REPAIR ... WITH: the corrected line */
    struct slice password; /* CREATE USER, SET PASSWORD; a secret */
    bool admin;            /* CREATE USER ... WITH ALL PRIVILEGES */
    enum sql_privilege privilege;
    struct slice database; /* GRANT, REVOKE ... ON database */
    struct slice words;    /* SQL_UNSUPPORTED: leading keywords in upper case: "SHOW TAG KEYS" */
    struct sql_sink sink;
};

static inline bool
sql_sink_has(const struct sql_sink *sink, enum sql_clause clause)
{
    return (sink->clauses & (unsigned)clause) != 0;
}

#endif
