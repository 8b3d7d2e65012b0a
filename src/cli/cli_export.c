/*
 * cli_export.c: ask, put together, print at once: half an export is worse than none.
 */
#include "cli/cli_export.h"

#include <stdbool.h>

#include "base/json.h"
#include "cli/cli_help.h"
#include "cli/cli_http.h"
#include "cli/cli_out.h"
#include "cli/cli_result.h"
#include "cli/cli_run.h"
#include "sql/sql.h"

#define EXPORT_MAX ((size_t)64 << 20)
#define METADATA_TIMEOUT_MS 60000

static enum err
strange(struct errinfo *info)
{
    return errinfo_set(info, ERR_BAD, "the daemon's answer is not understood");
}

/* The text of the row [${name}, text]; ERR_BAD without one. */
static enum err
put_property(const struct json *rows, const char *name, struct buf *out)
{
    struct json_walk w, cells;
    struct json row, key, value;

    json_walk(&w, rows);
    while (json_next(&w, NULL, &row)) {
        json_walk(&cells, &row);
        if (json_next(&cells, NULL, &key) && key.type == JSON_STRING && json_is(key.raw, name) &&
            json_next(&cells, NULL, &value) && value.type == JSON_STRING)
            return json_text(out, value.raw);
    }
    return ERR_BAD;
}

enum err
cli_export_sink(struct slice body, struct buf *out, struct errinfo *info)
{
    struct json series, rows;
    struct buf error;
    enum err err;

    buf_init(&error, EXPORT_MAX);
    err = cli_result_series(body, &series, &error);
    buf_free(&error);
    if (err == ERR_SHORT || err == ERR_DENIED)
        return ERR_SHORT;
    if (err == ERR_OK) {
        (void)json_get(&series, "values", &rows);
        err = put_property(&rows, "create", out);
    }
    if (err == ERR_NOMEM)
        return errinfo_set(info, err, "no memory");
    return err == ERR_OK ? ERR_OK : strange(info);
}

enum err
cli_export_metadata(struct slice body, struct buf *out, size_t *count, struct errinfo *info)
{
    struct json root, array, entry, value, create;
    struct json_walk w;

    *count = 0;
    if (json_parse(body, &root) != ERR_OK || !json_get(&root, "entries", &array) ||
        array.type != JSON_ARRAY)
        return strange(info);
    json_walk(&w, &array);
    while (json_next(&w, NULL, &entry)) {
        if (!json_get(&entry, "value", &value) || !json_get(&value, "create", &create) ||
            create.type != JSON_STRING)
            return strange(info);
        if (json_text(out, create.raw) != ERR_OK)
            return errinfo_set(info, ERR_NOMEM, "no memory");
        ++*count;
    }
    return ERR_OK;
}

/* The names of SHOW SINKS, each with a NUL behind it. */
static enum err
ask_names(struct cli_http *http, struct buf *names, struct errinfo *info)
{
    struct http_reply reply;
    struct json series, rows, row, name;
    struct json_walk w, cells;
    struct buf error;
    enum err err = cli_run_query(http, SLICE("SHOW SINKS"), &reply, info);

    if (err != ERR_OK)
        return err;
    if (reply.status != 200)
        return cli_http_refused(http, &reply, info);
    buf_init(&error, EXPORT_MAX);
    err = cli_result_series(reply.body, &series, &error);
    if (err == ERR_DENIED)
        err = errinfo_set(info, ERR_DENIED, "%.*s", SLICE_PRI(buf_peek(&error)));
    else if (err == ERR_BAD)
        err = strange(info);
    buf_free(&error);
    if (err != ERR_OK)
        return err == ERR_SHORT ? ERR_OK : err;
    (void)json_get(&series, "values", &rows);
    json_walk(&w, &rows);
    while (err == ERR_OK && json_next(&w, NULL, &row)) {
        json_walk(&cells, &row);
        if (!json_next(&cells, NULL, &name) || name.type != JSON_STRING)
            return strange(info);
        err = json_text(names, name.raw);
        if (err == ERR_OK)
            err = buf_add_byte(names, 0);
    }
    return err == ERR_OK ? ERR_OK : errinfo_set(info, err, "no memory");
}

