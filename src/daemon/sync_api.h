/*
 * sync_api.h: GET /internal/sync/metadata: the sinks' definitions, for export and for daemons that
 * follow.
 *
 *   {"node":"NODE","revision":"R",
 *    "entries":[{"key":"meta_sink:NAME","value":{"name":"..","type":"..","create":".."}}]}
 *
 * R is the ETag too. "create" holds the statements that make the sink again, without its secrets
 * unless secrets=1. For an administrator; without auth for loopback alone.
 */
#ifndef SINKD_DAEMON_SYNC_API_H
#define SINKD_DAEMON_SYNC_API_H

#include "daemon/server.h"

/* Handler of a server_route; the server's context is the struct daemon. */
void sync_api_metadata(struct server_call *call);

#endif
