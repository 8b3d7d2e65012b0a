/*
 * http_server.c: the state machine of one client connection.
 *
 * States go HEAD > DECIDE > BODY > WORK > (DRAIN >) HEAD, or end in CLOSED. What the machine
 * refuses by itself is answered here, in InfluxDB's words where it has some.
 */
#include "http/http_server.h"

#include <assert.h>

enum {
    HEAD,   /* gathering a head */
    DECIDE, /* told; the owner has not said yet whether it wants the body */
    BODY,   /* reading the body, or dropping an unwanted one, before the request is worked on */
    WORK,   /* with the owner */
    DRAIN,  /* answered; the rest of the body is skipped */
    CLOSED  /* nothing more is read; done once the output is sent */
};

/* With more output than this waiting, pipelined requests wait too. */
#define OUTPUT_WAITING_MAX 65536
#define INPUT_KEEP 4096

void
http_server_init(struct http_conn *c, struct http_env *env)
{
    *c = (struct http_conn){0};
    c->env = env;
    http_request_init(&c->request);
    http_content_init(&c->content, env);
    buf_init(&c->in, HTTP_INPUT_MAX);
    buf_init(&c->out, HTTP_OUTPUT_MAX + 2 * OUTPUT_WAITING_MAX);
    c->state = HEAD;
}

void
http_server_free(struct http_conn *c)
{
    http_content_free(&c->content);
    http_request_free(&c->request);
    buf_wipe(&c->in);
    buf_free(&c->out);
}

size_t
http_server_room(const struct http_conn *c)
{
    if (c->eof || c->state == DECIDE || c->state == WORK || c->state == CLOSED)
        return 0;
    if (c->state == HEAD && buf_len(&c->out) > OUTPUT_WAITING_MAX)
        return 0;
    return HTTP_INPUT_MAX - buf_len(&c->in);
}

void
http_server_eof(struct http_conn *c)
{
    c->eof = true;
}

/* consume(c, n): take input away; a buffer that a large body blew up is not kept. */
static void
consume(struct http_conn *c, size_t n)
{
    buf_consume(&c->in, n);
    if (buf_len(&c->in) == 0 && c->in.cap > INPUT_KEEP && c->state == HEAD)
        buf_wipe(&c->in);
}

/* skips_rest(c): what an early answer means for a body that is still coming: true to skip it. */
static bool
skips_rest(const struct http_conn *c)
{
    if (c->owes_continue)
        return false; /* RFC 9110 section 10.1.1: whether the body comes cannot be known */
    return c->body.framing != H1_LENGTH || c->body.left <= HTTP_DRAIN_MAX;
}

/* answer_too_large(c): the answer does not fit or there is no memory: say what can be said and
 * close. */
static void
answer_too_large(struct http_conn *c)
{
    const struct http_answer sorry = {
        .status = 500, .error = SLICE("the answer is too large: ask for less"), .close = true};

    if (http_answer_write(&c->out, c->env, &c->request, &sorry) != ERR_OK)
        c->refused = 0; /* not even that: the connection just closes */
}

void
http_server_answer(struct http_conn *c, const struct http_answer *a)
{
    struct http_answer final = *a;
    bool whole = c->state == WORK || c->body.done;
    size_t written = buf_len(&c->out);

    assert(c->state == DECIDE || c->state == BODY || c->state == WORK);
    if (c->stopping || !c->request.head.keep_alive || (!whole && !skips_rest(c)))
        final.close = true;
    if (http_answer_write(&c->out, c->env, &c->request, &final) != ERR_OK ||
        buf_len(&c->out) - written > HTTP_OUTPUT_MAX) {
        buf_cut(&c->out, written);
        final.close = true;
        answer_too_large(c);
    }
    c->request_over = true;
    c->dropped = 0;
    if (final.close)
        c->state = CLOSED;
    else
        c->state = whole ? HEAD : DRAIN;
}

/* refuse(c, status, text, close): the machine's own answer to a request whose head was good. */
static void
refuse(struct http_conn *c, int status, const char *text, bool close)
{
    struct http_answer a = {.status = status, .error = slice_of(text), .close = close};

    if (status == 503)
        a.retry_after_s = 1;
    c->refused = status;
    c->tell_refused = true;
    http_server_answer(c, &a);
}

/* refuse_head(c, fault): what is no request cannot be told as one. Always closes; what the peer
 * takes for the rest of its message must not be read as another. */
