/*
 * test_sink_contract_http.c: both HTTP types keep the contract of sinks, before a server on loopback.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/http_peer.h"
#include "support/sink_contract.h"
#include "support/sink_drive.h"

#include <stdio.h>

static void
define_type(struct http_peer *p, const char *type, struct sink_def *def)
{
    static const char *const options[] = {"timeout", "300ms", "max_batch_bytes", "1000", NULL};
    char url[80];

    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/write?db=x", http_peer_port(p));
    sink_drive_def(def, type, url, options);
}

static void
define_line(void *p, struct sink_def *def)
{
    define_type(p, "http_line", def);
}

static void
define_msgpack(void *p, struct sink_def *def)
{
    define_type(p, "http_msgpack", def);
}

static struct http_peer peer;

static void
begin(void *p)
{
    http_peer_start(p);
}

static void
end(void *p)
{
    http_peer_stop(p);
}

static void
set_mood(void *p, enum contract_mood mood, unsigned after)
{
    http_peer_set_mood(p, mood, after);
}

static unsigned
taken(void *p, uint64_t value)
{
    return http_peer_taken(p, value);
}

int
main(void)
{
    struct sink_contract contract = {
        .name = "http_line",
        .peer = &peer,
        .connects = true,
        .begin = begin,
        .end = end,
        .define = define_line,
        .set_mood = set_mood,
        .taken = taken,
        .silence_ms = 300,
    };
    int failed = sink_contract_run(&contract);

    contract.name = "http_msgpack";
    contract.define = define_msgpack;
    return failed + sink_contract_run(&contract);
}
