/*
 * test_store_faults.c: a store whose process or disk fails: kills at any moment, readers that
 * die, failed and short writes, failed header writes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/committer.h"
#include "store/lmdb_store.h"
#include "support/store_drive.h"

#define MB 1000000u

/* ---- a disk that fails: LMDB's writes come through here ---- */

static int fail_headers, fail_data; /* how many of each are to fail */

#if defined(__linux__) && defined(__LP64__) && defined(__GNUC__)
#include <sys/syscall.h>
#include <sys/uio.h>
#define CAN_FAIL_WRITES 1
long syscall(long number, ...);
/* Under their own names: headers may rename them for large files. */
ssize_t faults_pwrite(int fd, const void *p, size_t n, off_t at) __asm__("pwrite");
ssize_t faults_writev(int fd, const struct iovec *parts, int count) __asm__("writev");

static bool
fails(int *left)
{
    if (*left == 0)
        return false;
    (*left)--;
    errno = EIO;
    return true;
}

ssize_t
faults_pwrite(int fd, const void *p, size_t n, off_t at)
{
    return fails(at < 2 * 4096 ? &fail_headers : &fail_data) ? -1
                                                             : syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t
faults_writev(int fd, const struct iovec *parts, int count)
{
    return fails(&fail_data) ? -1 : syscall(SYS_writev, fd, parts, count);
}
#else
#define CAN_FAIL_WRITES 0
#endif

struct fixture {
    char dir[STORE_DRIVE_DIR];
    struct store *s;
};

static const struct clock *const clock_used = &clock_system;

static void
open_it(struct fixture *f)
{
    f->s = store_drive_open(f->dir, 16 * MB, STORE_SYNC_ALWAYS, clock_used);
}

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    store_drive_dir(f->dir);
    open_it(f);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    fail_headers = fail_data = 0;
    store_close(f->s);
    store_drive_remove(f->dir);
    free(f);
    assert_int_equal(mem_live(), 0);
    return 0;
}

/* All that the log holds. */
static uint64_t
read_points(struct store *s, struct store_scan *scan)
{
    struct store_usage usage;

    store_usage(s, &usage);
    return store_drive_read(s, usage.first_seq - 1, scan);
}

/* ---- processes ---- */

static int
wait_child(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
        ;
    return status;
}

/* A child writes and says what was committed; it is killed at any moment. */
static void
write_until_killed(const char *dir, int say)
{
    struct store *s = store_drive_open(dir, 16 * MB, STORE_SYNC_ALWAYS, clock_used);
    struct store_record r = {.sink = 1};
    struct store_usage usage;
    struct errinfo info;
    struct buf body;
    uint64_t first, points, deleted;

    buf_init(&body, MB);
    store_usage(s, &usage);
    r.start = r.cursor = usage.last_seq;
    for (;;) {
        store_usage(s, &usage);
        store_drive_body(&body, s, clock_used, usage.last_seq + 1, 30, 60);
        if (store_begin(s, &info) != ERR_OK ||
            store_append(s, buf_peek(&body), &first, &points, &info) != ERR_OK)
            _exit(1);
        r.forwarded += first + 14 - r.cursor;
        r.cursor = first + 14;
        if (store_put_record(s, &r, &info) != ERR_OK ||
            store_delete_through(s, first - 100 < first ? first - 100 : 0, 1 << 20, false, &deleted,
                                 &info) != ERR_OK ||
            store_commit(s, &info) != ERR_OK)
            _exit(1);
        store_usage(s, &usage);
        if (write(say, &usage.last_seq, sizeof(usage.last_seq)) != sizeof(usage.last_seq))
            _exit(1);
    }
}

static void
check_record(void *arg, const struct store_record *r)
{
    assert_true(store_record_adds_up(r));
    assert_int_equal(r->cursor, *(uint64_t *)arg - 15);
}

