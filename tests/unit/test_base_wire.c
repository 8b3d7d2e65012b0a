/*
 * test_base_wire.c: byte orders, sticky errors, holes, and an error that takes everything back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/wire.h"
#include "support/guard.h"

static const uint8_t sample[] = {
    0x01,                                           /* u8 */
    0x02, 0x03,                                     /* be16 */
    0x04, 0x05, 0x06, 0x87,                         /* be32 */
    0x88, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, /* be64 */
    0x02, 0x03,                                     /* le16 */
    0x04, 0x05, 0x06, 0x87,                         /* le32 */
    0x88, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x8f, /* le64 */
    'x',  'y',                                      /* bytes */
};

static void
check_sample(struct rd *r)
{
    assert_int_equal(rd_u8(r), 0x01);
    assert_int_equal(rd_be16(r), 0x0203);
    assert_int_equal(rd_be32(r), 0x04050687);
    assert_true(rd_be64(r) == UINT64_C(0x88090a0b0c0d0e0f));
    assert_int_equal(rd_le16(r), 0x0302);
    assert_true(rd_le32(r) == 0x87060504U);
    assert_true(rd_le64(r) == UINT64_C(0x8f0e0d0c0b0a0988));
    assert_true(slice_eq(rd_bytes(r, 2), SLICE("xy")));
}

static void
reads_every_width_and_order(void **state)
{
    struct slice s = guard_copy(slice_make(sample, sizeof(sample)));
    struct rd r;

    (void)state;
    rd_init(&r, s);
    check_sample(&r);
    assert_int_equal(rd_left(&r), 0);
    assert_int_equal(rd_done(&r), ERR_OK);
    guard_free(s);
}

static void
every_prefix_is_short_and_the_error_sticks(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(sample); n++) {
        struct slice s = guard_copy(slice_make(sample, n));
        struct rd r;
        rd_init(&r, s);
        (void)rd_u8(&r);
        (void)rd_be16(&r);
        (void)rd_be32(&r);
        (void)rd_be64(&r);
        (void)rd_le16(&r);
        (void)rd_le32(&r);
        (void)rd_le64(&r);
        (void)rd_bytes(&r, 2);
        assert_int_equal(r.err, ERR_SHORT);
        assert_int_equal(rd_u8(&r), 0);
        assert_int_equal(rd_bytes(&r, 0).n, 0);
        rd_fail(&r, ERR_BAD);
        assert_int_equal(rd_done(&r), ERR_SHORT);
        guard_free(s);
    }
}

static void
bytes_left_over_are_bad(void **state)
{
    struct rd r;

    (void)state;
    rd_init(&r, SLICE("ab"));
    assert_int_equal(rd_u8(&r), 'a');
    assert_int_equal(rd_done(&r), ERR_BAD);
    rd_init(&r, slice_make(NULL, 0));
    assert_int_equal(rd_bytes(&r, 0).n, 0);
    assert_int_equal(rd_done(&r), ERR_OK);
    rd_init(&r, SLICE("ab"));
    (void)rd_u8(&r);
    assert_ptr_equal(rd_bytes(&r, 0).p, r.p); /* no bytes, but of this place */
    rd_init(&r, SLICE("ab"));
    assert_int_equal(rd_bytes(&r, SIZE_MAX).n, 0);
    assert_int_equal(rd_done(&r), ERR_SHORT);
}

static void
writes_what_is_read(void **state)
{
    struct buf b;
    struct wr w;

    (void)state;
    buf_init(&b, 1000);
    assert_int_equal(buf_add_text(&b, "before"), ERR_OK);
    wr_init(&w, &b);
    wr_u8(&w, 0x01);
    wr_be16(&w, 0x0203);
    wr_be32(&w, 0x04050687);
    wr_be64(&w, UINT64_C(0x88090a0b0c0d0e0f));
    wr_le16(&w, 0x0302);
    wr_le32(&w, 0x87060504);
    wr_le64(&w, UINT64_C(0x8f0e0d0c0b0a0988));
    wr_bytes(&w, SLICE("xy"));
    assert_int_equal(wr_since(&w, 0), sizeof(sample));
    assert_int_equal(wr_done(&w), ERR_OK);
    buf_consume(&b, 6);
    assert_true(slice_eq(buf_peek(&b), slice_make(sample, sizeof(sample))));
    buf_free(&b);
}

