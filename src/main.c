/*
 * main.c: argv to one command.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli_args.h"
#include "cli/cli_export.h"
#include "cli/cli_help.h"
#include "cli/cli_ping.h"
#include "cli/cli_query.h"
#include "cli/cli_write.h"
#include "daemon/serve.h"

static int
unavailable(int argc, char **argv)
{
    (void)argc;
    fprintf(stderr, "sinkd %s: not available in this version\n", argv[0]);
    return 1;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"serve", serve_main},     {"check", serve_check_main}, {"query", cli_query_main},
    {"write", cli_write_main}, {"ping", cli_ping_main},     {"export", cli_export_main},
    {"backup", unavailable},   {"restore", unavailable},    {"version", cli_help_version_main},
};

int
main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return cli_help_print(argc > 2 ? argv[2] : NULL);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        if (cli_args_want_help(argc - 1, argv + 1))
            return cli_help_print(argv[1]);
        return commands[i].run(argc - 1, argv + 1);
    }
    fprintf(stderr, "sinkd: unknown command %s; sinkd --help lists them\n", argv[1]);
    return 2;
}
