/*
 * metrics_api.h: GET /metrics.
 * Source: Prometheus text format 0.0.4; docs/user-guide/reference.md lists every metric.
 */
#ifndef SINKD_DAEMON_METRICS_API_H
#define SINKD_DAEMON_METRICS_API_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "daemon/daemon.h"
#include "daemon/server.h"

/* Handler of a server_route; the server's context is the struct daemon. */
void metrics_api_show(struct server_call *call);

/* metrics_api_put(daemon, out): append the whole text. ERR_NOMEM. */
enum err metrics_api_put(struct daemon *daemon, struct buf *out) MUST_USE;

#endif