static void
holes_are_filled_in_place(void **state)
{
    struct buf b;
    struct wr w;

    (void)state;
    buf_init(&b, 1000);
    assert_int_equal(buf_add_text(&b, "__x"), ERR_OK);
    buf_consume(&b, 2);
    wr_init(&w, &b);
    wr_u8(&w, 'a');
    size_t two = wr_hole(&w, 2), four = wr_hole(&w, 4), little = wr_hole(&w, 4);
    wr_bytes(&w, SLICE("tail"));
    assert_int_equal(two, 1);
    assert_int_equal(wr_since(&w, four + 4), 8);
    wr_fill_be16(&w, two, 0x4142);
    wr_fill_be32(&w, four, 0x43444546);
    wr_fill_le32(&w, little, 0x47484950);
    assert_int_equal(wr_done(&w), ERR_OK);
    assert_true(slice_eq(buf_peek(&b), SLICE("xaABCDEFPIHGtail")));
    buf_free(&b);
}

static void
an_error_takes_everything_back(void **state)
{
    struct buf b;
    struct wr w;

    (void)state;
    buf_init(&b, 10);
    assert_int_equal(buf_add_text(&b, "abc"), ERR_OK);
    wr_init(&w, &b);
    wr_be32(&w, 1);
    wr_be32(&w, 2); /* over the maximum */
    wr_u8(&w, 3);   /* would fit, but comes after an error */
    size_t hole = wr_hole(&w, 2);
    wr_fill_be16(&w, hole, 1);
    wr_fail(&w, ERR_RANGE);
    assert_int_equal(wr_done(&w), ERR_NOMEM);
    assert_true(slice_eq(buf_peek(&b), SLICE("abc")));

    wr_init(&w, &b);
    wr_u8(&w, 1);
    wr_fail(&w, ERR_RANGE);
    assert_int_equal(wr_done(&w), ERR_RANGE);
    assert_true(slice_eq(buf_peek(&b), SLICE("abc")));

    wr_init(&w, &b);
    (void)wr_hole(&w, 8);
    assert_int_equal(wr_done(&w), ERR_NOMEM);
    buf_free(&b);
}

static void
loads_and_stores_at_odd_addresses(void **state)
{
    uint8_t p[9];

    (void)state;
    store_be64(p + 1, UINT64_C(0xf102030405060708));
    assert_int_equal(p[1], 0xf1);
    assert_true(load_be64(p + 1) == UINT64_C(0xf102030405060708));
    assert_true(load_le64(p + 1) == UINT64_C(0x08070605040302f1));
    store_le64(p + 1, UINT64_C(0xf102030405060708));
    assert_int_equal(p[1], 8);
    assert_true(load_be32(p + 1) == 0x08070605U);
    assert_true(load_le32(p + 1) == 0x05060708U);
    assert_int_equal(load_be16(p + 1), 0x0807);
    assert_int_equal(load_le16(p + 1), 0x0708);
    store_le32(p + 1, 0xffffffff);
    assert_true(load_be32(p + 1) == 0xffffffff);
    store_be32(p + 1, 0x81818181);
    assert_true(load_le32(p + 1) == 0x81818181);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_width_and_order),
        cmocka_unit_test(every_prefix_is_short_and_the_error_sticks),
        cmocka_unit_test(bytes_left_over_are_bad),
        cmocka_unit_test(writes_what_is_read),
        cmocka_unit_test(holes_are_filled_in_place),
        cmocka_unit_test(an_error_takes_everything_back),
        cmocka_unit_test(loads_and_stores_at_odd_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
