/*
 * store_drive.h: folders and bodies for the tests of the store and of what stands on it.
 */
#ifndef SINKD_SUPPORT_STORE_DRIVE_H
#define SINKD_SUPPORT_STORE_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "store/store.h"

#define STORE_DRIVE_DIR 128

/* store_drive_dir(dir): make a folder of its own for a test. store_drive_remove(dir): it and its
 * files. */
void store_drive_dir(char dir[STORE_DRIVE_DIR]);
void store_drive_remove(const char *dir);

/* store_drive_path(out, dir, name): "dir/name". */
void store_drive_path(char out[STORE_DRIVE_DIR + 64], const char *dir, const char *name);

/* store_drive_open(dir, bytes, sync, clock): an open store; the test fails without. */
struct store *store_drive_open(const char *dir, uint64_t bytes, enum store_sync sync,
                               const struct clock *clock);

/* store_drive_body(out, s, clock, first, points, pad): the chunks of a body, as the front door
 * builds them, in the emptied ${out}: "cpu,host=a v=FIRSTi,s="xxx" ns", ... Every fifth point is
 * of the measurement mem. */
void store_drive_body(struct buf *out, const struct store *s, const struct clock *clock,
                      uint64_t first, unsigned points, unsigned pad);

/* store_drive_commit_body(s, clock, points, pad): append and commit one, its lines say their
 * numbers; the result. */
enum err store_drive_commit_body(struct store *s, const struct clock *clock, unsigned points,
                                 unsigned pad);

/* store_drive_read(s, after, total): read all points above ${after}, check that each line says
 * its number; returns how many there were; ${total} adds up the scans. */
uint64_t store_drive_read(struct store *s, uint64_t after, struct store_scan *total);

/* store_drive_value(line): the number after "v=". */
uint64_t store_drive_value(struct slice line);

#endif
