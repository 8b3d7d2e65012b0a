/*
 * cli_write.c: bodies one after the other; waits while the daemon is busy, goes on after refused
 * lines, and stops at whatever else fails, saying from which line on nothing was sent.
 */
#include "cli/cli_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/cli_cut.h"
#include "cli/cli_help.h"
#include "cli/cli_http.h"
#include "cli/cli_input.h"
#include "cli/cli_out.h"
#include "point/precision.h"

#define WRITE_TIMEOUT_MS 120000
#define SLOW_INPUT_MS 500 /* after so long send what there is */
#define LINE_MAX_BYTES ((size_t)32 << 20)
#define BUSY_PATIENCE_MS 600000 /* so long a busy daemon is waited for in one go */
#define BUSY_PAUSE_MAX_MS 30000
#define CONNECT_PATIENCE_MS 10000 /* so long one that does not answer at all */
#define PROGRESS_MS 250

struct upload {
    struct cli_http *http;
    struct cli_input *in;
    struct buf target;
    uint64_t lines;          /* of the input, done */
    uint64_t taken, refused; /* points */
    int64_t started_ms, shown_ms;
    bool progress; /* there is a terminal to show it on */
};

static enum err
put_parameter(struct buf *out, const char *name, const char *value)
{
    enum err err = buf_printf(out, "%s=", name);

    return err == ERR_OK ? text_percent(out, slice_of(value)) : err;
}

static enum err
put_target(struct buf *out, const char *db, const char *rp, const char *precision)
{
    enum err err = buf_add_text(out, "/write?");

    if (err == ERR_OK)
        err = put_parameter(out, "db", db);
    if (err == ERR_OK && rp != NULL)
        err = put_parameter(out, "&rp", rp);
    if (err == ERR_OK && precision != NULL)
        err = put_parameter(out, "&precision", precision);
    return err;
}

static void
clear_progress(struct upload *u)
{
    if (u->progress && u->shown_ms != 0)
        (void)fputs("\r\033[K", stderr);
    u->shown_ms = 0;
}

static void
show_progress(struct upload *u)
{
    int64_t now = clock_mono_ms(&clock_system), ms = now - u->started_ms;

    if (!u->progress || now - u->shown_ms < PROGRESS_MS)
        return;
    (void)fprintf(stderr, "\r%" PRIu64 " points, %.0f points/s\033[K", u->taken,
                  ms > 0 ? (double)u->taken * 1000.0 / (double)ms : 0.0);
    u->shown_ms = now;
}

/* Some lines of a body were refused: say which, with the number it has in the input. */
static void
take_refusal(struct upload *u, const struct cli_cut *cut, const struct http_reply *reply)
{
    struct buf text;
    struct slice said;
    uint64_t line = 0, dropped = 0;

    buf_init(&text, CLI_HTTP_ANSWER_MAX);
    if (!cli_http_error_text(reply->body, &text))
        buf_clear(&text);
    said = cli_cut_verdict(buf_peek(&text), &line, &dropped);
    if (line == 0)
        line = cut->first; /* the body had one line only */
    if (dropped == 0 || dropped > cut->points)
        dropped = cut->points;
    clear_progress(u);
    if (dropped > 1)
        cli_out_say("%s:%" PRIu64 ": %.*s (the first of %" PRIu64 " refused points)", u->in->name,
                    u->lines + line, SLICE_PRI(said), dropped);
    else
        cli_out_say("%s:%" PRIu64 ": %.*s", u->in->name, u->lines + line, SLICE_PRI(said));
    u->refused += dropped;
    u->taken += cut->points - dropped;
    buf_free(&text);
}

/* Whether ${reply} is a verdict on lines: "unable to parse", "partial write". */
static bool
is_verdict(const struct http_reply *reply)
{
    struct buf text;
    bool verdict;

    buf_init(&text, CLI_HTTP_ANSWER_MAX);
    verdict = reply->status == 400 && cli_http_error_text(reply->body, &text) &&
              (slice_starts(buf_peek(&text), SLICE("unable to parse")) ||
               slice_starts(buf_peek(&text), SLICE("partial write")));
    buf_free(&text);
    return verdict;
}

