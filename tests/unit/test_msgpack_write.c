/*
 * test_msgpack_write.c: every form of the MessagePack specification, written in its shortest one
 * and read back. The vectors follow the "Formats" section of the specification and the example of
 * its front page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <string.h>

#include "base/mem.h"
#include "msgpack/msgpack_read.h"
#include "msgpack/msgpack_write.h"
#include "support/guard.h"

static uint8_t filler[70000];

static struct buf out;
static struct wr w;

static void
begin(void)
{
    buf_init(&out, 100000);
    wr_init(&w, &out);
}

/* What was written since begin is exactly ${expected}. */
static void
check_written(struct slice expected)
{
    assert_int_equal(wr_done(&w), ERR_OK);
    assert_true(slice_eq(buf_peek(&out), expected));
    buf_free(&out);
}

/* It begins with ${head} and ${n} bytes follow. */
static void
check_head(struct slice head, size_t n)
{
    assert_int_equal(wr_done(&w), ERR_OK);
    assert_int_equal(buf_len(&out), head.n + n);
    assert_true(slice_starts(buf_peek(&out), head));
    buf_free(&out);
}

static const struct {
    uint64_t value;
    struct slice bytes;
} unsigned_vectors[] = {
    {0, SLICE_INIT("\x00")},
    {127, SLICE_INIT("\x7f")},
    {128, SLICE_INIT("\xcc\x80")},
    {255, SLICE_INIT("\xcc\xff")},
    {256, SLICE_INIT("\xcd\x01\x00")},
    {65535, SLICE_INIT("\xcd\xff\xff")},
    {65536, SLICE_INIT("\xce\x00\x01\x00\x00")},
    {UINT32_MAX, SLICE_INIT("\xce\xff\xff\xff\xff")},
    {UINT64_C(4294967296), SLICE_INIT("\xcf\x00\x00\x00\x01\x00\x00\x00\x00")},
    {INT64_MAX, SLICE_INIT("\xcf\x7f\xff\xff\xff\xff\xff\xff\xff")},
    {UINT64_MAX, SLICE_INIT("\xcf\xff\xff\xff\xff\xff\xff\xff\xff")},
};

static const struct {
    int64_t value;
    struct slice bytes;
} signed_vectors[] = {
    {-1, SLICE_INIT("\xff")},
    {-32, SLICE_INIT("\xe0")},
    {-33, SLICE_INIT("\xd0\xdf")},
    {-128, SLICE_INIT("\xd0\x80")},
    {-129, SLICE_INIT("\xd1\xff\x7f")},
    {-32768, SLICE_INIT("\xd1\x80\x00")},
    {-32769, SLICE_INIT("\xd2\xff\xff\x7f\xff")},
    {INT32_MIN, SLICE_INIT("\xd2\x80\x00\x00\x00")},
    {INT64_C(-2147483649), SLICE_INIT("\xd3\xff\xff\xff\xff\x7f\xff\xff\xff")},
    {INT64_MIN, SLICE_INIT("\xd3\x80\x00\x00\x00\x00\x00\x00\x00")},
};

static void
integers(void **state)
{
    struct rd r;

    (void)state;
    for (size_t i = 0; i < sizeof(unsigned_vectors) / sizeof(unsigned_vectors[0]); i++) {
        uint64_t value = unsigned_vectors[i].value;
        begin();
        msgpack_write_u64(&w, value);
        check_written(unsigned_vectors[i].bytes);
        rd_init(&r, unsigned_vectors[i].bytes);
        assert_int_equal(msgpack_read_peek(&r), MSGPACK_UINT);
        assert_true(msgpack_read_u64(&r) == value);
        assert_int_equal(rd_done(&r), ERR_OK);
        rd_init(&r, unsigned_vectors[i].bytes);
        int64_t as_signed = msgpack_read_i64(&r);
        assert_int_equal(r.err, value <= INT64_MAX ? ERR_OK : ERR_BAD);
        assert_true(as_signed == (value <= INT64_MAX ? (int64_t)value : 0));
        if (value <= INT64_MAX) {
            begin();
            msgpack_write_i64(&w, (int64_t)value);
            check_written(unsigned_vectors[i].bytes);
        }
    }
    for (size_t i = 0; i < sizeof(signed_vectors) / sizeof(signed_vectors[0]); i++) {
        begin();
        msgpack_write_i64(&w, signed_vectors[i].value);
        check_written(signed_vectors[i].bytes);
        rd_init(&r, signed_vectors[i].bytes);
        assert_int_equal(msgpack_read_peek(&r), MSGPACK_INT);
        assert_true(msgpack_read_i64(&r) == signed_vectors[i].value);
        assert_int_equal(rd_done(&r), ERR_OK);
        rd_init(&r, signed_vectors[i].bytes);
        assert_true(msgpack_read_u64(&r) == 0);
        assert_int_equal(rd_done(&r), ERR_BAD);
    }
}

