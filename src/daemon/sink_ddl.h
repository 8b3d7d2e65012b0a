/*
 * sink_ddl.h: between a sink statement and a sink's definition.
 *
 * The one place that knows both: CREATE and ALTER become definitions, and a definition becomes the
 * CREATE statement that makes it again (SHOW SINK, export, /internal/sync/metadata).
 */
#ifndef SINKD_DAEMON_SINK_DDL_H
#define SINKD_DAEMON_SINK_DDL_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "daemon/config.h"
#include "sink/sink_def.h"
#include "sql/sql.h"

/*
 * sink_ddl_create(out, statement, config, info), sink_ddl_alter(out, old, statement, config, info):
 * The definition that CREATE SINK gives, or ALTER makes of ${old}, checked whole. ${out} is to be
 * freed on ERR_OK alone. ${config} says which hosts may be sent to.
 * Errors: ERR_CONFIG (the text says what to change), ERR_NOMEM.
 */
enum err sink_ddl_create(struct sink_def *out, const struct sql_statement *statement,
                         const struct config_sink *config, struct errinfo *info) MUST_USE;
enum err sink_ddl_alter(struct sink_def *out, const struct sink_def *old,
                        const struct sql_statement *statement, const struct config_sink *config,
                        struct errinfo *info) MUST_USE;

/* sink_ddl_is_available(def): whether this program can run the type. */
bool sink_ddl_is_available(const struct sink_def *def);

/*
 * sink_ddl_put(def, secrets, out):
 * Append the statements that make the sink again, each with a ';' and a line end: CREATE SINK, and
 * ALTER SINK ... PAUSE for a paused one. What was left open stays open. ERR_NOMEM.
 */
enum err sink_ddl_put(const struct sink_def *def, enum sql_secrets secrets,
                      struct buf *out) MUST_USE;

/* sink_ddl_option_is_public(statement, key): for sql_render: whether a WITH value may be seen by
 * everyone. */
bool sink_ddl_option_is_public(const struct sql_statement *statement, struct slice key);

#endif
