/*
 * daemon.h: the running daemon: its parts, and their start and end.
 *
 * The *_api files get it as the context of the server; everything in it belongs to the loop's
 * thread, or says itself which threads may call it.
 */
#ifndef SINKD_DAEMON_DAEMON_H
#define SINKD_DAEMON_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/histogram.h"
#include "daemon/config.h"
#include "daemon/databases.h"
#include "daemon/disk_watch.h"
#include "daemon/mailbox.h"
#include "daemon/server.h"
#include "daemon/supervisor.h"
#include "net/loop.h"
#include "point/lineproto.h"
#include "store/committer.h"
#include "store/store.h"

/* What /metrics says of the way in. */
struct daemon_counters {
    uint64_t write_requests, write_errors, points, suspicious_timestamps;
    uint64_t rejected_lines[LINEPROTO_REASONS];
    struct histogram write_seconds;
};

struct query_queue;

struct daemon {
    const struct config *config;
    const struct clock *clock;
    char node[128];
    int64_t started_ms;
    struct loop *loop;
    struct mailbox *mailbox;
    struct store *store;
    struct committer *committer;
    struct databases *databases;
    struct supervisor *supervisor;
    struct disk_watch *disk;
    struct query_queue *queries;
    struct server *server;
    char limit_words[160]; /* where the limit on bodies comes from, for a 413 */
    struct daemon_counters counters;
};

/*
 * daemon_run(config, clock): serve until SIGTERM or SIGINT; the whole of `sinkd serve` behind the
 * configuration. Returns the exit status: 0, or 1 when it could not start (the log says why).
 */
int daemon_run(const struct config *config, const struct clock *clock);

#endif
