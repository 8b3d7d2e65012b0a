/*
 * cli_out.h: what a command prints: results on standard output, everything else on standard error.
 */
#ifndef SINKD_CLI_CLI_OUT_H
#define SINKD_CLI_CLI_OUT_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* The exit codes of every command. */
enum cli_exit { CLI_EXIT_OK = 0, CLI_EXIT_FAILED = 1, CLI_EXIT_USAGE = 2 };

/* cli_out_put(s): write all of ${s} to standard output, now. ERR_IO. */
enum err cli_out_put(struct slice s) MUST_USE;

/* cli_out_say(format, ...): a line on standard error, "sinkd: " in front; control bytes are
 * escaped. */
void cli_out_say(const char *format, ...) PRINTF_LIKE(1, 2);

/* cli_out_usage(command, info): say what is wrong and how to get help. Returns CLI_EXIT_USAGE. */
int cli_out_usage(const char *command, const struct errinfo *info);

/* cli_out_fail(info): say what failed. Returns CLI_EXIT_FAILED, or CLI_EXIT_USAGE for
 * ERR_CONFIG. */
int cli_out_fail(const struct errinfo *info);

/* cli_out_clean(out, s): append ${s} so that a terminal shows it and obeys nothing in it: control
 * bytes become \n, \t, \x1b. ERR_NOMEM. */
enum err cli_out_clean(struct buf *out, struct slice s) MUST_USE;

#endif
