/*
 * cli_result.h: the answer to /query: results, series, errors and messages.
 */
#ifndef SINKD_CLI_CLI_RESULT_H
#define SINKD_CLI_CLI_RESULT_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"
#include "cli/cli_table.h"

/*
 * cli_result_put(out, notes, body, format, failed):
 * Append what is to be shown of an answer to ${out}, and its errors and warnings, one a line, to
 * ${notes}. ${failed}: a statement failed. JSON goes out as it came.
 * Errors: ERR_BAD (not such an answer), ERR_NOMEM.
 */
enum err cli_result_put(struct buf *out, struct buf *notes, struct slice body,
                        enum cli_format format, bool *failed) MUST_USE;

/* cli_result_series(body, series, error): the first series of the first result. ERR_BAD: no such
 * answer; ERR_SHORT: an answer without a series. ${error} gets the text of an error in it, which is
 * ERR_DENIED. */
enum err cli_result_series(struct slice body, struct json *series, struct buf *error) MUST_USE;

#endif
