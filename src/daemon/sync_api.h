/*
 * sync_api.h: GET /internal/sync/metadata: the sinks' definitions, for export and for daemons that follow.
 *
 * {"node":"NODE","revision":"R","entries":[{"key":"meta_sink:NAME","value":{...}}]}, R is the ETag too. A value has
 * name type url username format databases include exclude batch_size flush_interval paused options, and with
 * secrets=1 also password and the secret options. For an administrator; without auth for loopback alone.
 */
#ifndef SINKD_DAEMON_SYNC_API_H
#define SINKD_DAEMON_SYNC_API_H

#include "daemon/server.h"

/* Handler of a server_route; the server's context is the struct daemon. */
void sync_api_metadata(struct server_call *call);

#endif
