/*
 * cli_export.h: the command "export": CREATE SINK statements that rebuild every sink.
 *
 * Without secrets from SHOW SINKS and SHOW SINK, which any host may ask. With them from GET
 * /internal/sync/metadata?secrets=1.
 */
#ifndef SINKD_CLI_CLI_EXPORT_H
#define SINKD_CLI_CLI_EXPORT_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* cli_export_main(argc, argv): argv[0] is "export". Returns the exit code. */
int cli_export_main(int argc, char **argv);

/* cli_export_metadata(body, out, count, info): append the statements of all sinks in the answer of
 * /internal/sync/metadata, secrets shown. ERR_BAD, ERR_NOMEM. */
enum err cli_export_metadata(struct slice body, struct buf *out, size_t *count,
                             struct errinfo *info) MUST_USE;

/* cli_export_sink(body, out, info): append the statement of the one sink in an answer to SHOW SINK.
 * ERR_SHORT: there is no such sink (any more). ERR_BAD, ERR_NOMEM. */
enum err cli_export_sink(struct slice body, struct buf *out, struct errinfo *info) MUST_USE;

#endif
