/*
 * cli_help.h: the help texts, each on one screen, and the version.
 */
#ifndef SINKD_CLI_CLI_HELP_H
#define SINKD_CLI_CLI_HELP_H

/* cli_help_print(command): the help of ${command}, of all when it is NULL, on standard output.
 * Returns the exit code; CLI_EXIT_USAGE when there is no such command. */
int cli_help_print(const char *command);

/* cli_help_text(i): the texts by number, NULL beyond the last: for tests. */
const char *cli_help_text(int i);

/* cli_help_version_main(argc, argv): the command "version". */
int cli_help_version_main(int argc, char **argv);

#endif
