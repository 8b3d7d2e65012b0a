/*
 * info_api.h: GET|HEAD /ping, GET /health, GET /health/ready: whether the daemon lives and works.
 */
#ifndef SINKD_DAEMON_INFO_API_H
#define SINKD_DAEMON_INFO_API_H

#include "daemon/server.h"

/* Handlers of a server_route; the server's context is the struct daemon. */
void info_api_ping(struct server_call *call);
void info_api_health(struct server_call *call);
void info_api_ready(struct server_call *call);

/* What the daemon calls itself to InfluxDB's clients: they look for "1." at its start. */
extern const char info_api_version[];

#endif