static void
nil_and_truth(void **state)
{
    struct rd r;

    (void)state;
    begin();
    msgpack_write_nil(&w);
    msgpack_write_bool(&w, false);
    msgpack_write_bool(&w, true);
    check_written(SLICE("\xc0\xc2\xc3"));
    rd_init(&r, SLICE("\xc0\xc2\xc3"));
    assert_int_equal(msgpack_read_peek(&r), MSGPACK_NIL);
    msgpack_read_nil(&r);
    assert_int_equal(msgpack_read_peek(&r), MSGPACK_BOOL);
    assert_false(msgpack_read_bool(&r));
    assert_true(msgpack_read_bool(&r));
    assert_int_equal(msgpack_read_peek(&r), MSGPACK_NONE);
    assert_int_equal(rd_done(&r), ERR_OK);
}

static void
check_f64(double value)
{
    struct rd r;

    begin();
    msgpack_write_f64(&w, value);
    assert_int_equal(wr_done(&w), ERR_OK);
    assert_int_equal(buf_len(&out), 9);
    rd_init(&r, buf_peek(&out));
    double back = msgpack_read_f64(&r);
    assert_int_equal(rd_done(&r), ERR_OK);
    assert_memory_equal(&back, &value, sizeof(value));
    buf_free(&out);
}

static void
floating_point(void **state)
{
    struct rd r;

    (void)state;
    begin();
    msgpack_write_f32(&w, 1.5F);
    msgpack_write_f64(&w, -1.5);
    check_written(SLICE("\xca\x3f\xc0\x00\x00\xcb\xbf\xf8\x00\x00\x00\x00\x00\x00"));
    rd_init(&r, SLICE("\xca\x3f\xc0\x00\x00\xcb\xbf\xf8\x00\x00\x00\x00\x00\x00"));
    assert_int_equal(msgpack_read_peek(&r), MSGPACK_FLOAT);
    assert_true(msgpack_read_f64(&r) > 1.49 && r.err == ERR_OK);
    assert_true(msgpack_read_f64(&r) < -1.49);
    assert_int_equal(rd_done(&r), ERR_OK);
    check_f64(0.0);
    check_f64(-0.0);
    check_f64(DBL_MAX);
    check_f64(DBL_MIN / 4);
    check_f64(0.1);
    rd_init(&r, SLICE("\x05")); /* an integer is no float */
    (void)msgpack_read_f64(&r);
    assert_int_equal(rd_done(&r), ERR_BAD);
}

typedef void bytes_writer(struct wr *to, struct slice s);
typedef struct slice bytes_reader(struct rd *r);

/* ${n} bytes are written behind ${head} and come back. */
static void
check_bytes(bytes_writer *write, bytes_reader *read, size_t n, struct slice head)
{
    struct rd r;

    begin();
    write(&w, slice_make(filler, n));
    assert_int_equal(wr_done(&w), ERR_OK);
    struct slice copy = guard_copy(buf_peek(&out));
    rd_init(&r, copy);
    assert_true(slice_eq(read(&r), slice_make(filler, n)));
    assert_int_equal(rd_done(&r), ERR_OK);
    guard_free(copy);
    check_head(head, n);
}

