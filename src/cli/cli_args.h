/*
 * cli_args.h: the command line of one command, by a table of its options.
 *
 *   -H URL   -HURL   --url URL   --url=URL   --flag   operand   -   -- operand
 *
 * Options and operands in any order; what follows "--" is operands; "-" is one.
 */
#ifndef SINKD_CLI_CLI_ARGS_H
#define SINKD_CLI_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"

/* An option: with ${text} it takes a value, else it sets ${flag}. */
struct cli_arg {
    char letter;      /* 'H' for -H; 0: none */
    const char *name; /* "url" for --url; NULL: none */
    const char **text;
    bool *flag;
};

struct cli_operands {
    const char *list[2];
    size_t max, count;
};

/*
 * cli_args_parse(argc, argv, args, count, operands, info):
 * argv[0] is the command and skipped. Values point into ${argv}; what is not given stays as it was.
 * Errors: ERR_CONFIG: an unknown option, one twice, a value missing or not wanted, too many
 *         operands. The text never quotes a value.
 */
enum err cli_args_parse(int argc, char **argv, const struct cli_arg *args, size_t count,
                        struct cli_operands *operands, struct errinfo *info) MUST_USE;

/* cli_args_want_help(argc, argv): "-h" or "--help" stands among the arguments, before any "--". */
bool cli_args_want_help(int argc, char **argv);

#endif