static void
kills_lose_nothing_committed(void **state)
{
    struct fixture *f = *state;
    struct timespec pause = {0, 0};
    struct store_usage usage;
    struct store_scan scan;
    struct errinfo info;
    uint64_t said, last;
    int i, ends[2];
    pid_t pid;

    store_close(f->s);
    for (i = 0; i < 15; i++) {
        assert_int_equal(pipe(ends), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            (void)close(ends[0]);
            write_until_killed(f->dir, ends[1]);
        }
        (void)close(ends[1]);
        assert_int_equal(read(ends[0], &said, sizeof(said)), sizeof(said));
        pause.tv_nsec = (long)(i * 7919 % 40) * 1000000 + i * 1237;
        (void)nanosleep(&pause, NULL);
        (void)kill(pid, SIGKILL);
        assert_true(WIFSIGNALED(wait_child(pid)));
        while (read(ends[0], &said, sizeof(said)) == sizeof(said))
            ;
        (void)close(ends[0]);
        open_it(f);
        store_usage(f->s, &usage);
        assert_true(usage.last_seq == said || usage.last_seq == said + 30);
        last = usage.last_seq;
        assert_int_equal(store_each_record(f->s, check_record, &last, &info), ERR_OK);
        assert_int_equal(read_points(f->s, &scan), usage.last_seq - usage.first_seq + 1);
        assert_int_equal(scan.damaged + scan.missing, 0);
        store_close(f->s);
    }
    open_it(f);
}

static void
readers_that_die_do_not_pin_pages(void **state)
{
    struct fixture *f = *state;
    const struct lmdb_store_options options = {f->dir, 16 * MB, false};
    struct store_usage before = {0}, after = {0};
    struct errinfo info;
    uint64_t deleted;
    char byte;
    int i, ends[2];
    pid_t pid;

    store_close(f->s);
    for (i = 0; i < 40; i++) {
        assert_int_equal(pipe(ends), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) { /* a tool that looks at the file, killed in the middle of a transaction */
            struct lmdb_store *l = NULL;
            struct lmdb_store_view *v = NULL;

            if (lmdb_store_open(&l, &options, &info) != ERR_OK ||
                lmdb_store_view_open(&v, l, &info) != ERR_OK ||
                lmdb_store_view_renew(v, &info) != ERR_OK || write(ends[1], "x", 1) != 1)
                _exit(1);
            for (;;)
                (void)pause();
        }
        assert_int_equal(read(ends[0], &byte, 1), 1);
        f->s = store_drive_open(f->dir, 16 * MB, STORE_SYNC_NONE, clock_used);
        (void)kill(pid, SIGKILL);
        (void)wait_child(pid);
        (void)close(ends[0]);
        (void)close(ends[1]);
        store_close(f->s);
        f->s = store_drive_open(f->dir, 16 * MB, STORE_SYNC_NONE, clock_used);
        assert_int_equal(store_drive_commit_body(f->s, clock_used, 500, 100), ERR_OK);
        assert_int_equal(store_begin(f->s, &info), ERR_OK);
        assert_int_equal(store_delete_through(f->s, UINT64_MAX, MB, false, &deleted, &info),
                         ERR_OK);
        assert_int_equal(store_commit(f->s, &info), ERR_OK);
        store_usage(f->s, &after);
        if (i == 5)
            before = after;
        store_close(f->s);
    }
    assert_true(after.file_bytes <= before.file_bytes + 100000);
    open_it(f);
}

/* ---- a disk that fails ---- */

static void
a_failed_write_fails_one_commit(void **state)
{
    struct fixture *f = *state;
    struct store_scan scan;
    struct store_usage usage;
    int i;

    if (!CAN_FAIL_WRITES)
        skip();
    for (i = 0; i < 10; i++) {
        assert_int_equal(store_drive_commit_body(f->s, clock_used, 10, 10), ERR_OK);
        store_usage(f->s, &usage);
        fail_data = 1;
        assert_int_equal(store_drive_commit_body(f->s, clock_used, 10, 10), ERR_IO);
        fail_data = 0;
        assert_int_equal(read_points(f->s, &scan), usage.last_seq);
    }
    assert_int_equal(usage.last_seq, 100);
}

