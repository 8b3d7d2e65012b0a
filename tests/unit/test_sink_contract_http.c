/*
 * test_sink_contract_http.c: http_line keeps the contract of sinks, before a server on loopback.
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
define(void *peer, struct sink_def *def)
{
    static const char *const options[] = {"timeout", "300ms", "max_batch_bytes", "1000", NULL};
    char url[80];

    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/write?db=x", http_peer_port(peer));
    sink_drive_def(def, "http_line", url, options);
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
    const struct sink_contract contract = {
        .name = "http_line",
        .peer = &peer,
        .connects = true,
        .begin = begin,
        .end = end,
        .define = define,
        .set_mood = set_mood,
        .taken = taken,
        .silence_ms = 300,
    };

    return sink_contract_run(&contract);
}
