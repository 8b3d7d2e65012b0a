/*
 * write_api.c: see write_api.h.
 *
 * At the head a request is checked and may be refused; when its body is there it is parsed once
 * into chunks, which the committer makes durable; its mail brings the answer. Back-pressure is
 * always 503 with Retry-After: clients throw a batch away for good on any 4xx.
 */
#include "daemon/write_api.h"

#include <inttypes.h>

#include "base/container.h"
#include "base/mem.h"
#include "daemon/daemon.h"
#include "daemon/server_budget.h"
#include "daemon/write_body.h"

#define RETRY_AFTER_S 5

/* One write on its way. Made at the head; lives until both the call is over and the committer is
 * done. */
struct write {
    struct daemon *daemon;
    enum precision precision;
    struct buf database, policy;

    struct write_body points;

    struct server_ticket ticket;
    struct committer_body body;
    struct mail mail;
    enum err result;
    struct errinfo info;
    size_t held;       /* counted in the server's budget */
    bool committing;   /* the committer has it */
    bool call_is_over; /* nobody waits for the answer */
};

static void
free_write(struct write *w)
{
    struct server *server = w->daemon->server;

    if (w->held > 0)
        server_budget_release(server_inflight(server), w->held);
    buf_free(&w->database);
    buf_free(&w->policy);
    recycle_give(server_recycle(server), &w->points.chunks);
    write_body_free(&w->points);
    mem_free(w);
}

static struct write *
new_write(struct daemon *daemon)
{
    struct write *w = mem_zalloc(sizeof(*w));

    if (w == NULL)
        return NULL;
    w->daemon = daemon;
    buf_init(&w->database, CHUNK_NAME_BYTES_MAX);
    buf_init(&w->policy, CHUNK_NAME_BYTES_MAX);
    write_body_init(&w->points);
    return w;
}

size_t
write_api_limit(const struct daemon *daemon)
{
    uint64_t eighth = store_map_bytes(daemon->store) / 8;
    size_t configured = daemon->config->server.max_body_size_bytes;

    return configured < eighth ? configured : (size_t)eighth;
}

/* ---- the head ---- */

/* Whether the daemon takes anything at all now; else the call is answered. A full log is the
 * committer's to tell: a smaller body may fit. */
static bool
can_take(struct daemon *daemon, struct server_call *call)
{
    if (server_is_draining(daemon->server)) {
        server_call_busy(call, RETRY_AFTER_S, "the daemon is shutting down");
        return false;
    }
    if (disk_watch_is_readonly(daemon->disk)) {
        struct http_answer a = {
            .status = 507,
            .retry_after_s = 60,
            .error = SLICE("insufficient storage: the disk is nearly full, writes are refused")};

        server_call_answer(call, &a);
        return false;
    }
    return true;
}

/* Database and retention policy are checked and kept; else the call is answered. */
static bool
take_names(struct write *w, struct server_call *call, struct slice database, struct slice policy)
{
    if (!databases_is_valid(database)) {
        server_call_error(call, 400, "invalid name of a database");
        return false;
    }
    if (buf_add(&w->database, database) != ERR_OK || buf_add(&w->policy, policy) != ERR_OK) {
        server_call_error(call, 400, "invalid retention policy: longer than %u bytes",
                          CHUNK_NAME_BYTES_MAX);
        return false;
    }
    return true;
}

static void
accept_write(struct write *w, struct server_call *call)
{
    if (can_take(w->daemon, call))
        server_call_accept(call, write_api_limit(w->daemon));
}

static struct write *
begin(struct server_call *call)
{
    struct daemon *daemon = server_ctx(server_of(call));
    struct write *w = new_write(daemon);

    daemon->counters.write_requests++;
    if (w == NULL)
        server_call_busy(call, RETRY_AFTER_S, "no memory for this write");
    else
        server_call_set_user(call, w);
    return w;
}

static bool
check_consistency(struct server_call *call)
{
    static const struct slice known[] = {SLICE_INIT("any"), SLICE_INIT("one"), SLICE_INIT("quorum"),
                                         SLICE_INIT("all")};
    struct slice value = http_request_param(server_call_request(call), "consistency");

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (value.n == 0 || slice_eq_nocase(value, known[i]))
            return true;
    }
    server_call_error(call, 400, "invalid consistency level");
    return false;
}

void
write_api_head(struct server_call *call)
{
    const struct http_request *request = server_call_request(call);
    struct slice database = http_request_param(request, "db");
    struct slice precision = http_request_param(request, "precision");
    struct write *w = begin(call);

    if (w == NULL)
        return;
    if (database.n == 0)
        server_call_error(call, 400, "database is required");
    else if (precision_parse(precision, &w->precision) != ERR_OK)
        server_call_error(call, 400, "invalid precision \"%.*s\" (use n, u, ms, s, m or h)",
                          (int)(precision.n > 40 ? 40 : precision.n), (const char *)precision.p);
    else if (check_consistency(call) &&
             take_names(w, call, database, http_request_param(request, "rp")))
        accept_write(w, call);
}

