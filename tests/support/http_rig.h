/*
 * http_rig.h: an HTTP client on a script, and two requests whose bytes are known. For tests only.
 */
#ifndef SINKD_SUPPORT_HTTP_RIG_H
#define SINKD_SUPPORT_HTTP_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "http/http_client.h"
#include "support/stream_script.h"

struct http_rig {
    struct script_host host;
    struct http_client *client;
    struct http_reply reply;
    struct errinfo info;
};

/* http_rig_open_with(r, conns, count, keep, drain): a client of "collector", port 8086; keep and
 * drain as in its configuration. http_rig_close() also asserts that the script was followed and
 * that nothing is left allocated. */
void http_rig_open_with(struct http_rig *r, struct script_conn *conns, size_t count, size_t keep,
                        size_t drain);
void http_rig_open(struct http_rig *r, struct script_conn *conns, size_t count);
void http_rig_close(struct http_rig *r);

/* http_rig_soon(r): five seconds from now. */
int64_t http_rig_soon(const struct http_rig *r);

/* http_rig_call(r, call): http_client_call with that deadline, into r->reply and r->info. */
enum err http_rig_call(struct http_rig *r, const struct http_call *call) MUST_USE;

/* http_rig_body(r, text): asserts that this is the body of the reply. */
void http_rig_body(const struct http_rig *r, const char *text);

extern const struct http_call
    http_rig_post; /* not repeated when stale; its body comes in three parts */
extern const struct http_call http_rig_get; /* repeated */

#define POST_BYTES \
    "POST /write?db=a HTTP/1.1\r\nHost: collector:8086\r\nContent-Length: 5\r\n\r\nhello"
#define GET_BYTES "GET / HTTP/1.1\r\nHost: collector:8086\r\n\r\n"
#define NO_CONTENT "HTTP/1.1 204 No Content\r\n\r\n"

#endif
