/*
 * test_store_lmdb.c: the store on a disk: what is committed reads back, numbers never start again,
 * a full map does not wedge, and a folder in any state is opened or refused in words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/wire.h"
#include "store/lmdb_store.h"
#include "store/store_internal.h"
#include "support/fake_clock.h"
#include "support/store_drive.h"

#define MB 1000000u

struct fixture {
    char dir[STORE_DRIVE_DIR];
    struct fake_clock time;
    const struct clock *clock;
    struct store *s;
};

static void
open_it(struct fixture *f, uint64_t bytes)
{
    f->s = store_drive_open(f->dir, bytes, STORE_SYNC_NONE, f->clock);
}

static void
reopen(struct fixture *f, uint64_t bytes)
{
    store_close(f->s);
    open_it(f, bytes);
}

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    store_drive_dir(f->dir);
    fake_clock_init(&f->time, 1000, INT64_C(1700000000000000000));
    f->clock = &f->time.clock;
    open_it(f, 16 * MB);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    store_close(f->s);
    store_drive_remove(f->dir);
    free(f);
    assert_int_equal(mem_live(), 0);
    return 0;
}

static void
delete_through(struct store *s, uint64_t seq)
{
    struct errinfo info;
    uint64_t deleted = 1;

    while (deleted > 0) {
        assert_int_equal(store_begin(s, &info), ERR_OK);
        assert_int_equal(store_delete_through(s, seq, 256 * 1024, false, &deleted, &info), ERR_OK);
        assert_int_equal(store_commit(s, &info), ERR_OK);
    }
}

static void
what_is_appended_reads_back(void **state)
{
    struct fixture *f = *state;
    struct store_scan scan;

    assert_true(store_is_new(f->s));
    assert_int_equal(store_run(f->s), 1);
    assert_int_equal(store_drive_commit_body(f->s, f->clock, 1, 0), ERR_OK);
    assert_int_equal(store_drive_commit_body(f->s, f->clock, 1000, 20), ERR_OK);
    assert_int_equal(store_drive_commit_body(f->s, f->clock, 3, 9000),
                     ERR_OK); /* over a page each */
    assert_int_equal(store_drive_read(f->s, 0, &scan), 1004);
    assert_int_equal(scan.damaged + scan.missing, 0);
    assert_int_equal(store_drive_read(f->s, 500, &scan), 504);
    assert_int_equal(store_drive_read(f->s, 1003, &scan), 1);
    assert_int_equal(store_drive_read(f->s, 1004, &scan), 0);
    reopen(f, 16 * MB);
    assert_false(store_is_new(f->s));
    assert_int_equal(store_run(f->s), 2);
    assert_int_equal(store_drive_read(f->s, 0, &scan), 1004);
}

static void
an_aborted_body_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    struct store_usage usage;
    struct store_scan scan;
    struct errinfo info;
    struct buf body;
    uint64_t first, points;

    buf_init(&body, MB);
    store_drive_body(&body, f->s, f->clock, 1, 100, 50);
    assert_int_equal(store_begin(f->s, &info), ERR_OK);
    assert_int_equal(store_append(f->s, buf_peek(&body), &first, &points, &info), ERR_OK);
    store_abort(f->s);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 0);
    assert_int_equal(store_begin(f->s, &info), ERR_OK);
    assert_int_equal(store_append(f->s, slice_from(buf_peek(&body), 1), &first, &points, &info),
                     ERR_BAD);
    assert_int_equal(store_append(f->s, slice_make("", 0), &first, &points, &info), ERR_BAD);
    store_abort(f->s);
    buf_free(&body);
    assert_int_equal(store_drive_commit_body(f->s, f->clock, 10, 50), ERR_OK);
    assert_int_equal(store_drive_read(f->s, 0, &scan), 10);
}

static bool
is_mem(void *arg, struct slice name)
{
    unsigned *asked = arg;

    (*asked)++;
    return slice_eq(name, SLICE("mem"));
}

static bool
no_database(void *arg, struct slice database)
{
    (void)arg;
    assert_true(slice_eq(database, SLICE("telegraf")));
    return false;
}

