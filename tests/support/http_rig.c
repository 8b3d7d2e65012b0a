/*
 * http_rig.c: an HTTP client on a script.
 */
#include "support/http_rig.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"

static const struct slice hello[] = {SLICE_INIT("hel"), SLICE_INIT(""), SLICE_INIT("lo")};

const struct http_call http_rig_post = {.method = SLICE_INIT("POST"),
                                        .target = SLICE_INIT("/write?db=a"),
                                        .body = hello,
                                        .body_count = 3};
const struct http_call http_rig_get = {.method = SLICE_INIT("GET"), .repeat = true};

void
http_rig_open_with(struct http_rig *r, struct script_conn *conns, size_t count, size_t keep,
                   size_t drain)
{
    struct http_client_config config = {.host = SLICE("collector"), .port = 8086};

    stream_script_init(&r->host, conns, count);
    config.env = &r->host.env;
    config.keep_bytes = keep;
    config.drain_bytes = drain;
    assert_int_equal(http_client_open(&r->client, &config, &r->info), ERR_OK);
}

void
http_rig_open(struct http_rig *r, struct script_conn *conns, size_t count)
{
    http_rig_open_with(r, conns, count, 0, 0);
}

void
http_rig_close(struct http_rig *r)
{
    const char *wrong;

    http_client_close(r->client);
    wrong = stream_script_done(&r->host);
    if (wrong != NULL)
        fail_msg("%s", wrong);
    stream_script_free(&r->host);
    assert_int_equal(mem_live(), 0);
}

int64_t
http_rig_soon(const struct http_rig *r)
{
    return r->host.clock.mono_ms + 5000;
}

enum err
http_rig_call(struct http_rig *r, const struct http_call *call)
{
    return http_client_call(r->client, call, &r->reply, http_rig_soon(r), &r->info);
}

void
http_rig_body(const struct http_rig *r, const char *text)
{
    assert_int_equal(r->reply.body.n, strlen(text));
    if (r->reply.body.n > 0)
        assert_memory_equal(r->reply.body.p, text, r->reply.body.n);
}
