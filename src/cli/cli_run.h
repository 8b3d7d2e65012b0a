/*
 * cli_run.h: one text of statements sent to /query, and its answer shown.
 */
#ifndef SINKD_CLI_CLI_RUN_H
#define SINKD_CLI_CLI_RUN_H

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "cli/cli_http.h"
#include "cli/cli_table.h"

/* cli_run_query(http, sql, reply, info): POST the text; ${reply} is the answer, whatever its
 * status.
 * Errors: as cli_http_call. */
enum err cli_run_query(struct cli_http *http, struct slice sql, struct http_reply *reply,
                       struct errinfo *info) MUST_USE;

/* cli_run_show(http, sql, format): the same, and print what came. Returns the exit code. */
int cli_run_show(struct cli_http *http, struct slice sql, enum cli_format format);

#endif
