/*
 * test_store_record.c: the bytes of records, of the log's state and of meta.bak.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/wire.h"
#include "store/meta_backup.h"
#include "store/store_record.h"
#include "support/guard.h"

static const struct store_record sample = {
    .sink = 7,
    .start = 100,
    .cursor = 131,
    .forwarded = 10,
    .filtered = 9,
    .dead = 2,
    .dropped = {1, 2, 3, 0, 4},
    .errors = {11, 12, 13, 14, 15, 16, 17},
    .retries = 18,
    .last_success_ns = INT64_C(1700000000000000001),
    .learned_points = 19,
};

/* Every strict prefix is refused, without a look past its end. */
static void
assert_prefixes_refused(struct slice all, enum err (*get)(struct slice bytes))
{
    struct slice copy;
    size_t i;

    for (i = 0; i < all.n; i++) {
        copy = guard_copy(slice_to(all, i));
        assert_int_equal(get(copy), ERR_BAD);
        guard_free(copy);
    }
}

static enum err
get_record(struct slice bytes)
{
    struct store_record got;

    return store_record_get(bytes, 7, &got);
}

static enum err
get_state(struct slice bytes)
{
    struct store_state got;

    return store_record_get_state(bytes, &got);
}

static enum err
get_backup(struct slice bytes)
{
    struct meta_backup got;

    return meta_backup_open(bytes, &got);
}

static void
a_record_reads_back(void **state)
{
    /* docs/store.md: version, zero, eight figures, drops, errors */
    static const uint8_t head[24] = {1, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 131};
    uint8_t bytes[STORE_RECORD_SIZE];
    struct store_record got = {0};

    (void)state;
    store_record_put(bytes, &sample);
    assert_memory_equal(bytes, head, sizeof(head));
    assert_int_equal(load_le64(bytes + 72), 1);      /* dropped: rejected */
    assert_int_equal(load_le64(bytes + 72 + 32), 4); /* damaged */
    assert_int_equal(load_le64(bytes + 120), 11);    /* errors: connect */
    assert_int_equal(store_record_get(slice_make(bytes, sizeof(bytes)), 7, &got), ERR_OK);
    assert_memory_equal(&got, &sample, sizeof(got));
    assert_int_equal(store_record_dropped(&got), 10);
    assert_prefixes_refused(slice_make(bytes, sizeof(bytes)), get_record);
    bytes[0] = 2;
    assert_int_equal(store_record_get(slice_make(bytes, sizeof(bytes)), 7, &got), ERR_CONFIG);
    bytes[0] = 1;
    bytes[16]++; /* the cursor: the sum is no more */
    assert_int_equal(store_record_get(slice_make(bytes, sizeof(bytes)), 7, &got), ERR_BAD);
}

static void
the_ledgers_law(void **state)
{
    struct store_record r = sample;

    (void)state;
    assert_true(store_record_adds_up(&r));
    r.dead++;
    assert_false(store_record_adds_up(&r));
    r.cursor++;
    assert_true(store_record_adds_up(&r));
    r.start = r.cursor + 1;
    assert_false(store_record_adds_up(&r));
    assert_string_equal(store_drop_name(STORE_DROP_DEAD_LETTER), "dead_letter");
    assert_string_equal(store_error_name(STORE_ERROR_PROTOCOL), "protocol");
}

static void
the_state_reads_back(void **state)
{
    const struct store_state s = {1000, 900, 5, 2, 8, 77};
    struct store_state got;
    uint8_t bytes[STORE_RECORD_STATE_SIZE];

    (void)state;
    store_record_put_state(bytes, &s);
    assert_int_equal(store_record_get_state(slice_make(bytes, sizeof(bytes)), &got), ERR_OK);
    assert_memory_equal(&got, &s, sizeof(s));
    assert_prefixes_refused(slice_make(bytes, sizeof(bytes)), get_state);
    store_le64(bytes + 16, 1001); /* begins behind its end */
    assert_int_equal(store_record_get_state(slice_make(bytes, sizeof(bytes)), &got), ERR_BAD);
    store_le64(bytes + 16, 0);
    assert_int_equal(store_record_get_state(slice_make(bytes, sizeof(bytes)), &got), ERR_BAD);
    store_record_put_state(bytes, &s);
    bytes[0] = 9;
    assert_int_equal(store_record_get_state(slice_make(bytes, sizeof(bytes)), &got), ERR_CONFIG);
}

static void
pack(struct buf *out)
{
    const struct meta_backup b = {.next_sink = 9, .moved = 3, .sinks = 2, .pairs = 2};

    assert_int_equal(meta_backup_begin(out), ERR_OK);
    assert_int_equal(meta_backup_sink(out, 4), ERR_OK);
    assert_int_equal(meta_backup_sink(out, 8), ERR_OK);
    assert_int_equal(meta_backup_pair(out, SLICE("meta_sink:a"), SLICE("value")), ERR_OK);
    assert_int_equal(meta_backup_pair(out, SLICE("meta_db:x"), SLICE("")), ERR_OK);
    meta_backup_end(out, &b);
}

static void
a_backup_reads_back_or_is_refused(void **state)
{
    struct meta_backup got;
    struct slice key, value, all;
    struct buf out;
    size_t i;

    (void)state;
    buf_init(&out, 4096);
    pack(&out);
    all = buf_peek(&out);
    assert_int_equal(meta_backup_open(all, &got), ERR_OK);
    assert_int_equal(got.next_sink, 9);
    assert_int_equal(got.moved, 3);
    assert_int_equal(meta_backup_take_sink(&got), 4);
    assert_int_equal(meta_backup_take_sink(&got), 8);
    meta_backup_take_pair(&got, &key, &value);
    assert_true(slice_eq(key, SLICE("meta_sink:a")) && slice_eq(value, SLICE("value")));
    meta_backup_take_pair(&got, &key, &value);
    assert_true(slice_eq(key, SLICE("meta_db:x")) && value.n == 0);
    assert_int_equal(got.pairs, 0);
    assert_prefixes_refused(all, get_backup);
    for (i = 0; i < all.n; i++) { /* every byte counts */
        out.data[out.head + i] ^= 0x10;
        assert_int_not_equal(meta_backup_open(all, &got), ERR_OK);
        out.data[out.head + i] ^= 0x10;
    }
    buf_free(&out);
    buf_init(&out, META_BACKUP_HEAD + 3); /* at its maximum */
    assert_int_equal(meta_backup_begin(&out), ERR_OK);
    assert_int_equal(meta_backup_sink(&out, 1), ERR_NOMEM);
    assert_int_equal(meta_backup_pair(&out, SLICE("k"), SLICE("v")), ERR_NOMEM);
    buf_free(&out);
    assert_int_equal(mem_live(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_reads_back),
        cmocka_unit_test(the_ledgers_law),
        cmocka_unit_test(the_state_reads_back),
        cmocka_unit_test(a_backup_reads_back_or_is_refused),
    };

    return cmocka_run_group_tests_name("store_record", tests, NULL, NULL);
}
