/*
 * serve.h: the commands that read a configuration: serve and check.
 */
#ifndef SINKD_DAEMON_SERVE_H
#define SINKD_DAEMON_SERVE_H

/* serve_main(argc, argv), serve_check_main(argc, argv): argv[0] is "serve" or "check". Return the
 * exit status: 0, 1 (failed), 2 (usage or configuration). */
int serve_main(int argc, char **argv);
int serve_check_main(int argc, char **argv);

#endif