static enum err
ask_sink(struct cli_http *http, struct slice name, struct buf *out, struct errinfo *info)
{
    struct http_reply reply;
    struct buf sql;
    enum err err;

    buf_init(&sql, 4096);
    err = buf_add_text(&sql, "SHOW SINK ");
    if (err == ERR_OK)
        err = sql_quote_name(&sql, name);
    if (err != ERR_OK)
        (void)errinfo_set(info, err, "no memory");
    else
        err = cli_run_query(http, buf_peek(&sql), &reply, info);
    buf_free(&sql);
    if (err != ERR_OK)
        return err;
    if (reply.status != 200)
        return cli_http_refused(http, &reply, info);
    return cli_export_sink(reply.body, out, info);
}

static enum err
without_secrets(struct cli_http *http, struct buf *out, size_t *count, struct errinfo *info)
{
    struct buf names;
    struct slice rest, name;
    enum err err;

    *count = 0;
    buf_init(&names, EXPORT_MAX);
    err = ask_names(http, &names, info);
    rest = buf_peek(&names);
    while (err == ERR_OK && slice_split(&rest, 0, &name)) {
        err = ask_sink(http, name, out, info);
        if (err == ERR_OK)
            ++*count;
        else if (err == ERR_SHORT)
            err = ERR_OK; /* dropped since it was listed */
    }
    buf_free(&names);
    return err;
}

static enum err
with_secrets(struct cli_http *http, struct buf *out, size_t *count, struct errinfo *info)
{
    const struct cli_request request = {.method = "GET",
                                        .target = SLICE("/internal/sync/metadata?secrets=1"),
                                        .repeat = true,
                                        .timeout_ms = METADATA_TIMEOUT_MS};
    struct http_reply reply;
    enum err err = cli_http_call(http, &request, &reply, info);

    if (err != ERR_OK)
        return err;
    if (reply.status != 200)
        return cli_http_refused(http, &reply, info);
    return cli_export_metadata(reply.body, out, count, info);
}

static int
export_sinks(const struct cli_server *server, bool secrets)
{
    struct cli_http http;
    struct errinfo info;
    struct buf out;
    size_t count = 0;
    int code = CLI_EXIT_OK;
    enum err err = cli_http_open(&http, server, &info);

    buf_init(&out, EXPORT_MAX);
    if (err == ERR_OK)
        err = buf_add_text(&out, secrets ? "-- Made by sinkd export, with secrets.\n"
                                         : "-- Made by sinkd export.\n");
    if (err == ERR_OK)
        err = secrets ? with_secrets(&http, &out, &count, &info)
                      : without_secrets(&http, &out, &count, &info);
    if (err == ERR_OK && count == 0)
        cli_out_say("there are no sinks");
    if (err != ERR_OK)
        code = cli_out_fail(&info);
    else if (cli_out_put(buf_peek(&out)) != ERR_OK)
        code = CLI_EXIT_FAILED;
    buf_wipe(&out);
    cli_http_close(&http);
    return code;
}

int
cli_export_main(int argc, char **argv)
{
    struct cli_server server = {.url = NULL};
    bool secrets = false;
    const struct cli_arg args[] = {CLI_SERVER_ARGS(server), {0, "with-secrets", NULL, &secrets}};
    struct cli_operands none = {.max = 0};
    struct errinfo info;
    int code;

    if (cli_args_want_help(argc, argv))
        return cli_help_print("export");
    if (cli_args_parse(argc, argv, args, CLI_SERVER_ARG_COUNT + 1, &none, &info) != ERR_OK)
        return cli_out_usage("export", &info);
    if (cli_server_resolve(&server, &info) != ERR_OK)
        code = cli_out_fail(&info);
    else
        code = export_sinks(&server, secrets);
    cli_server_free(&server);
    return code;
}
