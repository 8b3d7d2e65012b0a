/*
 * cli_definition.h: what a daemon tells about one sink, made a CREATE SINK statement again.
 *
 * The properties have the names of SHOW SINK: name type url username password format databases
 * include batch_size flush_interval status, and the options of the type; or those of
 * /internal/sync/metadata, where databases, include and exclude are arrays, paused is a boolean and
 * the options stand in an object. Others (counters, what a newer daemon adds) are left out, and so
 * are options at their default. Pure.
 */
#ifndef SINKD_CLI_CLI_DEFINITION_H
#define SINKD_CLI_CLI_DEFINITION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"
#include "sql/sql.h"

/* More options than any type has. */
#define CLI_DEFINITION_OPTIONS 64

struct cli_definition {
    struct json name, type, url, username, password, format, databases, include, exclude;
    struct json batch_size, flush_interval, status, paused;
    /* everything else; keys are raw JSON strings */
    struct slice keys[CLI_DEFINITION_OPTIONS];
    struct json values[CLI_DEFINITION_OPTIONS];
    size_t count;
};

/* cli_definition_set(d, key, value): ${key} is a raw JSON string; both are loans. An unset definition
 * is zeroed. A member "options" that is an object is taken apart. ERR_RANGE: too many. */
enum err cli_definition_set(struct cli_definition *d, struct slice key,
                            const struct json *value) MUST_USE;

/*
 * cli_definition_put(d, secrets, out, info):
 * Append the statement, with ';' and a line end; for a paused sink an ALTER SINK ... PAUSE too.
 * ${secrets} is OMITTED or SHOWN.
 * Errors: ERR_BAD (a property is missing or makes no sense: ${info} says which), ERR_NOMEM.
 */
enum err cli_definition_put(const struct cli_definition *d, enum sql_secrets secrets,
                            struct buf *out, struct errinfo *info) MUST_USE;

#endif