static void
strings_and_binary(void **state)
{
    (void)state;
    check_bytes(msgpack_write_str, msgpack_read_str, 0, SLICE("\xa0"));
    check_bytes(msgpack_write_str, msgpack_read_str, 31, SLICE("\xbf"));
    check_bytes(msgpack_write_str, msgpack_read_str, 32, SLICE("\xd9\x20"));
    check_bytes(msgpack_write_str, msgpack_read_str, 255, SLICE("\xd9\xff"));
    check_bytes(msgpack_write_str, msgpack_read_str, 256, SLICE("\xda\x01\x00"));
    check_bytes(msgpack_write_str, msgpack_read_str, 65535, SLICE("\xda\xff\xff"));
    check_bytes(msgpack_write_str, msgpack_read_str, 65536, SLICE("\xdb\x00\x01\x00\x00"));
    check_bytes(msgpack_write_bin, msgpack_read_bin, 0, SLICE("\xc4\x00"));
    check_bytes(msgpack_write_bin, msgpack_read_bin, 255, SLICE("\xc4\xff"));
    check_bytes(msgpack_write_bin, msgpack_read_bin, 256, SLICE("\xc5\x01\x00"));
    check_bytes(msgpack_write_bin, msgpack_read_bin, 65536, SLICE("\xc6\x00\x01\x00\x00"));
    begin();
    msgpack_write_text(&w, "abc");
    check_written(SLICE("\xa3"
                        "abc"));
}

static void
check_ext(int8_t type, size_t n, struct slice head)
{
    struct rd r;
    int8_t back = 99;

    begin();
    msgpack_write_ext(&w, type, slice_make(filler, n));
    rd_init(&r, buf_peek(&out));
    assert_int_equal(msgpack_read_peek(&r), MSGPACK_EXT);
    assert_true(slice_eq(msgpack_read_ext(&r, &back), slice_make(filler, n)));
    assert_int_equal(back, type);
    assert_int_equal(rd_done(&r), ERR_OK);
    check_head(head, n);
}

static void
extensions(void **state)
{
    (void)state;
    check_ext(5, 0, SLICE("\xc7\x00\x05"));
    check_ext(5, 1, SLICE("\xd4\x05"));
    check_ext(127, 2, SLICE("\xd5\x7f"));
    check_ext(-128, 4, SLICE("\xd6\x80"));
    check_ext(-1, 8, SLICE("\xd7\xff"));
    check_ext(0, 16, SLICE("\xd8\x00"));
    check_ext(1, 3, SLICE("\xc7\x03\x01"));
    check_ext(1, 17, SLICE("\xc7\x11\x01"));
    check_ext(1, 256, SLICE("\xc8\x01\x00\x01"));
    check_ext(1, 65536, SLICE("\xc9\x00\x01\x00\x00\x01"));
}

static void
check_timestamp(int64_t seconds, uint32_t ns, struct slice bytes)
{
    struct rd r;
    int64_t seconds_back = 7;
    uint32_t ns_back = 7;

    begin();
    msgpack_write_timestamp(&w, seconds, ns);
    check_written(bytes);
    rd_init(&r, bytes);
    msgpack_read_timestamp(&r, &seconds_back, &ns_back);
    assert_int_equal(rd_done(&r), ERR_OK);
    assert_true(seconds_back == seconds && ns_back == ns);
}

static void
timestamps(void **state)
{
    static const struct slice bad[] = {
        SLICE_INIT("\xd7\xff\xee\x6b\x28\x00\x00\x00\x00\x00"), /* 10^9 ns */
        SLICE_INIT("\xd6\x01\x00\x00\x00\x00"),                 /* another type */
        SLICE_INIT("\xd5\xff\x00\x00"),                         /* of two bytes */
        SLICE_INIT("\xc7\x0c\xff\x3b\x9a\xca\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
        SLICE_INIT("\x05"),
    };
    struct rd r;
    int64_t seconds;
    uint32_t ns;

    (void)state;
    check_timestamp(0, 0, SLICE("\xd6\xff\x00\x00\x00\x00"));
    check_timestamp(UINT32_MAX, 0, SLICE("\xd6\xff\xff\xff\xff\xff"));
    check_timestamp(INT64_C(4294967296), 0, SLICE("\xd7\xff\x00\x00\x00\x01\x00\x00\x00\x00"));
    check_timestamp(1, 999999999, SLICE("\xd7\xff\xee\x6b\x27\xfc\x00\x00\x00\x01"));
    check_timestamp((INT64_C(1) << 34) - 1, 0, SLICE("\xd7\xff\x00\x00\x00\x03\xff\xff\xff\xff"));
    check_timestamp(INT64_C(1) << 34, 1,
                    SLICE("\xc7\x0c\xff\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x00"));
    check_timestamp(-1, 0, SLICE("\xc7\x0c\xff\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"));
    check_timestamp(INT64_MIN, 999999999,
                    SLICE("\xc7\x0c\xff\x3b\x9a\xc9\xff\x80\x00\x00\x00\x00\x00\x00\x00"));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        rd_init(&r, bad[i]);
        msgpack_read_timestamp(&r, &seconds, &ns);
        assert_int_equal(r.err, ERR_BAD);
        assert_true(seconds == 0 && ns == 0);
    }
    begin();
    msgpack_write_timestamp(&w, 0, 1000000000);
    assert_int_equal(wr_done(&w), ERR_RANGE);
    buf_free(&out);
}