static void
a_failed_header_reopens_the_store(void **state)
{
    struct fixture *f = *state;
    struct store_reader *r = NULL;
    struct store_scan scan;
    struct store_usage usage;
    struct batch batch;
    struct errinfo info;
    int i;

    if (!CAN_FAIL_WRITES)
        skip();
    batch_init(&batch);
    assert_int_equal(store_reader_open(&r, f->s, &info), ERR_OK);
    for (i = 0; i < 10; i++) {
        assert_int_equal(store_drive_commit_body(f->s, clock_used, 10, 10), ERR_OK);
        batch_clear(&batch);
        assert_int_equal(store_read(r, 0, NULL, 10, MB, &batch, &scan, &info), ERR_OK);
        fail_headers = 1;
        assert_int_equal(store_drive_commit_body(f->s, clock_used, 10, 10), ERR_IO);
        fail_headers = 0;
    }
    assert_int_equal(store_drive_commit_body(f->s, clock_used, 10, 10), ERR_OK);
    batch_clear(&batch);
    assert_int_equal(store_read(r, 0, NULL, 1000, MB, &batch, &scan, &info), ERR_OK);
    store_usage(f->s, &usage);
    assert_int_equal(batch.count, usage.last_seq);
    assert_true(usage.last_seq >= 110);
    store_reader_close(r);
    batch_free(&batch);
    assert_int_equal(read_points(f->s, &scan), usage.last_seq);
}

/* The disk is full: as a limit on file sizes, which any user may set. In a child, for it stays. */
static int
fill_limited(const char *dir)
{
    const struct rlimit limit = {2 * MB, 2 * MB};
    struct store *s;
    struct store_usage usage;
    struct store_scan scan;
    struct errinfo info;
    uint64_t deleted, last;
    enum err err;
    int i;

    (void)signal(SIGXFSZ, SIG_IGN);
    s = store_drive_open(dir, 16 * MB, STORE_SYNC_ALWAYS, clock_used);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 2;
    while ((err = store_drive_commit_body(s, clock_used, 500, 100)) == ERR_OK)
        ;
    if (err != ERR_IO)
        return 3;
    store_usage(s, &usage);
    last = usage.last_seq;
    if (last < 1000 || read_points(s, &scan) != last)
        return 4;
    for (i = 0; i < 30; i++) { /* it can be drained, then written again */
        store_usage(s, &usage);
        if (store_begin(s, &info) != ERR_OK ||
            store_delete_through(s, usage.first_seq + 500, 256 * 1024, false, &deleted, &info) !=
                ERR_OK ||
            store_commit(s, &info) != ERR_OK)
            return 5;
    }
    store_usage(s, &usage);
    if (usage.first_seq < last / 2 || store_drive_commit_body(s, clock_used, 500, 100) != ERR_OK)
        return 6;
    store_close(s);
    s = store_drive_open(dir, 16 * MB, STORE_SYNC_ALWAYS, clock_used);
    store_usage(s, &usage);
    if (usage.last_seq != last + 500 ||
        read_points(s, &scan) != usage.last_seq - usage.first_seq + 1)
        return 7;
    store_close(s);
    return 0;
}

static void
a_full_disk_refuses_and_recovers(void **state)
{
    struct fixture *f = *state;
    pid_t pid;

    store_close(f->s);
    f->s = NULL;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(fill_limited(f->dir));
    assert_int_equal(wait_child(pid), 0);
    open_it(f);
}

/* ---- the committer over a failing disk ---- */

