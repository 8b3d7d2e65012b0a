/*
 * cli_write.h: the command "write": line protocol to a running daemon.
 */
#ifndef SINKD_CLI_CLI_WRITE_H
#define SINKD_CLI_CLI_WRITE_H

/* cli_write_main(argc, argv): argv[0] is "write". Returns the exit code. */
int cli_write_main(int argc, char **argv);

#endif
