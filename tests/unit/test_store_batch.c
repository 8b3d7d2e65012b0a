/*
 * test_store_batch.c: batches keep what they were given, within their memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/mem.h"
#include "store/batch.h"

static void
assert_point(const struct batch *b, size_t i, uint64_t seq, const char *db, const char *rp,
             const char *measurement, const char *line)
{
    struct batch_point p = batch_point(b, i);

    assert_int_equal(p.seq, seq);
    assert_int_equal(p.timestamp_ns, (int64_t)seq * -7);
    assert_true(slice_eq(p.database, slice_of(db)));
    assert_true(slice_eq(p.policy, slice_of(rp)));
    assert_true(slice_eq(p.measurement, slice_of(measurement)));
    assert_true(slice_eq(p.line, slice_of(line)));
}

static enum err
add(struct batch *b, uint64_t seq, const char *measurement, const char *line)
{
    return batch_add(b, seq, (int64_t)seq * -7, slice_of(measurement), slice_of(line));
}

static void
points_keep_their_sources(void **state)
{
    struct batch b;

    (void)state;
    batch_init(&b);
    assert_int_equal(batch_source(&b, SLICE("one"), SLICE("")), ERR_OK);
    assert_int_equal(add(&b, 1, "cpu", "cpu v=1"), ERR_OK);
    assert_int_equal(add(&b, 2, "cpu", "cpu v=2"), ERR_OK);
    assert_int_equal(batch_source(&b, SLICE("two"), SLICE("week")), ERR_OK);
    assert_int_equal(add(&b, 9, "cpu", "cpu v=3"), ERR_OK);
    assert_int_equal(add(&b, 12, "mem", ""), ERR_OK);
    assert_int_equal(b.count, 4);
    assert_int_equal(batch_bytes(&b), 21);
    assert_point(&b, 0, 1, "one", "", "cpu", "cpu v=1");
    assert_point(&b, 1, 2, "one", "", "cpu", "cpu v=2");
    assert_point(&b, 2, 9, "two", "week", "cpu", "cpu v=3");
    assert_point(&b, 3, 12, "two", "week", "mem", "");
    batch_clear(&b);
    assert_int_equal(b.count, 0);
    assert_int_equal(batch_bytes(&b), 0);
    assert_int_equal(batch_source(&b, SLICE("three"), SLICE("")), ERR_OK);
    assert_int_equal(add(&b, 5, "a", "b"), ERR_OK);
    assert_point(&b, 0, 5, "three", "", "a", "b");
    batch_free(&b);
    assert_int_equal(mem_live(), 0);
}

static void
a_run_of_one_measurement_is_kept_once(void **state)
{
    struct batch b;
    char line[32];
    uint64_t i;

    (void)state;
    batch_init(&b);
    for (i = 0; i < 5000; i++) {
        assert_int_equal(batch_source(&b, SLICE("db"), SLICE("rp")),
                         ERR_OK); /* the same: once too */
        (void)snprintf(line, sizeof(line), "v=%04u", (unsigned)i);
        assert_int_equal(add(&b, i, i < 2500 ? "first" : "second", line), ERR_OK);
    }
    assert_int_equal(buf_len(&b.bytes), 2 + 2 + 5 + 6 + 5000 * 6);
    assert_point(&b, 4999, 4999, "db", "rp", "second", "v=4999");
    batch_free(&b);
    assert_int_equal(mem_live(), 0);
}

static void
what_has_no_memory_adds_nothing(void **state)
{
    struct batch b;
    size_t n, done = 0;

    (void)state;
    batch_init(&b);
    for (n = 1; done < 200; n++) {
        size_t count = b.count, bytes = buf_len(&b.bytes);
        char line[64];
        enum err err;

        (void)snprintf(line, sizeof(line), "line %u of some length to make it grow",
                       (unsigned)count);
        mem_fail_at(1 + n % 3);
        err = batch_source(&b, slice_of(line), SLICE("rp"));
        if (err == ERR_OK) {
            bytes = buf_len(&b.bytes);
            err = add(&b, count, line + 5, line);
        }
        mem_fail_at(0);
        assert_true(err == ERR_OK || err == ERR_NOMEM);
        assert_int_equal(b.count, err == ERR_OK ? count + 1 : count);
        if (err != ERR_OK)
            assert_true(buf_len(&b.bytes) <= bytes + 2 * sizeof(line));
        done += err == ERR_OK;
        if (b.count > 0)
            assert_int_equal(batch_point(&b, b.count - 1).seq, b.count - 1);
    }
    batch_free(&b);
    assert_int_equal(mem_live(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_keep_their_sources),
        cmocka_unit_test(a_run_of_one_measurement_is_kept_once),
        cmocka_unit_test(what_has_no_memory_adds_nothing),
    };

    return cmocka_run_group_tests_name("store_batch", tests, NULL, NULL);
}