static void
refuse_head(struct http_conn *c, const struct h1_fault *fault)
{
    struct http_answer a = {.status = fault->status, .plain = true, .close = true};
    struct buf body, field;

    buf_init(&body, 256);
    buf_init(&field, 256);
    a.type = "text/plain; charset=utf-8";
    if (fault->status != 501 && fault->status != 417 &&
        buf_printf(&body, "%d %s%s%s", fault->status, h1_write_reason(fault->status),
                   fault->in_body ? ": " : "", fault->in_body ? fault->text : "") == ERR_OK)
        a.body = buf_peek(&body);
    else if (fault->status == 501)
        a.body = slice_of(fault->text);
    if (h1_write_field(&field, "X-Influxdb-Error", slice_of(fault->text)) == ERR_OK)
        a.fields = buf_peek(&field);
    c->request.method = 0;
    c->request.head.minor = 1;
    if (http_answer_write(&c->out, c->env, &c->request, &a) == ERR_OK)
        c->refused = fault->status;
    buf_free(&body);
    buf_free(&field);
    c->tell_refused = true;
    c->request_over = true;
    c->state = CLOSED;
}

static enum http_event
told_refused(struct http_conn *c)
{
    c->tell_refused = false;
    return HTTP_REFUSED;
}

/* begin_request(c): a head is loaded. */
static enum http_event
begin_request(struct http_conn *c)
{
    static const struct h1_fault unknown = {417, "expectations other than 100-continue", false};
    const struct h1_head *head = &c->request.head;

    c->requests++;
    h1_body_init(&c->body, head->framing, head->length);
    if (head->expects && !head->expects_continue) {
        refuse_head(c, &unknown);
        return told_refused(c);
    }
    c->owes_continue = head->expects_continue && !c->body.done;
    c->state = DECIDE;
    return HTTP_REQUEST_HEAD;
}

/* no_more_heads(c): the input ended, maybe within a head. */
static enum http_event
no_more_heads(struct http_conn *c)
{
    static const struct h1_fault cut = {400, "the head was cut short", false};

    if (c->scan.lines == 0 && c->scan.line == buf_len(&c->in)) { /* nothing, or empty lines alone */
        c->state = CLOSED;
        return HTTP_WAIT;
    }
    refuse_head(c, &cut);
    return told_refused(c);
}

static enum http_event
step_head(struct http_conn *c)
{
    struct h1_fault fault = {400, "", false};
    size_t length = 0;
    enum err err;

    if (c->stopping && buf_len(&c->in) == 0) {
        c->state = CLOSED;
        return HTTP_WAIT;
    }
    if (buf_len(&c->out) > OUTPUT_WAITING_MAX)
        return HTTP_WAIT;
    err = h1_parse_find(&c->scan, buf_peek(&c->in), &length, &fault);
    if (err == ERR_SHORT)
        return c->eof ? no_more_heads(c) : HTTP_WAIT;
    if (err == ERR_OK) {
        err = http_request_load(&c->request, slice_to(buf_peek(&c->in), length), &fault);
        consume(c, length);
        c->scan = (struct h1_scan){0};
    }
    if (err == ERR_OK)
        return begin_request(c);
    if (err == ERR_NOMEM)
        fault = (struct h1_fault){503, "out of memory", false};
    refuse_head(c, &fault);
    return told_refused(c);
}

void
http_server_accept(struct http_conn *c, size_t max)
{
    int status;

    assert(c->state == DECIDE);
    c->dropped = 0;
    status = http_content_begin(&c->content, &c->request, max);
    if (status != 0) {
        refuse(c, status, c->content.why, c->content.close);
        return;
    }
    c->state = BODY;
    if (max == 0 || !c->owes_continue)
        return;
    c->owes_continue = false;
    if (buf_add_text(&c->out, "HTTP/1.1 100 Continue\r\n\r\n") != ERR_OK)
        c->state = CLOSED; /* no memory even for this */
}

bool
http_server_is_undecided(const struct http_conn *c)
{
    return c->state == DECIDE;
}

/* drop(c, n): count bytes nobody wants; false when it is not worth going on. */
static bool
drop(struct http_conn *c, size_t n)
{
    c->dropped += n;
    return c->dropped <= HTTP_DRAIN_MAX;
}

/* skip(c, data): a piece of a body that nobody wants. */
static void
skip(struct http_conn *c, struct slice data)
{
    if (drop(c, data.n))
        return;
    c->stopping = true; /* answer without the rest, then close */
    c->state = WORK;
}

/* take(c, data): a piece of the body; the state changes when it is refused. */
static void
take(struct http_conn *c, struct slice data)
{
    int status = http_content_take(&c->content, &c->request, data);

    if (status != 0)
        refuse(c, status, c->content.why, c->content.close);
}

/* take_directly(c, bytes): what of them is a wanted body, without a copy in between. The rest, and
 * whatever ends the body, is left to the next step. */
static size_t
take_directly(struct http_conn *c, struct slice bytes)
{
    size_t used, sum = 0;
    struct slice data;

    if (buf_len(&c->in) > 0 || c->content.max == 0)
        return 0;
    while (c->state == BODY) {
        enum err err = h1_body_next(&c->body, slice_from(bytes, sum), &used, &data);
        sum += used;
        if (err != ERR_OK)
            break;
        take(c, data);
    }
    return sum;
}

