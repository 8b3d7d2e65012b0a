/*
 * bench_store.c: what the store costs: bodies of 5,000 lines and of one line through the
 * committer, with a sync and without, alone and with many waiting at once; reading it all back; a
 * log that hovers at full. "bench_store [FOLDER]": the folder decides which disk is measured.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "store/committer.h"
#include "support/store_drive.h"

#define CLIENTS_MAX 64

static struct store *s;
static struct committer *c;
static struct committer_body bodies[CLIENTS_MAX];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned back[CLIENTS_MAX], back_count;

static double
now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
done(struct committer_body *body, enum err result, const struct errinfo *info)
{
    if (result != ERR_OK)
        (void)printf("  %s: %s\n", err_name(result), info == NULL ? "" : info->text);
    (void)pthread_mutex_lock(&mutex);
    back[back_count++] = (unsigned)(body - bodies);
    (void)pthread_cond_signal(&cond);
    (void)pthread_mutex_unlock(&mutex);
}

/* So many clients, each with one body on its way, for about ${seconds}. */
static void
append(const char *what, unsigned clients, struct slice chunks, unsigned points, size_t line_bytes,
       double seconds)
{
    struct committer_stats before, after;
    struct committer_step step = {.sink = 1};
    struct store_record now;
    struct store_usage usage;
    uint64_t sent = 0;
    double began = now_s(), took;
    unsigned i, open = 0;

    committer_stats(c, &before);
    for (i = 0; i < clients; i++)
        back[i] = i;
    back_count = clients;
    for (;;) {
        (void)pthread_mutex_lock(&mutex);
        while (back_count == 0)
            (void)pthread_cond_wait(&cond, &mutex);
        i = back[--back_count];
        (void)pthread_mutex_unlock(&mutex);
        if (sent >= clients)
            open--;
        if (now_s() - began > seconds)
            break;
        bodies[i] = (struct committer_body){.chunks = chunks, .done = done};
        if (committer_append(c, &bodies[i]) != ERR_OK)
            break;
        open++;
        sent++;
        if (sent % 16 == 0) { /* a sink that keeps up */
            store_usage(s, &usage);
            if (committer_record(c, 1, NULL, &now) == ERR_OK && usage.last_seq > now.cursor) {
                step.from = now.cursor;
                step.to = usage.last_seq;
                step.forwarded = step.to - step.from;
                if (committer_step(c, &step, &now) != ERR_OK) /* some were dropped meanwhile */
                    step.from = now.cursor;
            }
        }
    }
    while (open > 0) {
        (void)pthread_mutex_lock(&mutex);
        while (back_count == 0)
            (void)pthread_cond_wait(&cond, &mutex);
        back_count--;
        open--;
        (void)pthread_mutex_unlock(&mutex);
    }
    took = now_s() - began;
    committer_stats(c, &after);
    (void)printf("%-44s %8.0f bodies/s %10.0f points/s %7.1f MB/s  %6.2f bodies a commit\n", what,
                 (double)sent / took, (double)(sent * points) / took,
                 (double)sent * (double)line_bytes / 1e6 / took,
                 (double)sent / (double)(after.commits - before.commits));
}

static void
read_back(void)
{
    struct store_reader *r = NULL;
    struct store_scan scan;
    struct store_usage usage;
    struct batch batch;
    struct errinfo info;
    uint64_t points = 0, bytes = 0, at;
    double began = now_s(), took;

    store_usage(s, &usage);
    at = usage.first_seq - 1;
    if (store_reader_open(&r, s, &info) != ERR_OK)
        return;
    batch_init(&batch);
    while (at < usage.last_seq && now_s() - began < 3) {
        batch_clear(&batch);
        if (store_read(r, at, NULL, 1000, 1000000, &batch, &scan, &info) != ERR_OK)
            break;
        points += batch.count;
        bytes += batch_bytes(&batch);
        at = scan.passed;
    }
    took = now_s() - began;
    (void)printf("%-44s %8s          %10.0f points/s %7.1f MB/s\n", "read in batches of 1000", "",
                 (double)points / took, (double)bytes / 1e6 / took);
    batch_free(&batch);
    store_reader_close(r);
}

static void
run(const char *dir, enum store_sync sync, uint64_t bytes, bool sink, const char *name)
{
    static const struct committer_op create = {
        .kind = COMMITTER_SINK_CREATE, .sink = 1, .earliest = true, .may_lose = true};
    struct committer_options options = {.clock = &clock_system,
                                        .sync = sync,
                                        .sync_interval_ms = 1000,
                                        .cursor_delay_ms = 1000,
                                        .queue_max_bytes = 64u << 20};
    struct buf large, small;
    struct errinfo info = {0};
    char what[64];

    s = store_drive_open(dir, bytes, sync, &clock_system);
    if (sink) {
        struct store_record record = {.sink = create.sink};

        if (store_begin(s, &info) != ERR_OK || store_put_record(s, &record, &info) != ERR_OK ||
            store_commit(s, &info) != ERR_OK)
            exit(1);
    }
    if (committer_start(&c, s, &options, &info) != ERR_OK)
        exit(1);
    committer_set_policy(c, 1, true);
    buf_init(&large, 64u << 20);
    buf_init(&small, 64u << 20);
    store_drive_body(&large, s, &clock_system, 1000000, 5000, 80);
    store_drive_body(&small, s, &clock_system, 1000000, 1, 80);
    (void)snprintf(what, sizeof(what), "%s: 5,000 lines, 1 client", name);
    append(what, 1, buf_peek(&large), 5000, 600000, 2);
    (void)snprintf(what, sizeof(what), "%s: 5,000 lines, 16 clients", name);
    append(what, 16, buf_peek(&large), 5000, 600000, 2);
    (void)snprintf(what, sizeof(what), "%s: one line, 1 client", name);
    append(what, 1, buf_peek(&small), 1, 120, 1);
    (void)snprintf(what, sizeof(what), "%s: one line, 64 clients", name);
    append(what, 64, buf_peek(&small), 1, 120, 2);
    if (!sink)
        read_back();
    committer_stop(c);
    store_close(s);
    buf_free(&large);
    buf_free(&small);
    store_drive_remove(dir);
}

int
main(int argc, char **argv)
{
    char dir[STORE_DRIVE_DIR];

    if (argc > 1 && setenv("TMPDIR", argv[1], 1) != 0)
        return 1;
    store_drive_dir(dir);
    run(dir, STORE_SYNC_ALWAYS, 512000000, true, "always");
    run(dir, STORE_SYNC_INTERVAL, 512000000, true, "interval");
    run(dir, STORE_SYNC_NONE, 512000000, false, "none, no sink, full");
    run(dir, STORE_SYNC_NONE, 64000000, true, "none, 64 MB, drained");
    return 0;
}
