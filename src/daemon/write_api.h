/*
 * write_api.h: POST /write and POST /api/v2/write: a body of points to a durable commit.
 *
 * Source: InfluxDB 1.x HTTP API; docs/user-guide/reference.md.
 */
#ifndef SINKD_DAEMON_WRITE_API_H
#define SINKD_DAEMON_WRITE_API_H

#include "daemon/daemon.h"
#include "daemon/server.h"

/* write_api_limit(daemon): what a body may measure when decoded: never more than an eighth of the
 * store. */
size_t write_api_limit(const struct daemon *daemon);

/* Handlers of a server_route; the server's context is the struct daemon. */
void write_api_head(struct server_call *call);    /* /write */
void write_api_head_v2(struct server_call *call); /* /api/v2/write */
void write_api_done(struct server_call *call);
void write_api_over(struct server_call *call, int status);

#endif