static void
a_reader_takes_only_what_is_wanted(void **state)
{
    struct fixture *f = *state;
    struct store_reader *r = NULL;
    struct store_scan scan;
    struct batch batch;
    struct errinfo info;
    unsigned asked = 0;
    struct store_want mem = {NULL, is_mem, &asked}, none = {no_database, NULL, NULL};

    assert_int_equal(store_drive_commit_body(f->s, f->clock, 1000, 20), ERR_OK);
    assert_int_equal(store_reader_open(&r, f->s, &info), ERR_OK);
    batch_init(&batch);
    assert_int_equal(store_read(r, 0, &mem, 1000, MB, &batch, &scan, &info), ERR_OK);
    assert_int_equal(batch.count, 200);
    assert_int_equal(scan.passed, 1000);
    assert_int_equal(scan.end, STORE_SCAN_END);
    assert_int_equal(batch_point(&batch, 0).seq, 5);
    assert_int_equal(batch_point(&batch, 199).seq, 1000);
    assert_true(slice_eq(batch_point(&batch, 7).measurement, SLICE("mem")));
    assert_true(slice_eq(batch_point(&batch, 7).database, SLICE("telegraf")));
    assert_true(asked <= 2 * 60); /* once a chunk and measurement */

    batch_clear(&batch);
    assert_int_equal(store_read(r, 0, &none, 1000, MB, &batch, &scan, &info), ERR_OK);
    assert_int_equal(batch.count, 0);
    assert_int_equal(scan.passed, 1000);

    /* Bounds: the count, then the bytes; the first always goes in; a second call adds to it. */
    assert_int_equal(store_read(r, 10, NULL, 7, MB, &batch, &scan, &info), ERR_OK);
    assert_int_equal(batch.count, 7);
    assert_int_equal(scan.passed, 17);
    assert_int_equal(store_read(r, 17, NULL, 9, MB, &batch, &scan, &info), ERR_OK);
    assert_int_equal(batch.count, 9);
    assert_int_equal(scan.passed, 19);
    batch_clear(&batch);
    assert_int_equal(store_read(r, 10, NULL, 100, 1, &batch, &scan, &info), ERR_OK);
    assert_int_equal(batch.count, 1);
    assert_int_equal(scan.passed, 11);
    assert_int_equal(scan.end, STORE_SCAN_FULL);
    batch_free(&batch);
    store_reader_close(r);
}

static void
ages_are_by_uptime_unless_both_clocks_are_set(void **state)
{
    struct fixture *f = *state;
    struct store_reader *r = NULL;
    struct errinfo info;
    int64_t age = -1;

    assert_int_equal(store_drive_commit_body(f->s, f->clock, 1, 0), ERR_OK);
    assert_int_equal(store_reader_open(&r, f->s, &info), ERR_OK);
    fake_clock_advance(&f->time, 5000);
    f->time.wall_ns += INT64_C(86400000000000); /* a clock that is set */
    assert_true(store_age(r, 0, &age));
    assert_int_equal(age, 5000);
    assert_false(store_age(r, 1, &age));
    store_reader_close(r);

    reopen(f, 16 * MB); /* another run: the difference of the set clocks */
    assert_int_equal(store_reader_open(&r, f->s, &info), ERR_OK);
    assert_true(store_age(r, 0, &age));
    assert_int_equal(age, 5000 + 86400000);
    f->time.wall_ns = 1000; /* 1970: as old as this run */
    fake_clock_advance(&f->time, 77);
    assert_true(store_age(r, 0, &age));
    assert_int_equal(age, 77);
    f->time.wall_ns = INT64_C(1600000000000000000); /* set back before the points: not negative */
    assert_true(store_age(r, 0, &age));
    assert_int_equal(age, 0);
    store_reader_close(r);
}

static void
an_emptied_log_goes_on_counting(void **state)
{
    struct fixture *f = *state;
    struct store_usage usage;
    struct store_scan scan;
    int i;

    for (i = 1; i <= 3; i++) {
        assert_int_equal(store_drive_commit_body(f->s, f->clock, 100, 20), ERR_OK);
        delete_through(f->s, UINT64_MAX);
        reopen(f, 16 * MB);
        store_usage(f->s, &usage);
        assert_int_equal(usage.last_seq, 100 * i);
        assert_int_equal(usage.first_seq, 100 * i + 1);
    }
    assert_int_equal(store_drive_commit_body(f->s, f->clock, 5, 20), ERR_OK);
    assert_int_equal(store_drive_read(f->s, 300, &scan), 5);
    assert_int_equal(store_drive_read(f->s, 250, &scan), 5);
    assert_int_equal(scan.missing, 50);
}

