/*
 * disk_watch.c: see disk_watch.h.
 */
#include "daemon/disk_watch.h"

#include <inttypes.h>
#include <sys/statvfs.h>

#include "base/log.h"
#include "base/mem.h"

#define MB 1000000u

enum level { LEVEL_OK, LEVEL_LOW, LEVEL_READONLY };

struct disk_watch {
    struct loop *loop;
    const struct config_disk *config;
    const char *path;
    struct loop_timer timer;
    enum level level;
};

uint64_t
disk_watch_free_bytes(struct disk_watch *d)
{
    struct statvfs fs;

    if (statvfs(d->path, &fs) != 0)
        return UINT64_MAX; /* cannot be told: not a reason to refuse */
    return (uint64_t)fs.f_bavail * (fs.f_frsize != 0 ? fs.f_frsize : fs.f_bsize);
}

static void
tell(const struct disk_watch *d, enum level level, uint64_t free_bytes)
{
    switch (level) {
    case LEVEL_OK:
        log_info("disk_ok", "%s has %" PRIu64 " MB free again", d->path, free_bytes / MB);
        break;
    case LEVEL_LOW:
        log_warn("disk_low", "%s has %" PRIu64 " MB free; below %" PRIu64 " MB writes are refused",
                 d->path, free_bytes / MB, d->config->readonly_threshold_mb);
        break;
    case LEVEL_READONLY:
        log_error("disk_readonly",
                  "%s has %" PRIu64 " MB free, less than %" PRIu64 " MB: writes are refused until "
                  "there is room",
                  d->path, free_bytes / MB, d->config->readonly_threshold_mb);
        break;
    }
}

static void
look(void *arg)
{
    struct disk_watch *d = arg;
    uint64_t free_bytes = disk_watch_free_bytes(d);
    enum level level = LEVEL_OK;

    if (free_bytes < d->config->readonly_threshold_mb * MB)
        level = LEVEL_READONLY;
    else if (free_bytes < d->config->warn_threshold_mb * MB)
        level = LEVEL_LOW;
    if (level != d->level)
        tell(d, level, free_bytes);
    d->level = level;
    if (loop_timer_set(d->loop, &d->timer,
                       clock_after(loop_now_ms(d->loop), d->config->check_interval_secs * 1000),
                       look, d) != ERR_OK)
        log_error("disk_watch", "no memory for a timer: the disk is not watched any more");
}

enum err
disk_watch_open(struct disk_watch **out, struct loop *loop, const struct config_disk *config,
                const char *path, struct errinfo *info)
{
    struct disk_watch *d = mem_zalloc(sizeof(*d));

    if (d == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory to watch the disk");
    d->loop = loop;
    d->config = config;
    d->path = path;
    if (config->enabled)
        look(d);
    *out = d;
    return ERR_OK;
}

void
disk_watch_close(struct disk_watch *d)
{
    if (d == NULL)
        return;
    loop_timer_clear(d->loop, &d->timer);
    mem_free(d);
}

bool
disk_watch_is_readonly(const struct disk_watch *d)
{
    return d->level == LEVEL_READONLY;
}

const char *
disk_watch_path(const struct disk_watch *d)
{
    return d->path;
}
