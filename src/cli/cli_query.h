/*
 * cli_query.h: the command "query": statements against a running daemon.
 */
#ifndef SINKD_CLI_CLI_QUERY_H
#define SINKD_CLI_CLI_QUERY_H

/* cli_query_main(argc, argv): argv[0] is "query". Returns the exit code. */
int cli_query_main(int argc, char **argv);

#endif
