/*
 * test_msgpack_read.c: legal forms that nobody has to write, cuts, wrong types, lying counts, deep
 * nesting; nothing is read past the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "msgpack/msgpack_read.h"
#include "support/guard.h"

/* Forms that are legal, but that nobody has to write. */
static void
integers_in_longer_forms(void **state)
{
    static const struct slice fives[] = {
        SLICE_INIT("\xcc\x05"),
        SLICE_INIT("\xcd\x00\x05"),
        SLICE_INIT("\xce\x00\x00\x00\x05"),
        SLICE_INIT("\xcf\x00\x00\x00\x00\x00\x00\x00\x05"),
        SLICE_INIT("\xd0\x05"),
        SLICE_INIT("\xd1\x00\x05"),
        SLICE_INIT("\xd2\x00\x00\x00\x05"),
        SLICE_INIT("\xd3\x00\x00\x00\x00\x00\x00\x00\x05"),
    };

    (void)state;
    struct rd most;
    rd_init(&most, SLICE("\xd3\x7f\xff\xff\xff\xff\xff\xff\xff"));
    assert_true(msgpack_read_i64(&most) == INT64_MAX);
    rd_init(&most, SLICE("\xd3\x7f\xff\xff\xff\xff\xff\xff\xff"));
    assert_true(msgpack_read_u64(&most) == INT64_MAX);
    for (size_t i = 0; i < sizeof(fives) / sizeof(fives[0]); i++) {
        struct rd r;
        rd_init(&r, fives[i]);
        assert_true(msgpack_read_u64(&r) == 5);
        assert_int_equal(rd_done(&r), ERR_OK);
        rd_init(&r, fives[i]);
        assert_true(msgpack_read_i64(&r) == 5);
        assert_int_equal(rd_done(&r), ERR_OK);
    }
}

/* A count that the input cannot hold is seen at once, not after a loop over it. */
static void
counts_that_lie(void **state)
{
    struct rd r;

    (void)state;
    rd_init(&r, SLICE("\xdd\xff\xff\xff\xff"
                      "12345"));
    assert_int_equal(msgpack_read_array(&r), 0);
    assert_int_equal(r.err, ERR_SHORT);
    rd_init(&r, SLICE("\xdf\xff\xff\xff\xff"
                      "12345"));
    assert_int_equal(msgpack_read_map(&r), 0);
    assert_int_equal(r.err, ERR_SHORT);
    rd_init(&r, SLICE("\x82"
                      "123"));
    assert_int_equal(msgpack_read_map(&r), 0);
    assert_int_equal(r.err, ERR_SHORT);
    rd_init(&r, SLICE("\x82"
                      "1234"));
    assert_int_equal(msgpack_read_map(&r), 2);
    rd_init(&r, SLICE("\xdb\xff\xff\xff\xff"
                      "12345"));
    assert_int_equal(msgpack_read_str(&r).n, 0);
    assert_int_equal(r.err, ERR_SHORT);
}

/* One value of each form, with what a skip must take. */
static const struct slice samples[] = {
    SLICE_INIT("\x05"),
    SLICE_INIT("\xf0"),
    SLICE_INIT("\xc0"),
    SLICE_INIT("\xc2"),
    SLICE_INIT("\xc3"),
    SLICE_INIT("\xc4\x02"
               "ab"),
    SLICE_INIT("\xc5\x00\x02"
               "ab"),
    SLICE_INIT("\xc6\x00\x00\x00\x02"
               "ab"),
    SLICE_INIT("\xc7\x02\x05"
               "ab"),
    SLICE_INIT("\xc8\x00\x02\x05"
               "ab"),
    SLICE_INIT("\xc9\x00\x00\x00\x02\x05"
               "ab"),
    SLICE_INIT("\xca"
               "1234"),
    SLICE_INIT("\xcb"
               "12345678"),
    SLICE_INIT("\xcc"
               "1"),
    SLICE_INIT("\xcd"
               "12"),
    SLICE_INIT("\xce"
               "1234"),
    SLICE_INIT("\xcf"
               "12345678"),
    SLICE_INIT("\xd0"
               "1"),
    SLICE_INIT("\xd1"
               "12"),
    SLICE_INIT("\xd2"
               "1234"),
    SLICE_INIT("\xd3"
               "12345678"),
    SLICE_INIT("\xd4\x05"
               "1"),
    SLICE_INIT("\xd5\x05"
               "12"),
    SLICE_INIT("\xd6\x05"
               "1234"),
    SLICE_INIT("\xd7\x05"
               "12345678"),
    SLICE_INIT("\xd8\x05"
               "1234567812345678"),
    SLICE_INIT("\xa2"
               "ab"),
    SLICE_INIT("\xd9\x02"
               "ab"),
    SLICE_INIT("\xda\x00\x02"
               "ab"),
    SLICE_INIT("\xdb\x00\x00\x00\x02"
               "ab"),
    SLICE_INIT("\x92\x01\xa1"
               "a"),
    SLICE_INIT("\xdc\x00\x02\x90\x80"),
    SLICE_INIT("\x90"),
    SLICE_INIT("\x80"),
    SLICE_INIT("\xa0"),
    SLICE_INIT("\x7f"),
    SLICE_INIT("\xe0"),
    SLICE_INIT("\xdd\x00\x00\x00\x02\x91\x91\x01\x02"),
    SLICE_INIT("\x81\x01\x81\x02\x92\x03\x04"),
    SLICE_INIT("\xde\x00\x01\x01\x02"),
    SLICE_INIT("\xdf\x00\x00\x00\x01\x01\x02"),
    SLICE_INIT("\x82\xa7"
               "compact"
               "\xc3\xa6"
               "schema"
               "\x00"),
};

