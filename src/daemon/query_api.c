/*
 * query_api.c: see query_api.h.
 */
#include "daemon/query_api.h"

#include "base/mem.h"
#include "daemon/query_exec.h"
#include "daemon/query_results.h"
#include "sql/sql.h"

#define FORM_MAX 10000000 /* a form body; InfluxDB takes as much */
#define ANSWER_MAX ((size_t)32 << 20)

/* One request's statements on their way. */
struct job {
    struct query_queue *queue;
    struct job *next;
    struct sql_script script;
    size_t at; /* the statement to run next, or that is parked */
    struct query_results results;
    struct query_exec exec;
    bool by_get;  /* statements that change something are told to use POST */
    bool resumed; /* a parked statement is done */

    struct server_ticket ticket; /* of a request */
    enum query_form form;

    void (*done)(void *arg, const char *error); /* of the daemon's own */
    void *arg;
};

struct query_queue {
    struct daemon *daemon;
    struct job *first, **last;
    bool running; /* the first job is being worked on, somewhere up the stack */
    bool parked;  /* its statement waits for a commit: resume() goes on with it, nobody else */
};

enum err
query_api_open(struct query_queue **out, struct daemon *daemon, struct errinfo *info)
{
    struct query_queue *q = mem_zalloc(sizeof(*q));

    if (q == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for statements");
    q->daemon = daemon;
    q->last = &q->first;
    *out = q;
    return ERR_OK;
}

static void
free_job(struct job *job)
{
    sql_free(&job->script);
    query_results_free(&job->results);
    mem_free(job);
}

void
query_api_close(struct query_queue *q)
{
    struct job *job;

    if (q == NULL)
        return;
    while ((job = q->first) != NULL) {
        q->first = job->next;
        free_job(job);
    }
    mem_free(q);
}

/* ---- answers ---- */

static void
answer(struct job *job, struct server_call *call)
{
    struct http_answer a = {.status = 200, .may_gzip = true};
    struct buf body;

    buf_init(&body, ANSWER_MAX);
    if (query_results_write(&job->results, job->form, &body) != ERR_OK) {
        server_call_error(call, 500, "the result is too large, or there is no memory for it");
    } else {
        a.type = job->form == QUERY_CSV ? "text/csv" : NULL;
        a.body = buf_peek(&body);
        server_call_answer(call, &a);
    }
    buf_free(&body);
}

/* The text of the first error, for the daemon's own statements. */
static void
report(struct job *job)
{
    char text[512];
    const char *error = query_results_first_error(&job->results, text, sizeof(text));

    job->done(job->arg, error);
}

static void
finish(struct job *job)
{
    struct server_call *call;

    if (job->done != NULL) {
        report(job);
        return;
    }
    call = server_call_find(job->queue->daemon->server, job->ticket);
    if (call != NULL)
        answer(job, call);
}

/* ---- execution ---- */

/* GET is for reading; a change by GET works, as ever, and is told so. */
static void
warn_of_get(struct job *job, const struct sql_statement *statement)
{
    struct buf text;

    if (!job->by_get || !query_exec_changes(statement->kind))
        return;
    buf_init(&text, 4096);
    if (buf_add_text(&text, "deprecated use of '") == ERR_OK &&
        sql_render(&text, statement, &(struct sql_render_options){.secrets = SQL_SECRETS_MASKED}) ==
            ERR_OK &&
        buf_add_text(&text, "' in a read only context, please use a POST request instead") ==
            ERR_OK)
        query_results_message(&job->results, "warning", buf_peek(&text));
    buf_free(&text);
}

/* Run statements until one parks. True: all are done. */
static bool
run_job(struct job *job)
{
    if (job->resumed) {
        job->resumed = false;
        job->at++;
    }
    while (job->at < job->script.count) {
        const struct sql_statement *statement = &job->script.statements[job->at];
        bool failed = job->at > 0 && query_results_failed(&job->results);

        query_results_begin(&job->results);
        if (failed) {
            query_results_error(&job->results, "not executed");
        } else {
            warn_of_get(job, statement);
            if (!query_exec_run(&job->exec, statement))
                return false;
        }
        job->at++;
    }
    return true;
}

static void
run_queue(struct query_queue *q)
{
    if (q->running || q->parked)
        return;
    q->running = true;
    while (q->first != NULL) {
        struct job *job = q->first;

        q->parked = !run_job(job);
        if (q->parked)
            break;
        q->first = job->next;
        if (q->first == NULL)
            q->last = &q->first;
        finish(job);
        free_job(job);
    }
    q->running = false;
}

/* The parked statement of the first job is done. */
static void
resume(void *arg)
{
    struct job *job = arg;

    job->resumed = true;
    job->queue->parked = false;
    run_queue(job->queue);
}

static struct job *
new_job(struct query_queue *q)
{
    struct job *job = mem_zalloc(sizeof(*job));

    if (job == NULL)
        return NULL;
    job->queue = q;
    query_results_init(&job->results);
    job->exec = (struct query_exec){q->daemon, &job->results, resume, job};
    return job;
}

static void
enqueue(struct job *job)
{
    struct query_queue *q = job->queue;

    *q->last = job;
    q->last = &job->next;
    run_queue(q);
}

enum err
query_api_run(struct query_queue *q, struct slice text, void (*done)(void *arg, const char *error),
              void *arg, struct errinfo *info)
{
    struct job *job = new_job(q);
    struct sql_error error;
    enum err err;

    if (job == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for statements");
    err = sql_parse(text, &job->script, &error);
    if (err != ERR_OK) {
        free_job(job);
        return errinfo_set(info, err == ERR_NOMEM ? err : ERR_BAD, "%s", error.text);
    }
    job->done = done;
    job->arg = arg;
    enqueue(job);
    return ERR_OK;
}

/* ---- requests ---- */

void
query_api_head(struct server_call *call)
{
    if (server_call_request(call)->method == HTTP_POST)
        server_call_accept(call, FORM_MAX);
}

static enum query_form
form_of(const struct http_request *request)
{
    struct slice accept = slice_trim(http_request_header(request, "accept"));

    if (slice_eq(accept, SLICE("application/csv")) || slice_eq(accept, SLICE("text/csv")))
        return QUERY_CSV;
    if (slice_eq(http_request_form(request, "chunked"), SLICE("true")))
        return QUERY_JSON_CHUNKED;
    if (slice_eq(http_request_form(request, "pretty"), SLICE("true")))
        return QUERY_JSON_PRETTY;
    return QUERY_JSON;
}

static bool
is_blank(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\n' && s.p[i] != '\r')
            return false;
    }
    return true;
}

void
query_api_done(struct server_call *call)
{
    struct daemon *daemon = server_ctx(server_of(call));
    struct http_request *request = server_call_request(call);
    struct job *job = new_job(daemon->queries);
    struct sql_error error;
    struct slice text;

    if (job == NULL || http_request_parse_form(request) != ERR_OK) {
        mem_free(job);
        server_call_busy(call, 1, "no memory for statements");
        return;
    }
    text = http_request_form(request, "q");
    if (is_blank(text)) {
        free_job(job);
        server_call_error(call, 400, "missing required parameter \"q\"");
        return;
    }
    if (sql_parse(text, &job->script, &error) != ERR_OK) {
        free_job(job);
        server_call_error(call, 400, "%s", error.text);
        return;
    }
    job->by_get = request->method == HTTP_GET;
    job->form = form_of(request);
    job->ticket = server_call_ticket(call);
    enqueue(job);
}
