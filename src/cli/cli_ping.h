/*
 * cli_ping.h: the command "ping".
 */
#ifndef SINKD_CLI_CLI_PING_H
#define SINKD_CLI_CLI_PING_H

/* cli_ping_main(argc, argv): argv[0] is "ping". Returns the exit code: 0 when /health passes. */
int cli_ping_main(int argc, char **argv);

#endif