/* A batch never holds points from both sides of a gap: what is not in it was filtered. */
static void
points_are_not_mixed_with_gaps(void **state)
{
    struct fixture *f = *state;
    struct store_reader *r = NULL;
    struct store_scan scan;
    struct batch batch;
    struct errinfo info;

    assert_int_equal(store_drive_commit_body(f->s, f->clock, 100, 20), ERR_OK);
    assert_int_equal(store_drive_commit_body(f->s, f->clock, 10, 20), ERR_OK);
    delete_through(f->s, 100);
    assert_int_equal(store_reader_open(&r, f->s, &info), ERR_OK);
    batch_init(&batch);
    assert_int_equal(store_read(r, 50, NULL, 99, MB, &batch, &scan, &info), ERR_OK);
    assert_int_equal(scan.missing, 50);
    assert_int_equal(scan.passed, 100);
    assert_int_equal(scan.end, STORE_SCAN_MORE);
    assert_int_equal(batch.count, 0);
    assert_int_equal(store_read(r, 100, NULL, 99, MB, &batch, &scan, &info), ERR_OK);
    assert_int_equal(batch.count, 10);
    assert_int_equal(scan.end, STORE_SCAN_END);
    assert_int_equal(store_read(r, 50, NULL, 99, MB, &batch, &scan, &info), ERR_OK);
    assert_int_equal(scan.passed, 50); /* it is not empty now */
    assert_int_equal(scan.end, STORE_SCAN_FULL);
    delete_through(f->s, 110);
    batch_clear(&batch);
    assert_int_equal(store_read(r, 105, NULL, 99, MB, &batch, &scan, &info), ERR_OK);
    assert_int_equal(scan.missing, 5);
    assert_int_equal(scan.end, STORE_SCAN_END);
    batch_free(&batch);
    store_reader_close(r);
}

static void
only_whole_passed_chunks_are_deleted(void **state)
{
    struct fixture *f = *state;
    struct store_usage usage;
    struct store_scan scan;

    assert_int_equal(store_drive_commit_body(f->s, f->clock, 100, 0), ERR_OK);
    assert_int_equal(store_drive_commit_body(f->s, f->clock, 100, 0), ERR_OK);
    store_usage(f->s, &usage);
    delete_through(f->s, 99);
    store_usage(f->s, &usage);
    assert_true(usage.first_seq <= 100);
    assert_int_equal(store_drive_read(f->s, usage.first_seq - 1, &scan), 201 - usage.first_seq);
    delete_through(f->s, 100);
    store_usage(f->s, &usage);
    assert_int_equal(usage.first_seq, 101);
}

/* ---- records and definitions ---- */

static void
collect_record(void *arg, const struct store_record *r)
{
    struct store_record *out = arg;

    out[r->sink] = *r;
}

static void
collect_meta(void *arg, struct slice key, struct slice value)
{
    struct buf *out = arg;

    assert_int_equal(buf_add(out, key), ERR_OK);
    assert_int_equal(buf_add_byte(out, '='), ERR_OK);
    assert_int_equal(buf_add(out, value), ERR_OK);
    assert_int_equal(buf_add_byte(out, ' '), ERR_OK);
}

static void
put_definitions(struct store *s)
{
    struct store_record one = {.sink = 1, .start = 0, .cursor = 0, .retries = 9};
    struct store_record three = {.sink = 3};
    struct errinfo info;

    assert_int_equal(store_begin(s, &info), ERR_OK);
    assert_int_equal(store_put_record(s, &one, &info), ERR_OK);
    assert_int_equal(store_put_record(s, &three, &info), ERR_OK);
    assert_int_equal(store_put_meta(s, SLICE("meta_sink:a"), SLICE("first"), &info), ERR_OK);
    assert_int_equal(store_put_meta(s, SLICE("meta_sink:b"), SLICE("second"), &info), ERR_OK);
    assert_int_equal(store_put_meta(s, SLICE("meta_user:x"), SLICE("third"), &info), ERR_OK);
    assert_int_equal(store_commit(s, &info), ERR_OK);
}

static void
assert_definitions(struct store *s, const char *prefix, const char *wanted)
{
    struct buf out;
    struct errinfo info;

    buf_init(&out, 1000);
    assert_int_equal(store_each_meta(s, slice_of(prefix), collect_meta, &out, &info), ERR_OK);
    assert_int_equal(buf_add_byte(&out, 0), ERR_OK);
    assert_string_equal((const char *)buf_peek(&out).p, wanted);
    buf_free(&out);
}

