/*
 * sink_drive.h: definitions and rounds of points for the tests of sinks.
 */
#ifndef SINKD_SUPPORT_SINK_DRIVE_H
#define SINKD_SUPPORT_SINK_DRIVE_H

#include <stddef.h>
#include <stdint.h>

#include "sink/round.h"
#include "sink/sink.h"
#include "sink/sink_def.h"
#include "support/stream_script.h"

/*
 * sink_drive_def(d, type, url, options): a checked definition named "s", id 7; ${url} may be NULL;
 * ${options} are key, value, key, value, ..., NULL, or NULL. The test fails without.
 */
void sink_drive_def(struct sink_def *d, const char *type, const char *url,
                    const char *const *options);

/* sink_drive_round(round, first, count): the points ${first} and on: database "db0", the default
 * policy, the line "m,t=a v=FIRSTi" and the timestamp FIRST seconds in ns. */
void sink_drive_round(struct round *round, uint64_t first, size_t count);

/* sink_drive_add(round, seq, database, policy, measurement, line): one more open point. */
void sink_drive_add(struct round *round, uint64_t seq, const char *database, const char *policy,
                    const char *measurement, const char *line);

/* sink_drive_script(env, host): surroundings that dial and wait by the script. */
void sink_drive_script(struct sink_env *env, struct script_host *host);

#endif
