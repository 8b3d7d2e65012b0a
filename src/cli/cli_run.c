/*
 * cli_run.c: between the commands that run statements and the daemon.
 */
#include "cli/cli_run.h"

#include "base/text.h"
#include "cli/cli_out.h"
#include "cli/cli_result.h"
#include "sql/sql.h"

/* The daemon answers when a change is committed; a full disk may take its time. */
#define QUERY_TIMEOUT_MS 120000

enum err
cli_run_query(struct cli_http *http, struct slice sql, struct http_reply *reply,
              struct errinfo *info)
{
    struct cli_request request = {.method = "POST",
                                  .target = SLICE("/query"),
                                  .content_type = "application/x-www-form-urlencoded",
                                  .timeout_ms = QUERY_TIMEOUT_MS};
    struct buf form;
    enum err err;

    buf_init(&form, 3 * SQL_TEXT_MAX + 16);
    err = buf_add_text(&form, "q=");
    if (err == ERR_OK)
        err = text_percent(&form, sql);
    request.body = buf_peek(&form);
    if (err != ERR_OK)
        err =
            errinfo_set(info, ERR_RANGE, "the statements are longer than %zu bytes", SQL_TEXT_MAX);
    else
        err = cli_http_call(http, &request, reply, info);
    buf_wipe(&form); /* statements may hold passwords */
    return err;
}

/* The notes of an answer, each a line of its own on standard error. */
static void
say_notes(struct slice notes)
{
    struct slice line;

    while (slice_split(&notes, '\n', &line))
        cli_out_say("%.*s", SLICE_PRI(line));
}

static int
show(const struct cli_http *http, const struct http_reply *reply, enum cli_format format)
{
    struct buf out, notes;
    struct errinfo info;
    bool failed = true;
    int code = CLI_EXIT_FAILED;
    enum err err;

    buf_init(&out, 4 * CLI_HTTP_ANSWER_MAX);
    buf_init(&notes, (size_t)1 << 20);
    err = cli_result_put(&out, &notes, reply->body, format, &failed);
    if (err == ERR_NOMEM || err == ERR_RANGE) {
        cli_out_say("the answer is too large to be shown");
    } else if (err != ERR_OK || (reply->status != 200 && !failed)) {
        (void)cli_http_refused(http, reply, &info);
        code = cli_out_fail(&info);
    } else {
        code = failed ? CLI_EXIT_FAILED : CLI_EXIT_OK;
        if (cli_out_put(buf_peek(&out)) != ERR_OK)
            code = CLI_EXIT_FAILED;
        say_notes(buf_peek(&notes));
    }
    buf_free(&notes);
    buf_free(&out);
    return code;
}

int
cli_run_show(struct cli_http *http, struct slice sql, enum cli_format format)
{
    struct http_reply reply;
    struct errinfo info;

    if (cli_run_query(http, sql, &reply, &info) != ERR_OK)
        return cli_out_fail(&info);
    return show(http, &reply, format);
}
