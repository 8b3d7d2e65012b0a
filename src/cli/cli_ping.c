/*
 * cli_ping.c: one GET /health, for people and for container health checks.
 */
#include "cli/cli_ping.h"

#include "base/json.h"
#include "cli/cli_help.h"
#include "cli/cli_http.h"
#include "cli/cli_out.h"

#define PING_TIMEOUT_MS 5000

/* "pass: ready for queries and writes", from the answer's body. */
static enum err
put_verdict(struct buf *out, struct slice body)
{
    struct json root, status, message;
    enum err err;

    if (json_parse(body, &root) != ERR_OK || !json_get(&root, "status", &status))
        return ERR_BAD;
    err = json_text(out, status.raw);
    if (err == ERR_OK && json_get(&root, "message", &message) && message.type == JSON_STRING) {
        err = buf_add_text(out, ": ");
        if (err == ERR_OK)
            err = json_text(out, message.raw);
    }
    return err;
}

static int
judge(const struct cli_http *http, const struct http_reply *reply)
{
    struct errinfo info;
    struct buf text, line;
    int code = CLI_EXIT_FAILED;

    buf_init(&text, 65536);
    buf_init(&line, 4 * 65536);
    if (put_verdict(&text, reply->body) != ERR_OK) {
        (void)cli_http_refused(http, reply, &info);
        code = cli_out_fail(&info);
    } else if (reply->status != 200) {
        cli_out_say("%.*s", SLICE_PRI(buf_peek(&text)));
    } else if (cli_out_clean(&line, buf_peek(&text)) == ERR_OK &&
               buf_add_byte(&line, '\n') == ERR_OK && cli_out_put(buf_peek(&line)) == ERR_OK) {
        code = CLI_EXIT_OK;
    }
    buf_free(&line);
    buf_free(&text);
    return code;
}

static int
ping(const struct cli_server *server)
{
    const struct cli_request request = {
        .method = "GET", .target = SLICE("/health"), .timeout_ms = PING_TIMEOUT_MS};
    struct cli_http http;
    struct http_reply reply;
    struct errinfo info;
    int code;

    if (cli_http_open(&http, server, &info) != ERR_OK ||
        cli_http_call(&http, &request, &reply, &info) != ERR_OK)
        code = cli_out_fail(&info);
    else
        code = judge(&http, &reply);
    cli_http_close(&http);
    return code;
}

int
cli_ping_main(int argc, char **argv)
{
    struct cli_server server = {.url = NULL};
    const struct cli_arg args[] = {CLI_SERVER_ARGS(server)};
    struct cli_operands none = {.max = 0};
    struct errinfo info;
    int code;

    if (cli_args_want_help(argc, argv))
        return cli_help_print("ping");
    if (cli_args_parse(argc, argv, args, CLI_SERVER_ARG_COUNT, &none, &info) != ERR_OK)
        return cli_out_usage("ping", &info);
    if (cli_server_resolve(&server, &info) != ERR_OK)
        code = cli_out_fail(&info);
    else
        code = ping(&server);
    cli_server_free(&server);
    return code;
}
