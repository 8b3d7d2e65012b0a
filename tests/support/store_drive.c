/*
 * store_drive.c: folders and bodies for the tests of the store.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/store_drive.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "point/lineproto.h"
#include "store/chunk.h"

void
store_drive_dir(char dir[STORE_DRIVE_DIR])
{
    const char *tmp = getenv("TMPDIR");

    (void)snprintf(dir, STORE_DRIVE_DIR, "%.80s/sinkd-store-XXXXXX", tmp == NULL ? "/tmp" : tmp);
    assert_non_null(mkdtemp(dir));
}

void
store_drive_path(char out[STORE_DRIVE_DIR + 64], const char *dir, const char *name)
{
    (void)snprintf(out, STORE_DRIVE_DIR + 64, "%s/%.60s", dir, name);
}

void
store_drive_remove(const char *dir)
{
    char path[STORE_DRIVE_DIR + 64];
    struct dirent *entry;
    DIR *d = opendir(dir);

    if (d == NULL)
        return;
    while ((entry = readdir(d)) != NULL) {
        store_drive_path(path, dir, entry->d_name);
        if (entry->d_name[0] != '.')
            (void)unlink(path);
    }
    (void)closedir(d);
    (void)rmdir(dir);
}

struct store *
store_drive_open(const char *dir, uint64_t bytes, enum store_sync sync, const struct clock *clock)
{
    const struct store_options options = {dir, bytes, sync, clock};
    struct store *s = NULL;
    struct errinfo info = {0};

    if (store_open(&s, &options, &info) != ERR_OK)
        fail_msg("store_open: %s", info.text);
    return s;
}

static struct slice
lines(uint64_t first, unsigned points, unsigned pad, char **text)
{
    size_t room = (size_t)points * (pad + 96) + 1, n = 0;
    unsigned i;

    *text = malloc(room);
    assert_non_null(*text);
    for (i = 0; i < points; i++) {
        int head = snprintf(*text + n, room - n, "%s,host=a v=%llui,s=\"",
                            i % 5 == 4 ? "mem" : "cpu", (unsigned long long)(first + i));

        n += (size_t)head;
        memset(*text + n, 'x', pad);
        n += pad;
        n += (size_t)snprintf(*text + n, room - n, "\" %llu\n",
                              1700000000000000000ULL + (unsigned long long)i);
    }
    return slice_make(*text, n);
}

void
store_drive_body(struct buf *out, const struct store *s, const struct clock *clock, uint64_t first,
                 unsigned points, unsigned pad)
{
    static const char db[] = "telegraf";
    struct chunk_builder *builder = malloc(sizeof(*builder));
    struct chunk_origin origin = {
        slice_of(db), {NULL, 0}, clock_wall_ns(clock), clock_mono_ms(clock), store_run(s)};
    struct lineproto lp;
    struct lineproto_point point;
    struct lineproto_bad bad;
    char *text;
    struct slice body = lines(first, points, pad, &text);

    assert_non_null(builder);
    buf_clear(out);
    assert_int_equal(chunk_builder_init(builder, out, store_chunk_max(s), &origin), ERR_OK);
    lineproto_init(&lp, body, PRECISION_NS, 0);
    while (lineproto_next(&lp, &point, &bad) == LINEPROTO_POINT)
        assert_int_equal(chunk_builder_add(builder, &point), ERR_OK);
    assert_int_equal(chunk_builder_finish(builder), ERR_OK);
    assert_int_equal(builder->points, points);
    free(builder);
    free(text);
}

enum err
store_drive_commit_body(struct store *s, const struct clock *clock, unsigned points, unsigned pad)
{
    struct buf body;
    struct store_usage usage;
    struct errinfo info = {0};
    uint64_t first, count;
    enum err err;

    buf_init(&body, 64u << 20);
    store_usage(s, &usage);
    store_drive_body(&body, s, clock, usage.last_seq + 1, points, pad);
    err = store_begin(s, &info);
    if (err == ERR_OK) {
        err = store_append(s, buf_peek(&body), &first, &count, &info);
        if (err == ERR_OK) {
            assert_int_equal(first, usage.last_seq + 1);
            assert_int_equal(count, points);
            err = store_commit(s, &info);
        } else {
            store_abort(s);
        }
    }
    buf_free(&body);
    return err;
}

uint64_t
store_drive_read(struct store *s, uint64_t after, struct store_scan *total)
{
    struct store_reader *r = NULL;
    struct store_scan scan;
    struct store_usage usage;
    struct batch batch;
    struct errinfo info;
    uint64_t points = 0;
    size_t i;

    store_usage(s, &usage);
    *total = (struct store_scan){.passed = after};
    assert_int_equal(store_reader_open(&r, s, &info), ERR_OK);
    batch_init(&batch);
    while (total->passed < usage.last_seq) {
        batch_clear(&batch);
        assert_int_equal(store_read(r, total->passed, NULL, 333, 100000, &batch, &scan, &info),
                         ERR_OK);
        assert_true(scan.passed > total->passed);
        for (i = 0; i < batch.count; i++)
            assert_int_equal(batch_point(&batch, i).seq,
                             store_drive_value(batch_point(&batch, i).line));
        points += batch.count;
        total->passed = scan.passed;
        total->damaged += scan.damaged;
        total->missing += scan.missing;
    }
    batch_free(&batch);
    store_reader_close(r);
    return points;
}

uint64_t
store_drive_value(struct slice line)
{
    uint64_t value = 0;
    struct slice digits;
    size_t i = 0;

    while (i + 3 < line.n && memcmp(line.p + i, " v=", 3) != 0)
        i++;
    digits = slice_from(line, i + 3);
    digits = slice_to(digits, slice_find(digits, 'i'));
    assert_int_equal(num_u64(digits, &value), ERR_OK);
    return value;
}
