/*
 * cli_help.c: nothing but text. 24 lines of 80 columns are the most.
 */
#include "cli/cli_help.h"

#include <config.h>
#include <stdio.h>
#include <string.h>

#include "base/gzip.h"
#include "base/version.h"
#include "cli/cli_args.h"
#include "cli/cli_out.h"
#include "store/lmdb_store.h"

#define SERVER_HELP                                                                     \
    "  -H, --url URL         the daemon; else SINKD_URL, else http://127.0.0.1:8086\n"  \
    "  -u, --user USER       its user; else SINKD_USER, else none\n"                    \
    "      --password-file F the first line of F; else SINKD_PASSWORD, else a prompt\n" \
    "      --cacert FILE     the CA of an https:// daemon\n"                            \
    "      --insecure        do not check an https:// daemon's certificate\n"

static const struct {
    const char *command, *text;
} texts[] = {
    {"", "sinkd takes in time-series points over the InfluxDB 1.x HTTP API, keeps them in\n"
         "a durable log and forwards them to sinks that SQL creates at run time.\n"
         "\n"
         "  sinkd serve [-c FILE]               run the daemon\n"
         "  sinkd check [-c FILE]               check a configuration\n"
         "  sinkd check --data DIR              check a stopped store *\n"
         "  sinkd query ['SQL; SQL' | -]        run statements; alone: a shell\n"
         "  sinkd write --db DB [FILE | -]      send line protocol\n"
         "  sinkd ping                          is the daemon well?\n"
         "  sinkd export                        print statements that rebuild all sinks\n"
         "  sinkd backup --output DIR           copy the store *\n"
         "  sinkd restore --input DIR           put a copy in place *\n"
         "  sinkd version                       version and libraries\n"
         "\n"
         "sinkd COMMAND --help says more. Exit codes: 0 ok, 1 failed, 2 usage or\n"
         "configuration. What has a * is not built yet.\n"},
    {"serve", "sinkd serve [-c FILE]\n"
              "\n"
              "Run the daemon in the foreground until SIGTERM or SIGINT; a second one exits at\n"
              "once. SIGHUP reads certificates and secret files again.\n"
              "\n"
              "  -c, --config FILE  the configuration; else ./sinkd.toml, else\n"
              "                     " SINKD_CONFIG_FILE ", else none\n"
              "\n"
              "Each key can be given as SINKD__SECTION__KEY in the environment too.\n"},
    {"check", "sinkd check [-c FILE]\n"
              "sinkd check --data DIR [--salvage DIR2]\n"
              "\n"
              "Read a configuration as serve would and print every error as FILE:LINE: text; or\n"
              "verify a stopped store and print its ledger. No connection, nothing written.\n"
              "\n"
              "  -c, --config FILE   the configuration; else ./sinkd.toml, else\n"
              "                      " SINKD_CONFIG_FILE ", else none\n"
              "      --data DIR      the directory of a store\n"
              "      --salvage DIR2  copy what is good into this new directory\n"},
    {"query", "sinkd query [options] ['SQL; SQL' | -]\n"
              "\n"
              "Run statements: those of the argument, of standard input for -, or typed into a\n"
              "shell when there is no argument and a terminal. Errors and warnings go to\n"
              "standard error; the exit code is 1 when a statement failed.\n"
              "\n"
              "      --format FORMAT   table (default), json or csv\n" SERVER_HELP "\n"
              "  sinkd query 'SHOW SINKS'\n"
              "  sinkd query - <sinks.sql\n"},
    {"write",
     "sinkd write [options] --db DB [FILE | -]\n"
     "\n"
     "Send line protocol of FILE or standard input, at most 5,000 points at a time.\n"
     "Waits when the daemon is busy. Refused lines are shown with their number; the\n"
     "others are kept, and the exit code is 1.\n"
     "\n"
     "      --db DB           the database\n"
     "      --rp RP           the retention policy\n"
     "      --precision P     of the timestamps: ns (default), us, ms, s, m, h\n" SERVER_HELP "\n"
     "  sinkd write --db telegraf --precision s points.lp\n"},
    {"ping", "sinkd ping [options]\n"
             "\n"
             "Ask /health. The exit code is 0 when the daemon is well, for container health\n"
             "checks.\n"
             "\n" SERVER_HELP},
    {"export", "sinkd export [options]\n"
               "\n"
               "Print CREATE SINK statements that rebuild every sink elsewhere. Passwords and\n"
               "tokens are left out, with a comment in their place.\n"
               "\n"
               "      --with-secrets    print them too; needs an admin, over https:// or on the\n"
               "                        daemon's own machine\n" SERVER_HELP "\n"
               "  sinkd export >sinks.sql\n"},
    {"backup", "sinkd backup [options] --output DIR\n"
               "\n"
               "Copy the store, consistently. With -H the running daemon does it (DIR is on its\n"
               "machine); with -c that of a stopped one is copied.\n"
               "\n"
               "      --output DIR      the new directory\n"
               "  -c, --config FILE     the configuration of a stopped daemon\n" SERVER_HELP},
    {"restore", "sinkd restore [-c FILE] --input DIR\n"
                "\n"
                "Verify a copy made by backup and put it in place of the store. Refuses while the\n"
                "daemon runs.\n"
                "\n"
                "  -c, --config FILE  the configuration that names the store\n"
                "      --input DIR    the copy\n"
                "      --same-node    keep the name of the node that made the copy\n"
                "      --force        overwrite data\n"},
    {"version", "sinkd version\n"
                "\n"
                "Print the version, what the build has, and the versions of its libraries.\n"},
};

#define TEXT_COUNT (int)(sizeof(texts) / sizeof(texts[0]))

const char *
cli_help_text(int i)
{
    return i < TEXT_COUNT ? texts[i].text : NULL;
}

int
cli_help_print(const char *command)
{
    for (int i = 0; i < TEXT_COUNT; i++) {
        if (strcmp(texts[i].command, command == NULL ? "" : command) == 0)
            return cli_out_put(slice_of(texts[i].text)) == ERR_OK ? CLI_EXIT_OK : CLI_EXIT_FAILED;
    }
    return CLI_EXIT_USAGE;
}

int
cli_help_version_main(int argc, char **argv)
{
    struct cli_operands none = {.max = 0};
    struct errinfo info;
    struct buf text;
    int code = CLI_EXIT_FAILED;

    if (cli_args_want_help(argc, argv))
        return cli_help_print("version");
    if (cli_args_parse(argc, argv, NULL, 0, &none, &info) != ERR_OK)
        return cli_out_usage("version", &info);
    buf_init(&text, 4096);
    if (buf_printf(&text, "sinkd %s\nbuilt with: %s\nlmdb: %s\nzlib: %s\n", version_text(),
                   version_options(), lmdb_store_version(), gzip_version()) == ERR_OK &&
        cli_out_put(buf_peek(&text)) == ERR_OK)
        code = CLI_EXIT_OK;
    buf_free(&text);
    return code;
}
