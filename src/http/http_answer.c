/*
 * http_answer.c: the header set of InfluxDB 1.x answers around a status and a body.
 */
#include "http/http_answer.h"

#include "base/text.h"
#include "base/wire.h"

/* A client's own request identifier is sent back up to this length. */
#define ID_MAX 256
/* Speed counts more than size: answers are compressed on the loop's thread. */
#define GZIP_LEVEL 1

void
http_answer_env_free(struct http_env *env)
{
    gzip_reader_close(env->spare);
    gzip_writer_close(env->writer);
    recycle_free(&env->bodies);
    env->spare = NULL;
    env->writer = NULL;
}

/* The error of a list of appends sticks, as in struct wr. */
struct head {
    struct buf *out;
    enum err err;
};

static void
put_field(struct head *h, const char *name, struct slice value)
{
    if (h->err == ERR_OK)
        h->err = h1_write_field(h->out, name, value);
}

static void
put_text(struct head *h, const char *name, const char *value)
{
    put_field(h, name, slice_of(value));
}

/* request_id(env, request, text): the client's own, or a new one in ${text}. */
static struct slice
request_id(struct http_env *env, const struct http_request *request, char text[H1_UUID_TEXT])
{
    struct slice id = http_request_header(request, "X-Request-Id");
    uint8_t bytes[16];

    if (id.n == 0)
        id = http_request_header(request, "Request-Id");
    if (id.n > 0 && id.n <= ID_MAX)
        return id;
    memcpy(bytes, env->id_seed, sizeof(bytes));
    env->id_count++;
    store_be64(bytes + 8, load_be64(bytes + 8) + env->id_count);
    return slice_of(h1_write_uuid(text, bytes));
}

static void
put_cors(struct head *h, const struct http_request *request)
{
    struct slice origin = http_request_header(request, "Origin");

    if (origin.n == 0)
        return;
    put_field(h, "Access-Control-Allow-Origin", origin);
    put_text(h, "Access-Control-Allow-Methods", "DELETE, GET, OPTIONS, POST, PUT");
    put_text(h, "Access-Control-Allow-Headers",
             "Accept, Accept-Encoding, Authorization, Content-Length, Content-Type, X-CSRF-Token, "
             "X-HTTP-Method-Override");
    put_text(h, "Access-Control-Expose-Headers", "Date, X-InfluxDB-Version, X-InfluxDB-Build");
}

/* put_common(h, env, request, a): what every answer has. */
static void
put_common(struct head *h, struct http_env *env, const struct http_request *request,
           const struct http_answer *a)
{
    char text[H1_UUID_TEXT];
    struct slice id;

    put_text(h, "X-Influxdb-Build", env->build);
    put_text(h, "X-Influxdb-Version", env->version);
    if (env->date[0] != '\0')
        put_text(h, "Date", env->date);
    if (a->plain)
        return;
    id = request_id(env, request, text);
    put_field(h, "Request-Id", id);
    put_field(h, "X-Request-Id", id);
    put_cors(h, request);
}

/* put_error(h, text): X-Influxdb-Error, cut and cleaned. */
static void
put_error(struct head *h, struct slice text)
{
    if (h->err == ERR_OK)
        h->err = buf_add_text(h->out, "X-Influxdb-Error: ");
    if (h->err == ERR_OK)
        h->err = h1_write_error_text(h->out, text);
    if (h->err == ERR_OK)
        h->err = buf_add_text(h->out, "\r\n");
}

static void
put_particular(struct head *h, const struct http_request *request, const struct http_answer *a)
{
    if (a->error.n > 0 && a->status != 401)
        put_error(h, a->error);
    if (a->status == 401)
        put_text(h, "WWW-Authenticate", "Basic realm=\"InfluxDB\"");
    if (a->allow != NULL)
        put_text(h, "Allow", a->allow);
    if (a->retry_after_s > 0 && h->err == ERR_OK)
        h->err = buf_printf(h->out, "Retry-After: %u\r\n", a->retry_after_s);
    if (h->err == ERR_OK)
        h->err = buf_add(h->out, a->fields);
    if (a->close && request->head.minor > 0)
        put_text(h, "Connection", "close");
    else if (!a->close && request->head.minor == 0)
        put_text(h, "Connection", "keep-alive");
}

