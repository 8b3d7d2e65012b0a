/*
 * sink_rig.h: a sink on a script: its definition, its surroundings, a round of points.
 */
#ifndef SINKD_SUPPORT_SINK_RIG_H
#define SINKD_SUPPORT_SINK_RIG_H

#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "sink/round.h"
#include "sink/sink.h"
#include "support/stream_script.h"

struct sink_rig {
    struct script_host host;
    struct sink_def def;
    struct sink_env env;
    struct sink *sink;
    struct round round; /* empty at first */
    struct outcome outcome;
    struct errinfo info;
    size_t live; /* allocations there were before */
};

/* sink_rig_open(r, type, conns, count, url, options): open a sink as sink_drive_def defines it.
 * sink_rig_close(r): asserts that the script was followed and that nothing is left allocated;
 * sink_rig_drop(r): the same whatever came of the script. */
void sink_rig_open(struct sink_rig *r, const char *type, struct script_conn *conns, size_t count,
                   const char *url, const char *const *options);
void sink_rig_close(struct sink_rig *r);
void sink_rig_drop(struct sink_rig *r);

/* sink_rig_deliver(r): offer the round once. sink_rig_delivers(r): it must work; the test says what
 * stood in the way. sink_rig_delivered(r): points with that verdict. */
enum err sink_rig_deliver(struct sink_rig *r) MUST_USE;
void sink_rig_delivers(struct sink_rig *r);
size_t sink_rig_delivered(const struct sink_rig *r);

/* A connection of these steps. */
#define SINK_RIG_CONN(list)                                        \
    {                                                              \
        .steps = (list), .count = sizeof(list) / sizeof((list)[0]) \
    }

#endif
