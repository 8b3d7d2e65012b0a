/*
 * committer_drive.h: a store with a committer in front, driven step by step by tests.
 * For cmocka tests: what cannot go wrong fails the test.
 */
#ifndef SINKD_SUPPORT_COMMITTER_DRIVE_H
#define SINKD_SUPPORT_COMMITTER_DRIVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "store/committer.h"
#include "support/store_drive.h"

/* A clock that two threads may look at. */
struct committer_drive_clock {
    struct clock clock;
    pthread_mutex_t mutex;
    int64_t mono, wall;
    bool real; /* the monotonic time is the system's, with mono added */
};

struct committer_drive {
    char dir[STORE_DRIVE_DIR];
    struct committer_drive_clock time;
    struct store *s;
    struct committer *c;
    struct committer_options options;
};

/* A body or a change on its way. */
struct committer_drive_sent {
    struct committer_body body;
    struct committer_change change;
    struct buf chunks;
    bool done;
    enum err result;
};

/* setup and teardown are cmocka's: a folder, options with sync = always, nothing running. */
int committer_drive_setup(void **state);
int committer_drive_teardown(void **state);

/* start(f, bytes): open the store and start the committer with f->options. stop(f): both down
 * again. */
void committer_drive_start(struct committer_drive *f, uint64_t bytes);
void committer_drive_stop(struct committer_drive *f);

void committer_drive_advance(struct committer_drive_clock *c, int64_t mono_ms, int64_t wall_ns);
void committer_drive_sleep_ms(long ms);

/* prepare: a body of its own chunks, ready to be appended. wait_for: its answer. write_points:
 * all of that; the lines say their numbers when nobody else writes. */
void committer_drive_prepare(struct committer_drive *f, struct committer_drive_sent *sent,
                             uint64_t first, unsigned points, unsigned pad);
enum err committer_drive_wait_for(struct committer_drive_sent *sent);
enum err committer_drive_write_points(struct committer_drive *f, unsigned points, unsigned pad);

enum err committer_drive_apply(struct committer_drive *f, const struct committer_op *ops,
                               size_t count);
void committer_drive_create(struct committer_drive *f, uint32_t id, bool earliest, bool may_lose);

/* record: as it will be; both forms of it add up. forward: a step that delivered all. settle:
 * wait until the record is committed as it is now. */
struct store_record committer_drive_record(struct committer_drive *f, uint32_t id);
enum err committer_drive_forward(struct committer_drive *f, uint32_t id, uint64_t from,
                                 uint64_t to);
void committer_drive_settle(struct committer_drive *f, uint32_t id);

/* All points from there on are in the log, and each one's line has its number in it. */
void committer_drive_assert_reads(struct committer_drive *f, uint64_t after);

#endif