static bool
is_busy(int status)
{
    return status == 503 || status == 507 || status == 429;
}

/* How long to wait before try number ${attempt} (from 0); what the daemon says goes first. */
static int64_t
busy_pause(int64_t retry_after_ms, unsigned attempt)
{
    int64_t pause =
        retry_after_ms >= 0 ? retry_after_ms : INT64_C(500) << (attempt < 6 ? attempt : 6);

    if (pause < 100)
        pause = 100;
    return pause < BUSY_PAUSE_MAX_MS ? pause : BUSY_PAUSE_MAX_MS;
}

/* Send one body until there is an answer that is not "busy". */
static enum err
send_body(struct upload *u, struct slice body, struct http_reply *reply, struct errinfo *info)
{
    const struct cli_request request = {.method = "POST",
                                        .target = buf_peek(&u->target),
                                        .content_type = "text/plain; charset=utf-8",
                                        .body = body,
                                        .repeat = true,
                                        .timeout_ms = WRITE_TIMEOUT_MS};
    int64_t begun = clock_mono_ms(&clock_system), now, pause;

    for (unsigned attempt = 0;; attempt++) {
        enum err err = cli_http_call(u->http, &request, reply, info);
        bool busy = err == ERR_OK && is_busy(reply->status);
        bool unsent = err != ERR_OK && http_client_failure(u->http->client) == HTTP_FAILURE_CONNECT;

        if (!busy && !unsent)
            return err;
        now = clock_mono_ms(&clock_system);
        pause = busy_pause(busy ? reply->retry_after_ms : -1, attempt);
        if (now - begun + pause > (busy ? BUSY_PATIENCE_MS : CONNECT_PATIENCE_MS))
            return err;
        if (attempt == 0) {
            if (busy)
                (void)cli_http_refused(u->http, reply, info);
            clear_progress(u);
            cli_out_say("waiting: %s", info->text);
        }
        if (stream_pause(&u->http->env, clock_after(now, pause)) != ERR_TIMEOUT)
            return errinfo_set(info, ERR_IO, "the wait was interrupted");
    }
}

static enum err
send_cut(struct upload *u, const struct cli_cut *cut, struct errinfo *info)
{
    struct http_reply reply;
    enum err err = ERR_OK;

    if (cut->points > 0)
        err = send_body(u, slice_to(buf_peek(&u->in->data), cut->bytes), &reply, info);
    if (err != ERR_OK)
        return err;
    if (cut->points > 0 && is_verdict(&reply))
        take_refusal(u, cut, &reply);
    else if (cut->points > 0 && reply.status / 100 != 2)
        return cli_http_refused(u->http, &reply, info);
    else
        u->taken += cut->points;
    u->lines += cut->lines;
    buf_consume(&u->in->data, cut->bytes);
    show_progress(u);
    return ERR_OK;
}

/* Read until there is a body to send, or all is sent (then ${cut} is empty). */
static enum err
next_cut(struct upload *u, struct cli_cut *cut, struct errinfo *info)
{
    enum cli_cut_when when = CLI_CUT_FULL;
    enum err err = ERR_OK;

    *cut = (struct cli_cut){0, 0, 0, 0};
    for (;;) {
        if (u->in->end)
            when = CLI_CUT_END;
        if (cli_cut_next(buf_peek(&u->in->data), when, cut) == ERR_OK || u->in->end)
            return ERR_OK;
        err = cli_input_fill(u->in, SLOW_INPUT_MS, info);
        when = err == ERR_TIMEOUT ? CLI_CUT_LINES : CLI_CUT_FULL;
        if (err == ERR_NOMEM)
            return errinfo_set(info, ERR_RANGE, "a line of more than %zu bytes (an open quote?)",
                               LINE_MAX_BYTES);
        if (err != ERR_OK && err != ERR_TIMEOUT)
            return err;
    }
}

