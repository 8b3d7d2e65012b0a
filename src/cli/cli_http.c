/*
 * cli_http.c: a thin layer over http_client.
 */
#include "cli/cli_http.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

static enum err
put_authorization(struct buf *out, const struct cli_server *server)
{
    struct buf pair;
    enum err err;

    buf_init(&pair, 8192);
    err = buf_printf(&pair, "%s:", server->user);
    if (err == ERR_OK)
        err = buf_add(&pair, secret_reveal(&server->password));
    if (err == ERR_OK)
        err = buf_add_text(out, "Authorization: Basic ");
    if (err == ERR_OK)
        err = text_base64(out, buf_peek(&pair));
    buf_wipe(&pair);
    return err;
}

enum err
cli_http_open(struct cli_http *h, const struct cli_server *server, struct errinfo *info)
{
    struct http_client_config config = {.env = &h->env,
                                        .host = server->host,
                                        .port = server->port,
                                        .keep_bytes = CLI_HTTP_ANSWER_MAX};

    *h = (struct cli_http){.env = {.clock = &clock_system}, .server = server};
    buf_init(&h->authorization, 16384);
    if (server->user != NULL && put_authorization(&h->authorization, server) != ERR_OK)
        return errinfo_set(info, ERR_NOMEM, "no memory, or user and password are too long");
    return http_client_open(&h->client, &config, info);
}

void
cli_http_close(struct cli_http *h)
{
    http_client_close(h->client);
    h->client = NULL;
    buf_wipe(&h->authorization);
}

static enum err
put_target(struct buf *out, const struct cli_http *h, struct slice target, struct errinfo *info)
{
    enum err err = buf_add(out, h->server->path);

    if (err == ERR_OK)
        err = buf_add(out, target);
    return err == ERR_OK ? ERR_OK : errinfo_set(info, ERR_NOMEM, "the request's path is too long");
}

enum err
cli_http_call(struct cli_http *h, const struct cli_request *request, struct http_reply *reply,
              struct errinfo *info)
{
    struct slice headers[4] = {SLICE("User-Agent: sinkd"), SLICE("Accept: application/json")};
    struct http_call call = {.method = slice_of(request->method),
                             .headers = headers,
                             .header_count = 2,
                             .body = &request->body,
                             .body_count = request->content_type != NULL,
                             .repeat = request->repeat};
    char type[128];
    struct buf target;
    int64_t deadline = clock_after(clock_mono_ms(&clock_system), request->timeout_ms);
    enum err err;

    if (request->content_type != NULL) {
        (void)snprintf(type, sizeof(type), "Content-Type: %s", request->content_type);
        headers[call.header_count++] = slice_of(type);
    }
    if (buf_len(&h->authorization) > 0)
        headers[call.header_count++] = buf_peek(&h->authorization);
    buf_init(&target, 32768);
    err = put_target(&target, h, request->target, info);
    call.target = buf_peek(&target);
    if (err == ERR_OK)
        err = http_client_call(h->client, &call, reply, deadline, info);
    if (err == ERR_OK && reply->cut)
        err = errinfo_set(info, ERR_RANGE, "the answer is longer than %zu bytes",
                          CLI_HTTP_ANSWER_MAX);
    buf_free(&target);
    return err;
}

bool
cli_http_error_text(struct slice body, struct buf *out)
{
    struct json root, error;

    return json_parse(body, &root) == ERR_OK && json_get(&root, "error", &error) &&
           error.type == JSON_STRING && json_text(out, error.raw) == ERR_OK;
}

/* One line of a body that is no JSON: a proxy's page, say. */
static struct slice
first_line(struct slice body)
{
    body = slice_trim(slice_to(body, slice_find(body, '\n')));
    return slice_to(body, 100);
}

enum err
cli_http_refused(const struct cli_http *h, const struct http_reply *reply, struct errinfo *info)
{
    bool denied = reply->status == 401 || reply->status == 403;
    enum err code = denied ? ERR_DENIED : ERR_BAD;
    struct buf text;

    buf_init(&text, CLI_HTTP_ANSWER_MAX);
    if (!cli_http_error_text(reply->body, &text)) {
        buf_clear(&text);
        (void)!buf_add(&text, first_line(reply->body));
    }
    if (buf_len(&text) > 0)
        (void)errinfo_set(info, code, "%.*s", SLICE_PRI(buf_peek(&text)));
    else
        (void)errinfo_set(info, code, "the daemon answered with status %d", reply->status);
    if (denied && h->server->user == NULL) {
        size_t n = strlen(info->text);

        (void)snprintf(info->text + n, sizeof(info->text) - n, " (give a user with -u)");
    }
    buf_free(&text);
    return code;
}