static void
skips_one_value_of_every_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        uint8_t room[64];
        struct rd r;
        memcpy(room, samples[i].p, samples[i].n);
        room[samples[i].n] = 0x2a;
        rd_init(&r, slice_make(room, samples[i].n + 1));
        assert_true(slice_eq(msgpack_read_skip(&r), samples[i]));
        assert_true(msgpack_read_u64(&r) == 0x2a);
        assert_int_equal(rd_done(&r), ERR_OK);
        rd_init(&r, samples[i]); /* and with nothing behind it */
        assert_int_equal(msgpack_read_skip(&r).n, samples[i].n);
        assert_int_equal(rd_done(&r), ERR_OK);
    }
}

static void
every_prefix_is_short(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        for (size_t n = 0; n < samples[i].n; n++) {
            struct slice s = guard_copy(slice_to(samples[i], n));
            struct rd r;
            rd_init(&r, s);
            assert_null(msgpack_read_skip(&r).p);
            assert_int_equal(rd_done(&r), ERR_SHORT);
            guard_free(s);
        }
}

/* Every reader on every sample, whole and cut: an error or the right type, never a wild read. */
static void
wrong_types_are_refused(void **state)
{
    static const enum msgpack_type wanted[] = {MSGPACK_NIL, MSGPACK_BOOL, MSGPACK_FLOAT,
                                               MSGPACK_STR, MSGPACK_BIN,  MSGPACK_ARRAY,
                                               MSGPACK_MAP, MSGPACK_EXT};

    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        for (size_t n = 0; n <= samples[i].n; n++)
            for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++) {
                struct slice s = guard_copy(slice_to(samples[i], n));
                struct rd r;
                int8_t type;
                rd_init(&r, s);
                enum msgpack_type is = msgpack_read_peek(&r);
                switch (wanted[k]) {
                case MSGPACK_NIL:
                    msgpack_read_nil(&r);
                    break;
                case MSGPACK_BOOL:
                    (void)msgpack_read_bool(&r);
                    break;
                case MSGPACK_FLOAT:
                    (void)msgpack_read_f64(&r);
                    break;
                case MSGPACK_STR:
                    (void)msgpack_read_str(&r);
                    break;
                case MSGPACK_BIN:
                    (void)msgpack_read_bin(&r);
                    break;
                case MSGPACK_ARRAY:
                    (void)msgpack_read_array(&r);
                    break;
                case MSGPACK_MAP:
                    (void)msgpack_read_map(&r);
                    break;
                case MSGPACK_EXT:
                    (void)msgpack_read_ext(&r, &type);
                    break;
                case MSGPACK_NONE:
                case MSGPACK_UINT:
                case MSGPACK_INT:
                    fail();
                    break;
                }
                if (n == samples[i].n)
                    assert_int_equal(r.err, is == wanted[k] ? ERR_OK : ERR_BAD);
                else
                    assert_true(r.err != ERR_OK || is == MSGPACK_ARRAY || is == MSGPACK_MAP);
                assert_int_equal(msgpack_read_peek(&r) == MSGPACK_NONE,
                                 r.err != ERR_OK || rd_left(&r) == 0);
                guard_free(s);
            }
}

static void
the_unused_byte_begins_nothing(void **state)
{
    struct rd r;

    (void)state;
    rd_init(&r, SLICE("\xc1"));
    assert_int_equal(msgpack_read_peek(&r), MSGPACK_NONE);
    assert_null(msgpack_read_skip(&r).p);
    assert_int_equal(rd_done(&r), ERR_BAD);
    rd_init(&r, SLICE("\x91\xc1"));
    (void)msgpack_read_skip(&r);
    assert_int_equal(rd_done(&r), ERR_BAD);
}

static void
nesting_has_a_limit(void **state)
{
    uint8_t deep[MSGPACK_DEPTH_MAX + 2];
    struct rd r;

    (void)state;
    memset(deep, 0x91, sizeof(deep));
    deep[MSGPACK_DEPTH_MAX] = 0x01;
    rd_init(&r, slice_make(deep, MSGPACK_DEPTH_MAX + 1));
    assert_int_equal(msgpack_read_skip(&r).n, MSGPACK_DEPTH_MAX + 1);
    assert_int_equal(rd_done(&r), ERR_OK);
    deep[MSGPACK_DEPTH_MAX] = 0x91;
    deep[MSGPACK_DEPTH_MAX + 1] = 0x01;
    rd_init(&r, slice_make(deep, MSGPACK_DEPTH_MAX + 2));
    assert_null(msgpack_read_skip(&r).p);
    assert_int_equal(rd_done(&r), ERR_BAD);
}

static void
errors_stick_and_give_nothing(void **state)
{
    struct rd r;
    int8_t type = 9;

    (void)state;
    rd_init(&r, SLICE("\xc3\x05\x05"));
    assert_true(msgpack_read_u64(&r) == 0);
    assert_int_equal(r.err, ERR_BAD);
    assert_true(msgpack_read_u64(&r) == 0);
    assert_int_equal(msgpack_read_ext(&r, &type).n, 0);
    assert_int_equal(type, 0);
    assert_int_equal(rd_done(&r), ERR_BAD);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_in_longer_forms),
        cmocka_unit_test(counts_that_lie),
        cmocka_unit_test(skips_one_value_of_every_form),
        cmocka_unit_test(every_prefix_is_short),
        cmocka_unit_test(wrong_types_are_refused),
        cmocka_unit_test(the_unused_byte_begins_nothing),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(errors_stick_and_give_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