static void
heads_of_arrays_and_maps(void **state)
{
    (void)state;
    begin();
    msgpack_write_array(&w, 0);
    msgpack_write_array(&w, 15);
    msgpack_write_array(&w, 16);
    msgpack_write_array(&w, 65535);
    msgpack_write_array(&w, 65536);
    check_written(SLICE("\x90\x9f\xdc\x00\x10\xdc\xff\xff\xdd\x00\x01\x00\x00"));
    begin();
    msgpack_write_map(&w, 0);
    msgpack_write_map(&w, 15);
    msgpack_write_map(&w, 16);
    msgpack_write_map(&w, 65535);
    msgpack_write_map(&w, 65536);
    check_written(SLICE("\x80\x8f\xde\x00\x10\xde\xff\xff\xdf\x00\x01\x00\x00"));
}

static const struct slice front_page = SLICE_INIT("\x82\xa7"
                                                  "compact"
                                                  "\xc3\xa6"
                                                  "schema"
                                                  "\x00");

static void
the_front_page_example(void **state)
{
    struct rd r;

    (void)state;
    begin();
    msgpack_write_map(&w, 2);
    msgpack_write_text(&w, "compact");
    msgpack_write_bool(&w, true);
    msgpack_write_text(&w, "schema");
    msgpack_write_u64(&w, 0);
    check_written(front_page);
    rd_init(&r, front_page);
    assert_int_equal(msgpack_read_peek(&r), MSGPACK_MAP);
    assert_int_equal(msgpack_read_map(&r), 2);
    assert_true(slice_eq(msgpack_read_str(&r), SLICE("compact")));
    assert_true(msgpack_read_bool(&r));
    assert_true(slice_eq(msgpack_read_str(&r), SLICE("schema")));
    assert_true(msgpack_read_u64(&r) == 0);
    assert_int_equal(rd_done(&r), ERR_OK);
}

static void
what_does_not_fit_is_taken_back(void **state)
{
    struct slice huge = slice_make(filler, (size_t)UINT32_MAX + 1);

    (void)state;
    buf_init(&out, 6);
    wr_init(&w, &out);
    msgpack_write_array(&w, 2);
    msgpack_write_text(&w, "too long");
    assert_int_equal(wr_done(&w), ERR_NOMEM);
    assert_int_equal(buf_len(&out), 0);
    if (huge.n > UINT32_MAX) { /* not on 32-bit machines */
        wr_init(&w, &out);
        msgpack_write_str(&w, huge);
        assert_int_equal(wr_done(&w), ERR_RANGE);
        wr_init(&w, &out);
        msgpack_write_map(&w, huge.n);
        assert_int_equal(wr_done(&w), ERR_RANGE);
    }
    buf_free(&out);
    assert_int_equal(mem_live(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(nil_and_truth),
        cmocka_unit_test(floating_point),
        cmocka_unit_test(strings_and_binary),
        cmocka_unit_test(extensions),
        cmocka_unit_test(timestamps),
        cmocka_unit_test(heads_of_arrays_and_maps),
        cmocka_unit_test(the_front_page_example),
        cmocka_unit_test(what_does_not_fit_is_taken_back),
    };

    for (size_t i = 0; i < sizeof(filler); i++)
        filler[i] = (uint8_t)(i * 31 + 7);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
