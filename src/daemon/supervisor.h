/*
 * supervisor.h: the sinks by name: their definitions, their runners, what they hold.
 *
 * Everything happens on the loop's thread. A change of definitions is committed by the committer
 * and comes back by mail: one at a time, its caller waits. Not for: SQL (sink_ddl.h) and not for
 * answers.
 */
#ifndef SINKD_DAEMON_SUPERVISOR_H
#define SINKD_DAEMON_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/slice.h"
#include "daemon/config.h"
#include "daemon/mailbox.h"
#include "sink/runner.h"
#include "sink/sink_def.h"
#include "store/committer.h"
#include "store/store.h"

struct supervisor;

struct supervisor_config {
    const struct config *config;
    struct store *store;
    struct committer *committer;
    struct mailbox *mailbox;
    const struct clock *clock;
    const char *node;
};

/* supervisor_open(out, config, info): load the definitions and check that each has its record.
 * Nothing runs yet. ERR_NOMEM, ERR_IO, ERR_BAD. */
enum err supervisor_open(struct supervisor **out, const struct supervisor_config *config,
                         struct errinfo *info) MUST_USE;

/* supervisor_start(s): start the runners (when the service is enabled); those of sinks made later
 * start at once. */
void supervisor_start(struct supervisor *s);

/*
 * The end, in this order: supervisor_stop (every runner is asked to end, the round under way may
 * finish); supervisor_is_stopped says whether all have; supervisor_abort ends them now;
 * supervisor_join waits for their threads; then the committer stops; then supervisor_close frees
 * (and does what was left out; NULL does nothing).
 */
void supervisor_stop(struct supervisor *s);
bool supervisor_is_stopped(struct supervisor *s);
void supervisor_abort(struct supervisor *s);
void supervisor_join(struct supervisor *s);
void supervisor_close(struct supervisor *s);

/* supervisor_reload(s): have every runner read its files again. */
void supervisor_reload(struct supervisor *s);

/* The sinks, in the order of their names. Valid until the next change. */
size_t supervisor_count(const struct supervisor *s);
const struct sink_def *supervisor_at(const struct supervisor *s, size_t i);
const struct sink_def *supervisor_find(const struct supervisor *s, struct slice name);

/* What is effective where a definition leaves it open. */
uint64_t supervisor_batch_size(const struct supervisor *s, const struct sink_def *def);
int64_t supervisor_flush_interval_ms(const struct supervisor *s, const struct sink_def *def);

/* One sink's state: its committed record, what its runner says, how many points it has yet to
 * pass. */
struct supervisor_view {
    struct store_record record;
    struct runner_view runner;
    uint64_t accepted, pending;
};
void supervisor_view(struct supervisor *s, const struct sink_def *def, struct supervisor_view *out);

/* supervisor_oldest_age(s, def, age_ms): age of the oldest pending point; false when there is
 * none. */
bool supervisor_oldest_age(struct supervisor *s, const struct sink_def *def, int64_t *age_ms);

/*
 * Changes. ${done}(arg, result, info) is called once, later, when the change is in force (or could
 * not be committed); it is not called when an error is returned at once. One change at a time:
 * ERR_BUSY otherwise.
 *
 * supervisor_create(s, def, earliest, done, arg, info): takes over ${def} (also on errors).
 * ERR_RANGE: too many.
 * supervisor_replace(s, def, done, arg, info): as ALTER: the sink of that name; takes over ${def}.
 * supervisor_drop(s, name, done, arg, info).
 * The names must be free, or taken: asserted.
 */
typedef void supervisor_done(void *arg, enum err result, const struct errinfo *info);

enum err supervisor_create(struct supervisor *s, struct sink_def *def, bool earliest,
                           supervisor_done *done, void *arg, struct errinfo *info) MUST_USE;
enum err supervisor_replace(struct supervisor *s, struct sink_def *def, supervisor_done *done,
                            void *arg, struct errinfo *info) MUST_USE;
enum err supervisor_drop(struct supervisor *s, struct slice name, supervisor_done *done, void *arg,
                         struct errinfo *info) MUST_USE;

#endif
