/*
 * test_base_buf.c: a buffer grows to its maximum and never beyond; a failed add adds nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

static void
check_content(const struct buf *b, const char *expected)
{
    assert_int_equal(buf_len(b), strlen(expected));
    assert_true(slice_eq(buf_peek(b), slice_of(expected)));
}

static void
adds_and_consumes(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    check_content(&b, "");
    assert_int_equal(buf_add(&b, SLICE("abc")), ERR_OK);
    assert_int_equal(buf_add_byte(&b, 'd'), ERR_OK);
    assert_int_equal(buf_add_text(&b, "ef"), ERR_OK);
    assert_int_equal(buf_add(&b, slice_make(NULL, 0)), ERR_OK);
    assert_int_equal(buf_printf(&b, "%d%s", 12, "x"), ERR_OK);
    check_content(&b, "abcdef12x");
    buf_consume(&b, 4);
    check_content(&b, "ef12x");
    buf_cut(&b, 2);
    check_content(&b, "ef");
    buf_cut(&b, 5);
    check_content(&b, "ef");
    buf_clear(&b);
    check_content(&b, "");
    buf_free(&b);
    assert_int_equal(buf_add_text(&b, "again"), ERR_OK);
    check_content(&b, "again");
    buf_free(&b);
}

static void
holds_exactly_its_maximum(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 10);
    assert_int_equal(buf_add_text(&b, "01234567890"), ERR_NOMEM);
    assert_int_equal(buf_add_text(&b, "01234"), ERR_OK);
    assert_int_equal(buf_printf(&b, "%s", "567890"), ERR_NOMEM);
    assert_int_equal(buf_printf(&b, "%s", "56789"), ERR_OK);
    check_content(&b, "0123456789");
    assert_int_equal(buf_add_byte(&b, 'x'), ERR_NOMEM);
    assert_null(buf_reserve(&b, 1));
    assert_null(buf_reserve(&b, SIZE_MAX));
    assert_non_null(buf_reserve(&b, 0));
    buf_consume(&b, 3);
    assert_int_equal(buf_add_text(&b, "abc"), ERR_OK);
    check_content(&b, "3456789abc");
    buf_free(&b);
}

static void
a_buffer_of_nothing(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 0);
    assert_int_equal(buf_add(&b, SLICE("")), ERR_OK);
    assert_int_equal(buf_add_byte(&b, 'x'), ERR_NOMEM);
    assert_int_equal(buf_printf(&b, "%s", ""), ERR_OK);
    buf_free(&b);
}

/* What goes in comes out, in order, while head and tail move through the memory. */
static void
keeps_the_order_while_it_moves(void **state)
{
    struct buf b;
    uint8_t in = 0, out = 0;

    (void)state;
    buf_init(&b, 300);
    for (unsigned round = 0; round < 2000; round++) {
        unsigned adds = round * 7 % 50, takes = round * 11 % 50;
        for (unsigned i = 0; i < adds; i++)
            if (buf_add_byte(&b, in) == ERR_OK)
                in++;
        for (unsigned i = 0; i < takes && buf_len(&b) > 0; i++) {
            assert_int_equal(buf_peek(&b).p[0], out++);
            buf_consume(&b, 1);
        }
        assert_true(buf_len(&b) <= 300 && b.cap <= 300);
    }
    buf_free(&b);
}

static void
without_memory_nothing_changes(void **state)
{
    struct buf b;
    size_t before = mem_live();

    (void)state;
    buf_init(&b, 1000);
    mem_fail_at(1);
    assert_int_equal(buf_add_text(&b, "abc"), ERR_NOMEM);
    assert_int_equal(buf_add_text(&b, "abc"), ERR_OK);
    mem_fail_at(1);
    assert_null(buf_reserve(&b, 500));
    mem_fail_at(0);
    check_content(&b, "abc");
    buf_wipe(&b);
    assert_int_equal(mem_live(), before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_and_consumes),
        cmocka_unit_test(holds_exactly_its_maximum),
        cmocka_unit_test(a_buffer_of_nothing),
        cmocka_unit_test(keeps_the_order_while_it_moves),
        cmocka_unit_test(without_memory_nothing_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
