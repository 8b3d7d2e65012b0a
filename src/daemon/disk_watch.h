/*
 * disk_watch.h: how much room the data folder's disk has, looked at now and then ([disk]).
 *
 * Below the first threshold the log says so, once; below the second writes are refused (507) until
 * there is room again. Belongs to the loop's thread.
 */
#ifndef SINKD_DAEMON_DISK_WATCH_H
#define SINKD_DAEMON_DISK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "daemon/config.h"
#include "net/loop.h"

struct disk_watch;

/* disk_watch_open(out, loop, config, path, info): looks at once, then every check_interval_secs
 * (never when it is disabled). ERR_NOMEM. */
enum err disk_watch_open(struct disk_watch **out, struct loop *loop,
                         const struct config_disk *config, const char *path,
                         struct errinfo *info) MUST_USE;
void disk_watch_close(struct disk_watch *d); /* NULL does nothing */

bool disk_watch_is_readonly(const struct disk_watch *d);
uint64_t disk_watch_free_bytes(struct disk_watch *d); /* looks anew */
const char *disk_watch_path(const struct disk_watch *d);

#endif