/* The v2 path knows fewer units: ns, us, ms, s. */
static bool
precision_v2(struct slice text, enum precision *out)
{
    return precision_parse(text, out) == ERR_OK && !slice_eq(text, SLICE("m")) &&
           !slice_eq(text, SLICE("h")) && !slice_eq(text, SLICE("n")) &&
           !slice_eq(text, SLICE("u"));
}

void
write_api_head_v2(struct server_call *call)
{
    const struct http_request *request = server_call_request(call);
    struct slice bucket = http_request_param(request, "bucket");
    struct slice precision = http_request_param(request, "precision");
    size_t slash = slice_find(bucket, '/');
    struct write *w = begin(call);

    if (w == NULL)
        return;
    if (bucket.n == 0)
        server_call_error(call, 404, "bucket is required: the name of a database, or db/rp");
    else if (!precision_v2(precision, &w->precision))
        server_call_error(call, 400, "invalid precision \"%.*s\" (use ns, us, ms or s)",
                          (int)(precision.n > 40 ? 40 : precision.n), (const char *)precision.p);
    else if (take_names(w, call, slice_to(bucket, slash), slice_from(bucket, slash + 1)))
        accept_write(w, call);
}

/* ---- the body ---- */

static enum err
parse_body(struct write *w, const struct http_request *request)
{
    struct daemon *daemon = w->daemon;
    struct chunk_origin origin = {.db = buf_peek(&w->database),
                                  .rp = buf_peek(&w->policy),
                                  .accepted_ns = clock_wall_ns(daemon->clock),
                                  .accepted_ms = clock_mono_ms(daemon->clock),
                                  .run = store_run(daemon->store)};
    enum write_form form = write_body_form(http_request_header(request, "content-type"));

    return write_body_parse(&w->points, daemon, form, http_request_body(request), w->precision,
                            &origin, write_api_limit(daemon));
}

/* The answer to a write whose good lines are safe. */
static void
answer(const struct write *w, struct server_call *call)
{
    struct http_answer a = {.status = 204};

    if (w->points.bad > 0) {
        a.status = 400;
        a.error = buf_peek(&w->points.complaint);
    }
    server_call_answer(call, &a);
}

/* On the loop's thread, after the commit. */
static void
commit_is_over(struct mail *m)
{
    struct write *w = CONTAINER_OF(m, struct write, mail);
    struct daemon *daemon = w->daemon;
    struct server_call *call = server_call_find(daemon->server, w->ticket);

    w->committing = false;
    if (w->result == ERR_OK) {
        daemon->counters.points += w->body.points;
        databases_note(daemon->databases, buf_peek(&w->database));
    }
    if (w->call_is_over || call == NULL) {
        free_write(w);
        return;
    }
    if (w->result == ERR_OK)
        answer(w, call);
    else if (w->result == ERR_FULL)
        server_call_busy(call, RETRY_AFTER_S, "the log is full until a sink delivers");
    else
        server_call_busy(call, RETRY_AFTER_S, w->info.text);
}

/* On the committer's thread. */
static void
committed(struct committer_body *body, enum err result, const struct errinfo *info)
{
    struct write *w = CONTAINER_OF(body, struct write, body);

    w->result = result;
    if (info != NULL)
        w->info = *info;
    mailbox_post(w->daemon->mailbox, &w->mail);
}

static void
commit(struct write *w, struct server_call *call)
{
    struct slice chunks = buf_peek(&w->points.chunks);
    enum err err;

    w->ticket = server_call_ticket(call);
    w->mail.call = commit_is_over;
    w->body = (struct committer_body){.chunks = chunks, .done = committed};
    err = committer_append(w->daemon->committer, &w->body);
    if (err == ERR_OK) {
        w->committing = true;
        w->held = chunks.n;
        server_budget_hold(server_inflight(w->daemon->server), w->held);
    } else if (err == ERR_FULL) {
        server_call_busy(call, RETRY_AFTER_S, "the log is full until a sink delivers");
    } else {
        server_call_busy(call, 1, "too many writes wait for the disk");
    }
}

void
write_api_done(struct server_call *call)
{
    struct write *w = server_call_user(call);
    struct http_answer a = {.status = 400};
    enum err err;

    if (w == NULL)
        return;
    err = parse_body(w, server_call_request(call));
    if (err == ERR_BAD || err == ERR_RANGE) {
        a.status = err == ERR_BAD ? 400 : 413;
        a.error = buf_peek(&w->points.complaint);
        server_call_answer(call, &a);
    } else if (err != ERR_OK) {
        server_call_busy(call, RETRY_AFTER_S, "no memory for this write");
    } else if (w->points.good == 0) {
        answer(w, call);
    } else {
        commit(w, call);
    }
}

void
write_api_over(struct server_call *call, int status)
{
    struct daemon *daemon = server_ctx(server_of(call));
    struct write *w = server_call_user(call);

    if (status != 204)
        daemon->counters.write_errors++;
    histogram_add(&daemon->counters.write_seconds,
                  (clock_mono_ms(daemon->clock) - server_call_started_ms(call)) * 1000);
    if (w == NULL)
        return;
    w->call_is_over = true;
    if (!w->committing)
        free_write(w);
}
