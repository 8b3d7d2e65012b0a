/*
 * cli_query.c: where the statements come from.
 */
#include "cli/cli_query.h"

#include <string.h>
#include <unistd.h>

#include "cli/cli_help.h"
#include "cli/cli_input.h"
#include "cli/cli_out.h"
#include "cli/cli_run.h"
#include "cli/cli_shell.h"
#include "sql/sql.h"

static enum err
find_format(const char *name, enum cli_format *format, struct errinfo *info)
{
    static const char *const names[] = {"table", "json", "csv"};

    *format = CLI_FORMAT_TABLE;
    for (int i = 0; name != NULL && i < 3; i++) {
        if (strcmp(name, names[i]) == 0) {
            *format = (enum cli_format)i;
            return ERR_OK;
        }
    }
    return name == NULL ? ERR_OK : errinfo_set(info, ERR_CONFIG, "--format is table, json or csv");
}

static int
run_input(struct cli_http *http, enum cli_format format)
{
    struct cli_input in;
    struct errinfo info;
    int code;

    if (cli_input_open(&in, NULL, SQL_TEXT_MAX, &info) != ERR_OK ||
        cli_input_all(&in, &info) != ERR_OK)
        code = cli_out_fail(&info);
    else
        code = cli_run_show(http, buf_peek(&in.data), format);
    buf_wipe(&in.data); /* it may hold passwords */
    cli_input_close(&in);
    return code;
}

static int
query(const struct cli_server *server, const char *sql, enum cli_format format)
{
    struct cli_http http;
    struct errinfo info;
    int code;

    if (cli_http_open(&http, server, &info) != ERR_OK)
        code = cli_out_fail(&info);
    else if (sql != NULL && strcmp(sql, "-") != 0)
        code = cli_run_show(&http, slice_of(sql), format);
    else if (sql == NULL && isatty(STDIN_FILENO))
        code = cli_shell_run(&http, format);
    else
        code = run_input(&http, format);
    cli_http_close(&http);
    return code;
}

int
cli_query_main(int argc, char **argv)
{
    struct cli_server server = {.url = NULL};
    const char *format_name = NULL;
    const struct cli_arg args[] = {CLI_SERVER_ARGS(server), {0, "format", &format_name, NULL}};
    struct cli_operands sql = {.max = 1};
    enum cli_format format;
    struct errinfo info;
    int code;

    if (cli_args_want_help(argc, argv))
        return cli_help_print("query");
    if (cli_args_parse(argc, argv, args, CLI_SERVER_ARG_COUNT + 1, &sql, &info) != ERR_OK ||
        find_format(format_name, &format, &info) != ERR_OK)
        return cli_out_usage("query", &info);
    if (cli_server_resolve(&server, &info) != ERR_OK)
        code = cli_out_fail(&info);
    else
        code = query(&server, sql.list[0], format);
    cli_server_free(&server);
    return code;
}