enum err
http_server_receive(struct http_conn *c, struct slice bytes)
{
    assert(bytes.n <= http_server_room(c));
    return buf_add(&c->in, slice_from(bytes, take_directly(c, bytes)));
}

/* complete(c): the body has ended. */
static enum http_event
complete(struct http_conn *c)
{
    int status = http_content_end(&c->content);

    c->state = WORK;
    if (status == 0)
        return HTTP_REQUEST_DONE;
    refuse(c, status, c->content.why, c->content.close);
    return told_refused(c);
}

/* body_stopped(c, err): h1_body_next gave no piece. */
static enum http_event
body_stopped(struct http_conn *c, enum err err)
{
    if (err == ERR_EOF)
        return complete(c);
    if (err == ERR_BAD) {
        refuse(c, 400, c->body.why, true);
        return told_refused(c);
    }
    if (!c->eof)
        return HTTP_WAIT;
    refuse(c, 400, "unexpected EOF", true);
    return told_refused(c);
}

static enum http_event
step_body(struct http_conn *c)
{
    struct slice data;
    size_t used = 0;
    enum err err;

    if (c->content.max == 0 && c->owes_continue) { /* it will not be sent unless asked for */
        c->state = WORK;
        c->stopping = true;
        return HTTP_REQUEST_DONE;
    }
    while (c->state == BODY) {
        err = h1_body_next(&c->body, buf_peek(&c->in), &used, &data);
        if (err == ERR_OK && c->content.max == 0)
            skip(c, data);
        else if (err == ERR_OK)
            take(c, data);
        consume(c, used);
        if (err != ERR_OK)
            return body_stopped(c, err);
    }
    return c->tell_refused ? told_refused(c) : HTTP_REQUEST_DONE;
}

/* step_drain(c): true when the next request may begin. */
static bool
step_drain(struct http_conn *c)
{
    struct slice data;
    size_t used = 0;
    enum err err = ERR_OK;

    while (err == ERR_OK) {
        err = h1_body_next(&c->body, buf_peek(&c->in), &used, &data);
        consume(c, used);
        if (!drop(c, used))
            err = ERR_RANGE;
    }
    if (err == ERR_EOF)
        c->state = HEAD;
    else if (err != ERR_SHORT || c->eof)
        c->state = CLOSED;
    return err == ERR_EOF;
}

/* end_request(c): free what the answered request held. */
static void
end_request(struct http_conn *c)
{
    c->request_over = false;
    http_content_free(&c->content);
    c->owes_continue = false;
    http_request_free(&c->request);
    http_request_init(&c->request);
    if (buf_len(&c->in) == 0)
        buf_wipe(&c->in);
}

enum http_event
http_server_step(struct http_conn *c)
{
    if (c->tell_refused)
        return told_refused(c);
    if (c->request_over)
        end_request(c);
    if (c->state == BODY)
        return step_body(c);
    if (c->state == DRAIN && !step_drain(c))
        return HTTP_WAIT;
    return c->state == HEAD ? step_head(c) : HTTP_WAIT;
}

void
http_server_timeout(struct http_conn *c)
{
    static const struct h1_fault slow = {408, "the head did not come in time", false};

    switch (http_server_phase(c)) {
    case HTTP_IDLE:
    case HTTP_WORKING:
        return;
    case HTTP_READING:
        if (c->state == BODY)
            refuse(c, 408, "the body did not come in time", true);
        else
            refuse_head(c, &slow);
        return;
    case HTTP_SENDING:
        buf_clear(&c->out);
        c->eof = true; /* it does not read: there is nobody to linger for */
        c->state = CLOSED;
        return;
    case HTTP_DRAINING:
        c->state = CLOSED;
        return;
    }
}

void
http_server_sent(struct http_conn *c, size_t n)
{
    buf_consume(&c->out, n);
    if (buf_len(&c->out) == 0)
        buf_free(&c->out);
}

void
http_server_stop(struct http_conn *c)
{
    c->stopping = true;
    if (http_server_phase(c) == HTTP_IDLE)
        c->state = CLOSED;
}

enum http_phase
http_server_phase(const struct http_conn *c)
{
    switch (c->state) {
    case DECIDE:
    case WORK:
        return HTTP_WORKING;
    case BODY:
        return HTTP_READING;
    case DRAIN:
        return HTTP_DRAINING;
    default:
        break;
    }
    if (c->state == HEAD && buf_len(&c->in) > 0 && buf_len(&c->out) <= OUTPUT_WAITING_MAX)
        return HTTP_READING;
    return buf_len(&c->out) > 0 ? HTTP_SENDING : HTTP_IDLE;
}

bool
http_server_is_finished(const struct http_conn *c)
{
    return c->state == CLOSED && buf_len(&c->out) == 0 && !c->tell_refused;
}

bool
http_server_must_linger(const struct http_conn *c)
{
    return c->state == CLOSED && !c->eof && (c->requests > 0 || c->refused != 0);
}