static enum err last_result;
static bool answered;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void
note(enum err result)
{
    (void)pthread_mutex_lock(&mutex);
    last_result = result;
    answered = true;
    (void)pthread_cond_signal(&cond);
    (void)pthread_mutex_unlock(&mutex);
}

static void
body_done(struct committer_body *body, enum err result, const struct errinfo *info)
{
    (void)body;
    assert_true(result == ERR_OK || info->text[0] != '\0');
    note(result);
}

static void
change_done(struct committer_change *change, enum err result, const struct errinfo *info)
{
    (void)change;
    (void)info;
    note(result);
}

static enum err
wait_answer(void)
{
    enum err result;

    (void)pthread_mutex_lock(&mutex);
    while (!answered)
        (void)pthread_cond_wait(&cond, &mutex);
    answered = false;
    result = last_result;
    (void)pthread_mutex_unlock(&mutex);
    return result;
}

static void
the_committer_survives_failed_commits(void **state)
{
    struct fixture *f = *state;
    const struct committer_options options = {
        .clock = clock_used, .queue_max_bytes = MB, .cursor_delay_ms = 3600000};
    const struct committer_op create = {.kind = COMMITTER_SINK_CREATE, .sink = 1, .earliest = true};
    struct committer_change change = {.ops = &create, .count = 1, .done = change_done};
    struct committer_step step = {.sink = 1, .to = 5, .forwarded = 5};
    struct committer_stats stats;
    struct committer_body body = {.done = body_done};
    struct committer *c = NULL;
    struct store_record committed, now;
    struct buf chunks;
    struct errinfo info;

    if (!CAN_FAIL_WRITES)
        skip();
    buf_init(&chunks, MB);
    store_drive_body(&chunks, f->s, clock_used, 1, 10, 10);
    body.chunks = buf_peek(&chunks);
    fail_data = 1; /* set while the thread does not run or waits */
    assert_int_equal(committer_start(&c, f->s, &options, &info), ERR_OK);
    committer_change(c, &change);
    assert_int_equal(wait_answer(), ERR_IO);
    assert_int_equal(committer_record(c, 1, NULL, &now), ERR_EOF);
    committer_change(c, &change);
    assert_int_equal(wait_answer(), ERR_OK);
    assert_int_equal(committer_append(c, &body), ERR_OK);
    assert_int_equal(wait_answer(), ERR_OK);
    assert_int_equal(committer_step(c, &step, &now), ERR_OK);
    fail_headers = 1;
    assert_int_equal(committer_append(c, &body), ERR_OK);
    assert_int_equal(wait_answer(), ERR_IO);
    committer_stats(c, &stats);
    assert_int_equal(stats.failed_commits, 2);
    assert_int_equal(stats.last_error.code, ERR_IO);
    assert_int_equal(committer_record(c, 1, &committed, &now), ERR_OK);
    assert_int_equal(committed.cursor, 0);
    assert_int_equal(now.cursor, 5); /* the step is not lost: the next commit takes it */
    assert_int_equal(committer_append(c, &body), ERR_OK);
    assert_int_equal(wait_answer(), ERR_OK);
    assert_int_equal(committer_record(c, 1, &committed, &now), ERR_OK);
    assert_int_equal(committed.cursor, 5);
    committer_stats(c, &stats);
    assert_int_equal(stats.last_error.code, ERR_OK);
    committer_stop(c);
    buf_free(&chunks);
}

