/*
 * cli_shell.h: the interactive shell of "query".
 *
 * Lines are gathered until one ends with ';' outside of quotes and comments, or an empty line
 * comes; then the text is run. No line editing beyond the terminal's own.
 */
#ifndef SINKD_CLI_CLI_SHELL_H
#define SINKD_CLI_CLI_SHELL_H

#include <stdbool.h>

#include "base/slice.h"
#include "cli/cli_http.h"
#include "cli/cli_table.h"

/* cli_shell_run(http, format): until "exit", "quit" or the end of the input. Returns the exit
 * code. */
int cli_shell_run(struct cli_http *http, enum cli_format format);

/* cli_shell_complete(text): whether the last sign of ${text} that is no blank or comment is a ';'
 * outside of quotes. Pure. */
bool cli_shell_complete(struct slice text);

#endif
