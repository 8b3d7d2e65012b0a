/*
 * test_base_recycle.c: memory that is kept for its next use, and its limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/recycle.h"

/* A buffer with room for ${n} bytes, and one of them in it. */
static struct buf
filled(size_t n)
{
    struct buf b;

    buf_init(&b, 64u << 20);
    assert_non_null(buf_reserve(&b, n));
    buf_commit(&b, 1);
    return b;
}

static void
memory_comes_back_empty(void **state)
{
    struct recycle r = {0};
    struct buf b = filled(100000), other;
    const uint8_t *data = b.data;

    (void)state;
    recycle_give(&r, &b);
    assert_null(b.data);
    assert_int_equal(b.max, 64u << 20);
    buf_init(&other, 1u << 20);
    recycle_take(&r, &other, 50000);
    assert_ptr_equal(other.data, data);
    assert_int_equal(buf_len(&other), 0);
    assert_int_equal(other.max, 1u << 20);
    assert_int_equal(r.count, 0);
    buf_free(&other);
    assert_int_equal(mem_live(), 0);
}

static void
a_buffer_keeps_to_its_maximum(void **state)
{
    struct recycle r = {0};
    struct buf b = filled(100000), other;

    (void)state;
    recycle_give(&r, &b);
    buf_init(&other, 20000);
    recycle_take(&r, &other, 30000); /* more than it may hold */
    assert_null(other.data);
    recycle_take(&r, &other, 20000);
    assert_non_null(other.data);
    assert_non_null(buf_reserve(&other, 20000));
    assert_null(buf_reserve(&other, 20001));
    buf_free(&other);
    recycle_free(&r);
    assert_int_equal(mem_live(), 0);
}

static void
what_is_too_small_is_not_given(void **state)
{
    struct recycle r = {0};
    struct buf large = filled(300000), small = filled(20000), b;

    (void)state;
    recycle_give(&r, &large);
    recycle_give(&r, &small);
    buf_init(&b, 64u << 20);
    recycle_take(&r, &b, 400000);
    assert_null(b.data);
    recycle_take(&r, &b, RECYCLE_BYTES_MIN - 1); /* so little is cheaper fresh */
    assert_null(b.data);
    recycle_take(&r, &b, 30000);
    assert_true(b.cap >= 300000);
    recycle_take(&r, &b, 20000); /* it has memory already */
    assert_int_equal(r.count, 1);
    recycle_give(&r, &b);
    recycle_free(&r);
    assert_int_equal(mem_live(), 0);
}

static void
only_a_few_blocks_of_some_size_are_kept(void **state)
{
    struct recycle r = {0};
    struct buf b;
    unsigned i;

    (void)state;
    b = filled(RECYCLE_BYTES_MAX + 1);
    recycle_give(&r, &b);
    b = filled(RECYCLE_BYTES_MIN - 1);
    recycle_give(&r, &b);
    buf_init(&b, 1000);
    recycle_give(&r, &b); /* has none */
    assert_int_equal(mem_live(), 0);
    for (i = 0; i < RECYCLE_BLOCKS + 2; i++) {
        b = filled(RECYCLE_BYTES_MAX);
        recycle_give(&r, &b);
    }
    assert_int_equal(mem_live(), RECYCLE_BLOCKS);
    recycle_free(&r);
    assert_int_equal(mem_live(), 0);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_comes_back_empty),
        cmocka_unit_test(a_buffer_keeps_to_its_maximum),
        cmocka_unit_test(what_is_too_small_is_not_given),
        cmocka_unit_test(only_a_few_blocks_of_some_size_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