static const char *
content_type(const struct http_answer *a)
{
    if (a->type != NULL)
        return a->type;
    return a->plain ? "text/plain; charset=utf-8" : "application/json";
}

/* write_head(out, env, request, a, body_bytes, packed): up to and with the empty line. */
static enum err
write_head(struct buf *out, struct http_env *env, const struct http_request *request,
           const struct http_answer *a, size_t body_bytes, bool packed)
{
    struct head h = {out, ERR_OK};

    h.err = h1_write_status(out, request->head.minor, a->status);
    if (content_type(a)[0] != '\0')
        put_text(&h, "Content-Type", content_type(a));
    if (a->plain && a->type == NULL)
        put_text(&h, "X-Content-Type-Options", "nosniff");
    put_common(&h, env, request, a);
    put_particular(&h, request, a);
    if (packed)
        put_text(&h, "Content-Encoding", "gzip");
    if (a->status != 204 && h.err == ERR_OK)
        h.err = h1_write_length(out, body_bytes);
    if (h.err == ERR_OK)
        h.err = buf_add_text(out, "\r\n");
    return h.err;
}

/* pack(env, request, a, body, packed): the compressed body in ${packed} if it is to be. */
static bool
pack(struct http_env *env, const struct http_request *request, const struct http_answer *a,
     struct slice body, struct buf *packed)
{
    if (!a->may_gzip || a->status != 200 || body.n == 0 || !gzip_available() ||
        !http_request_accepts(request, SLICE("gzip")))
        return false;
    if (env->writer == NULL)
        env->writer = gzip_writer_open(GZIP_LEVEL);
    return env->writer != NULL && gzip_writer_pack(env->writer, body, packed) == ERR_OK;
}

static enum err
write_all(struct buf *out, struct http_env *env, const struct http_request *request,
          const struct http_answer *a, struct slice body)
{
    struct buf packed;
    bool is_packed;
    enum err err;

    buf_init(&packed, body.n + 1024);
    is_packed = pack(env, request, a, body, &packed);
    if (is_packed)
        body = buf_peek(&packed);
    err = write_head(out, env, request, a, body.n, is_packed);
    if (err == ERR_OK && request->method != HTTP_HEAD && a->status != 204)
        err = buf_add(out, body);
    buf_free(&packed);
    return err;
}

/* put_error_body(out, request, text, csv): in the form that the request asks for. */
static enum err
put_error_body(struct buf *out, const struct http_request *request, struct slice text, bool *csv)
{
    struct slice accept = slice_trim(http_request_header(request, "Accept"));

    *csv = slice_eq(accept, SLICE("application/csv")) || slice_eq(accept, SLICE("text/csv"));
    if (*csv)
        return h1_write_error_csv(out, text);
    if (slice_eq(http_request_param(request, "pretty"), SLICE("true")))
        return h1_write_error_pretty(out, text);
    return h1_write_error_json(out, text);
}

static enum err
write_error(struct buf *out, struct http_env *env, const struct http_request *request,
            const struct http_answer *a)
{
    struct http_answer formed = *a;
    struct buf body;
    bool csv;
    enum err err;

    buf_init(&body, a->error.n * 6 + 64); /* escaping makes at most six bytes of one */
    err = put_error_body(&body, request, a->error, &csv);
    if (csv)
        formed.type = "text/csv";
    if (err == ERR_OK)
        err = write_all(out, env, request, &formed, buf_peek(&body));
    buf_free(&body);
    return err;
}

enum err
http_answer_write(struct buf *out, struct http_env *env, const struct http_request *request,
                  const struct http_answer *a)
{
    size_t before = buf_len(out);
    enum err err = a->error.n > 0 ? write_error(out, env, request, a)
                                  : write_all(out, env, request, a, a->body);

    if (err != ERR_OK)
        buf_cut(out, before);
    return err == ERR_OK ? ERR_OK : ERR_NOMEM;
}
