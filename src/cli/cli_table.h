/*
 * cli_table.h: the rows of an answer as a table for people or as CSV.
 */
#ifndef SINKD_CLI_CLI_TABLE_H
#define SINKD_CLI_CLI_TABLE_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

enum cli_format { CLI_FORMAT_TABLE, CLI_FORMAT_JSON, CLI_FORMAT_CSV };

/* More columns than any statement has. */
#define CLI_TABLE_COLUMNS 64

/*
 * cli_table_put(out, series):
 * Append one series of an answer ({"name", "columns", "values"}) as
 *   name: sinks
 *   name     status   forwarded
 *   ----     ------   ---------
 *   my_kafka running       1200
 * Numbers stand to the right, null is empty, control bytes are escaped.
 * Errors: ERR_BAD (no such shape), ERR_RANGE (too many columns), ERR_NOMEM.
 */
enum err cli_table_put(struct buf *out, const struct json *series) MUST_USE;

/* cli_table_put_csv(out, series): the same as RFC 4180, with the series' name as first column. */
enum err cli_table_put_csv(struct buf *out, const struct json *series) MUST_USE;

#endif
