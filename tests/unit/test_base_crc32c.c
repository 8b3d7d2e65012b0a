/*
 * test_base_crc32c.c: the vectors of RFC 3720, any cut, and the instruction against the tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/crc32c.h"
#include "support/guard.h"

static void
check(const void *p, size_t n, uint32_t expected)
{
    assert_true(crc32c(0, p, n) == expected);
    assert_true(crc32c_by_table(0, p, n) == expected);
}

/* RFC 3720 appendix B.4; the check value of "123456789" is that of the CRC's usual definition. */
static void
known_values(void **state)
{
    static const uint8_t read_command[48] = {
        0x01, 0xc0, 0, 0, 0, 0, 0,    0, 0,    0, 0, 0,    0, 0, 0, 0,
        0x14, 0,    0, 0, 0, 0, 0x04, 0, 0,    0, 0, 0x14, 0, 0, 0, 0x18,
        0x28, 0,    0, 0, 0, 0, 0,    0, 0x02, 0, 0, 0,    0, 0, 0, 0};
    uint8_t bytes[32];

    (void)state;
    check("", 0, 0);
    check("123456789", 9, 0xe3069283);
    memset(bytes, 0, sizeof(bytes));
    check(bytes, sizeof(bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof(bytes));
    check(bytes, sizeof(bytes), 0x62a8ab43);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)i;
    check(bytes, sizeof(bytes), 0x46dd794e);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(31 - i);
    check(bytes, sizeof(bytes), 0x113fdb5c);
    check(read_command, sizeof(read_command), 0xd9963a56);
}

static void
fill(uint8_t *p, size_t n)
{
    uint32_t x = 1;

    for (size_t i = 0; i < n; i++) {
        x = x * 1664525U + 1013904223U;
        p[i] = (uint8_t)(x >> 24);
    }
}

static void
any_cut_gives_the_same(void **state)
{
    uint8_t bytes[1000]; /* the instruction takes 768 bytes at a time in another way */

    (void)state;
    fill(bytes, sizeof(bytes));
    uint32_t whole = crc32c(0, bytes, sizeof(bytes));
    for (size_t i = 0; i <= sizeof(bytes); i++) {
        assert_true(crc32c(crc32c(0, bytes, i), bytes + i, sizeof(bytes) - i) == whole);
        assert_true(crc32c_by_table(crc32c(0, bytes, i), bytes + i, sizeof(bytes) - i) == whole);
    }
}

static void
both_ways_agree_at_any_length_and_address(void **state)
{
    uint8_t bytes[1600];

    (void)state;
    fill(bytes, sizeof(bytes));
    for (size_t start = 0; start < 9; start++)
        for (size_t n = 0; start + n <= sizeof(bytes); n++) {
            uint32_t crc = (uint32_t)(n * 2654435761U);
            assert_true(crc32c(crc, bytes + start, n) == crc32c_by_table(crc, bytes + start, n));
        }
}

static void
nothing_is_read_past_the_end(void **state)
{
    uint8_t bytes[40];

    (void)state;
    fill(bytes, sizeof(bytes));
    for (size_t n = 0; n <= sizeof(bytes); n++) {
        struct slice s = guard_copy(slice_make(bytes, n));
        assert_true(crc32c(0, s.p, s.n) == crc32c_by_table(0, s.p, s.n));
        guard_free(s);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(any_cut_gives_the_same),
        cmocka_unit_test(both_ways_agree_at_any_length_and_address),
        cmocka_unit_test(nothing_is_read_past_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