static int
sum_up(struct upload *u, enum err err, const struct errinfo *info)
{
    int64_t ms = clock_mono_ms(&clock_system) - u->started_ms;
    char line[160];
    int code = CLI_EXIT_OK;

    clear_progress(u);
    if (err != ERR_OK) {
        code = cli_out_fail(info);
        cli_out_say("%s: stopped; what begins at line %" PRIu64 " is not confirmed", u->in->name,
                    u->lines + 1);
    }
    if (u->refused > 0)
        cli_out_say("%" PRIu64 " %s refused", u->refused,
                    u->refused == 1 ? "point was" : "points were");
    (void)snprintf(line, sizeof(line), "%" PRIu64 " points written in %.1f s\n", u->taken,
                   (double)ms / 1000.0);
    if (cli_out_put(slice_of(line)) != ERR_OK || u->refused > 0)
        code = code == CLI_EXIT_OK ? CLI_EXIT_FAILED : code;
    return code;
}

static int
upload(struct upload *u)
{
    struct cli_cut cut;
    struct errinfo info;
    enum err err;

    u->started_ms = clock_mono_ms(&clock_system);
    u->progress = isatty(STDERR_FILENO) == 1;
    do {
        err = next_cut(u, &cut, &info);
        if (err == ERR_OK && cut.bytes > 0)
            err = send_cut(u, &cut, &info);
    } while (err == ERR_OK && cut.bytes > 0);
    return sum_up(u, err, &info);
}

struct options {
    struct cli_server server;
    const char *db, *rp, *precision, *file;
};

static int
write_points(struct options *o)
{
    struct cli_http http = {.client = NULL};
    struct cli_input in;
    struct upload u = {.http = &http, .in = &in};
    struct errinfo info;
    int code;

    buf_init(&u.target, 16384);
    if (cli_input_open(&in, o->file, LINE_MAX_BYTES, &info) != ERR_OK ||
        cli_server_resolve(&o->server, &info) != ERR_OK ||
        cli_http_open(&http, &o->server, &info) != ERR_OK)
        code = cli_out_fail(&info);
    else if (put_target(&u.target, o->db, o->rp, o->precision) != ERR_OK)
        code = cli_out_fail((errinfo_set(&info, ERR_CONFIG, "--db or --rp is too long"), &info));
    else
        code = upload(&u);
    cli_http_close(&http);
    cli_input_close(&in);
    buf_free(&u.target);
    return code;
}

static enum err
check(const struct options *o, struct errinfo *info)
{
    enum precision precision;

    if (o->db == NULL || o->db[0] == '\0')
        return errinfo_set(info, ERR_CONFIG, "--db DB is needed");
    if (o->precision != NULL && precision_parse(slice_of(o->precision), &precision) != ERR_OK)
        return errinfo_set(info, ERR_CONFIG, "--precision is ns, us, ms, s, m or h");
    return ERR_OK;
}

int
cli_write_main(int argc, char **argv)
{
    struct options o = {.db = NULL};
    const struct cli_arg args[] = {CLI_SERVER_ARGS(o.server),
                                   {0, "db", &o.db, NULL},
                                   {0, "rp", &o.rp, NULL},
                                   {0, "precision", &o.precision, NULL}};
    struct cli_operands files = {.max = 1};
    struct errinfo info;
    int code;

    if (cli_args_want_help(argc, argv))
        return cli_help_print("write");
    if (cli_args_parse(argc, argv, args, CLI_SERVER_ARG_COUNT + 3, &files, &info) != ERR_OK ||
        check(&o, &info) != ERR_OK)
        return cli_out_usage("write", &info);
    o.file = files.list[0];
    code = write_points(&o);
    cli_server_free(&o.server);
    return code;
}