/* Nobody may be sending: what asks for the daemon's health decides who sends. */
static void
a_disk_that_works_again_is_noticed_without_writers(void **state)
{
    struct fixture *f = *state;
    const struct committer_options options = {.clock = clock_used, .queue_max_bytes = MB};
    struct committer_body body = {.done = body_done};
    struct committer_stats stats = {0};
    struct committer *c = NULL;
    struct buf chunks;
    struct errinfo info;
    int i;

    if (!CAN_FAIL_WRITES)
        skip();
    buf_init(&chunks, MB);
    store_drive_body(&chunks, f->s, clock_used, 1, 10, 10);
    body.chunks = buf_peek(&chunks);
    fail_headers = 1;
    assert_int_equal(committer_start(&c, f->s, &options, &info), ERR_OK);
    assert_int_equal(committer_append(c, &body), ERR_OK);
    assert_int_equal(wait_answer(), ERR_IO);
    for (i = 0; i < 500 && stats.commits == 0; i++) {
        (void)nanosleep(&(struct timespec){0, 10000000}, NULL);
        committer_stats(c, &stats);
    }
    assert_int_equal(stats.commits, 1);
    assert_int_equal(stats.last_error.code, ERR_OK);
    committer_stop(c);
    buf_free(&chunks);
}

/* More than those of one interval must not hang on a disk that fails. */
static void
nothing_is_taken_on_trust_while_commits_fail(void **state)
{
    struct fixture *f = *state;
    const struct committer_options options = {.clock = clock_used,
                                              .sync = STORE_SYNC_INTERVAL,
                                              .sync_interval_ms = 20,
                                              .queue_max_bytes = MB};
    struct committer_body body = {.done = body_done};
    struct committer_stats stats = {0};
    struct committer *c = NULL;
    struct store_usage usage;
    struct buf chunks;
    struct errinfo info;
    int i;

    if (!CAN_FAIL_WRITES)
        skip();
    buf_init(&chunks, MB);
    store_drive_body(&chunks, f->s, clock_used, 1, 10, 10);
    body.chunks = buf_peek(&chunks);
    fail_headers = 4; /* two commits: after a header LMDB tries to put the old one back */
    assert_int_equal(committer_start(&c, f->s, &options, &info), ERR_OK);
    assert_int_equal(committer_append(c, &body), ERR_OK);
    assert_int_equal(wait_answer(), ERR_OK); /* it waits in memory */
    for (i = 0; i < 500 && stats.failed_commits == 0; i++) {
        (void)nanosleep(&(struct timespec){0, 1000000}, NULL);
        committer_stats(c, &stats);
    }
    assert_int_equal(committer_append(c, &body), ERR_OK);
    assert_int_equal(wait_answer(), ERR_IO);
    assert_int_equal(committer_append(c, &body), ERR_OK);
    assert_int_equal(wait_answer(), ERR_OK);
    committer_stop(c);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 20);
    buf_free(&chunks);
}

static void
a_log_that_cannot_be_written_at_the_start_is_told_as_it_is(void **state)
{
    struct fixture *f = *state;
    struct store_usage usage;

    if (!CAN_FAIL_WRITES)
        skip();
    assert_int_equal(store_drive_commit_body(f->s, clock_used, 30, 10), ERR_OK);
    store_close(f->s);
    fail_headers = 1;
    open_it(f);
    assert_int_equal(fail_headers, 0);
    store_usage(f->s, &usage);
    assert_int_equal(usage.first_seq, 1);
    assert_int_equal(usage.last_seq, 30);
    assert_true(usage.map_bytes > 15 * MB && usage.used_bytes > 0 && usage.room_bytes > 0);
    assert_int_equal(store_drive_commit_body(f->s, clock_used, 30, 10), ERR_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kills_lose_nothing_committed, setup, teardown),
        cmocka_unit_test_setup_teardown(readers_that_die_do_not_pin_pages, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_write_fails_one_commit, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_header_reopens_the_store, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_refuses_and_recovers, setup, teardown),
        cmocka_unit_test_setup_teardown(the_committer_survives_failed_commits, setup, teardown),
        cmocka_unit_test_setup_teardown(a_disk_that_works_again_is_noticed_without_writers, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nothing_is_taken_on_trust_while_commits_fail, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_log_that_cannot_be_written_at_the_start_is_told_as_it_is,
                                        setup, teardown),
    };

    return cmocka_run_group_tests_name("store_faults", tests, NULL, NULL);
}