static void
records_and_definitions_are_kept(void **state)
{
    struct fixture *f = *state;
    struct store_record got[8] = {{0}};
    struct errinfo info;

    assert_int_equal(store_next_sink(f->s), 1);
    put_definitions(f->s);
    reopen(f, 16 * MB);
    assert_int_equal(store_next_sink(f->s), 4);
    assert_int_equal(store_each_record(f->s, collect_record, got, &info), ERR_OK);
    assert_int_equal(got[1].retries, 9);
    assert_int_equal(got[2].sink, 0);
    assert_int_equal(got[3].sink, 3);
    assert_definitions(f->s, "meta_sink:", "meta_sink:a=first meta_sink:b=second ");
    assert_definitions(f->s, "", "meta_sink:a=first meta_sink:b=second meta_user:x=third ");
    assert_int_equal(store_begin(f->s, &info), ERR_OK);
    assert_int_equal(store_delete_record(f->s, 3, &info), ERR_OK);
    assert_int_equal(store_delete_meta(f->s, SLICE("meta_sink:a"), &info), ERR_OK);
    assert_int_equal(store_delete_meta(f->s, SLICE("meta_sink:gone"), &info), ERR_OK);
    assert_int_equal(store_commit(f->s, &info), ERR_OK);
    reopen(f, 16 * MB);
    assert_definitions(f->s, "meta_sink:", "meta_sink:b=second ");
    assert_int_equal(store_next_sink(f->s), 4); /* an id never comes again */
}

/* ---- room ---- */

/* Fills the log with bodies of ${points} points until it is full; how many went in. */
static unsigned
fill(struct fixture *f, unsigned points, unsigned pad)
{
    unsigned bodies = 0;
    enum err err;

    while ((err = store_drive_commit_body(f->s, f->clock, points, pad)) == ERR_OK)
        bodies++;
    assert_int_equal(err, ERR_FULL);
    return bodies;
}

static void
the_smallest_map_hovers_at_full(void **state)
{
    struct fixture *f = *state;
    struct store_usage usage;
    struct store_scan scan;
    unsigned round, refused = 0, pads[] = {0, 60, 700, 1500, 3900};

    store_close(f->s);
    store_drive_remove(f->dir);
    open_it(f, 4 * MB);
    assert_true(fill(f, 100, 60) > 100);
    for (round = 0; round < 3000; round++) {
        enum err err = store_drive_commit_body(f->s, f->clock, 1 + round % 40, pads[round % 5]);

        if (err == ERR_OK)
            continue;
        assert_int_equal(err, ERR_FULL); /* never LMDB's own */
        refused++;
        store_usage(f->s, &usage);
        delete_through(f->s, usage.first_seq + (usage.last_seq - usage.first_seq) / 50);
    }
    assert_true(refused > 100);
    store_usage(f->s, &usage);
    assert_true(usage.file_bytes <= 4 * MB);
    assert_int_equal(store_drive_read(f->s, usage.first_seq - 1, &scan),
                     usage.last_seq - usage.first_seq + 1);
    delete_through(f->s, UINT64_MAX);
    assert_true(fill(f, 100, 60) > 100);
}

static uint64_t
file_size(const struct fixture *f)
{
    char path[STORE_DRIVE_DIR + 64];
    struct stat file;

    store_drive_path(path, f->dir, "data.mdb");
    assert_int_equal(stat(path, &file), 0);
    return (uint64_t)file.st_size;
}

/* Small commits find the file long enough; nothing goes past the map, and what was written ahead is
 * used and harms nobody. */
static void
small_commits_write_ahead(void **state)
{
    struct fixture *f = *state;
    uint64_t size, before = 0, longer = 0, most = 0;
    struct store_usage usage;
    struct store_scan scan;
    unsigned n;

    store_close(f->s);
    store_drive_remove(f->dir);
    f->s = store_drive_open(f->dir, 4 * MB, STORE_SYNC_ALWAYS, f->clock);
    for (n = 0; n < 400; n++) {
        assert_int_equal(store_drive_commit_body(f->s, f->clock, 1, 3000), ERR_OK);
        size = file_size(f);
        store_usage(f->s, &usage);
        assert_true(size >= usage.file_bytes);
        if (size - usage.file_bytes > most)
            most = size - usage.file_bytes;
        longer += size != before;
        before = size;
    }
    assert_true(longer < 40); /* each of them took a page */
    assert_in_range(most, 100000, 330000);
    while (store_drive_commit_body(f->s, f->clock, 1, 3000) == ERR_OK)
        assert_true(++n < 2000);
    assert_true(file_size(f) <= 4 * MB);
    store_close(f->s);
    f->s = store_drive_open(f->dir, 4 * MB, STORE_SYNC_ALWAYS, f->clock);
    assert_int_equal(store_drive_read(f->s, 0, &scan), n);
}

static void
a_pinned_reader_is_not_room(void **state)
{
    struct fixture *f = *state;
    struct lmdb_store_view *view = NULL;
    struct store_usage usage;
    struct errinfo info;
    unsigned i;

    store_close(f->s);
    store_drive_remove(f->dir);
    open_it(f, 4 * MB);
    (void)fill(f, 100, 60);
    assert_int_equal(lmdb_store_view_open(&view, f->s->lmdb, &info), ERR_OK);
    assert_int_equal(lmdb_store_view_renew(view, &info), ERR_OK);
    store_usage(f->s, &usage);
    delete_through(f->s, usage.last_seq / 2);
    for (i = 0; i < 200;
         i++) /* what was deleted is still there for the reader: refused, nothing worse */
        assert_int_equal(store_drive_commit_body(f->s, f->clock, 100, 60), ERR_FULL);
    lmdb_store_view_close(view);
    assert_true(fill(f, 100, 60) > 20);
}

static void
a_map_smaller_than_the_data_is_refused(void **state)
{
    struct fixture *f = *state;
    const struct store_options options = {f->dir, 4 * MB, STORE_SYNC_NONE, f->clock};
    struct errinfo info;
    struct store *s = NULL;

    (void)fill(f, 1000, 60);
    store_close(f->s);
    f->s = NULL;
    assert_int_equal(store_open(&s, &options, &info), ERR_CONFIG);
    assert_non_null(strstr(info.text, "max_size_mb"));
    open_it(f, 16 * MB);
}

/* ---- the n-th allocation ---- */

static void
any_allocation_may_fail(void **state)
{
    struct fixture *f = *state;
    const struct store_options options = {f->dir, 16 * MB, STORE_SYNC_NONE, f->clock};
    struct store_reader *r = NULL;
    struct store_scan scan;
    struct batch batch;
    struct errinfo info;
    enum err err = ERR_NOMEM;
    size_t n, live;

    put_definitions(f->s);
    assert_int_equal(store_drive_commit_body(f->s, f->clock, 500, 20), ERR_OK);
    store_close(f->s);
    f->s = NULL;
    live = mem_live();
    for (n = 1; err != ERR_OK; n++) {
        mem_fail_at(n);
        err = store_open(&f->s, &options, &info);
        mem_fail_at(0);
        if (err != ERR_OK) {
            assert_int_equal(err, ERR_NOMEM);
            assert_int_equal(mem_live(), live);
        }
    }
    assert_true(n > 3);
    batch_init(&batch);
    for (n = 1, err = ERR_NOMEM; err != ERR_OK; n++) {
        mem_fail_at(n);
        batch_clear(&batch);
        err = store_reader_open(&r, f->s, &info);
        if (err == ERR_OK) {
            err = store_read(r, 0, NULL, 500, MB, &batch, &scan, &info);
            assert_int_equal(batch.count, scan.passed);
            store_reader_close(r);
        }
        mem_fail_at(0);
        assert_true(err == ERR_OK || err == ERR_NOMEM);
    }
    assert_int_equal(batch.count, 500);
    batch_free(&batch);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_appended_reads_back, setup, teardown),
        cmocka_unit_test_setup_teardown(an_aborted_body_leaves_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reader_takes_only_what_is_wanted, setup, teardown),
        cmocka_unit_test_setup_teardown(ages_are_by_uptime_unless_both_clocks_are_set, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_emptied_log_goes_on_counting, setup, teardown),
        cmocka_unit_test_setup_teardown(points_are_not_mixed_with_gaps, setup, teardown),
        cmocka_unit_test_setup_teardown(only_whole_passed_chunks_are_deleted, setup, teardown),
        cmocka_unit_test_setup_teardown(records_and_definitions_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(the_smallest_map_hovers_at_full, setup, teardown),
        cmocka_unit_test_setup_teardown(small_commits_write_ahead, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pinned_reader_is_not_room, setup, teardown),
        cmocka_unit_test_setup_teardown(a_map_smaller_than_the_data_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(any_allocation_may_fail, setup, teardown),
    };

    return cmocka_run_group_tests_name("store_lmdb", tests, NULL, NULL);
}
