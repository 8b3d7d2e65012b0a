/*
 * test_base_mem.c: allocations are counted, the one a test asks for fails, bytes are wiped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "base/mem.h"

static void
counts_what_is_live(void **state)
{
    size_t before = mem_live();

    (void)state;
    void *a = mem_alloc(1), *b = mem_zalloc(10), *c = mem_array(3, 5), *d = mem_resize(NULL, 4);
    char *e = mem_text(SLICE("abc"));
    assert_int_equal(mem_live(), before + 5);
    assert_string_equal(e, "abc");
    b = mem_resize(b, 1000);
    assert_non_null(b);
    assert_memory_equal(b, "\0\0\0\0\0\0\0\0\0", 10);
    assert_int_equal(mem_live(), before + 5);
    mem_free(a);
    mem_free(b);
    mem_free(c);
    mem_free(d);
    mem_free(e);
    mem_free(NULL);
    assert_int_equal(mem_live(), before);
}

static void
no_bytes_are_still_an_allocation(void **state)
{
    void *a = mem_alloc(0), *b = mem_array(0, 8), *c = mem_resize(mem_alloc(3), 0);

    (void)state;
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    mem_free(a);
    mem_free(b);
    mem_free(c);
}

static void
an_array_that_overflows_is_refused(void **state)
{
    size_t before = mem_live();

    (void)state;
    assert_null(mem_array(SIZE_MAX / 2, 3));
    assert_null(mem_array(3, SIZE_MAX / 2));
    assert_int_equal(mem_live(), before);
}

static void
the_nth_allocation_fails_once(void **state)
{
    size_t before = mem_live();
    void *kept = mem_alloc(1);

    (void)state;
    mem_fail_at(2);
    void *first = mem_alloc(1);
    assert_non_null(first);
    assert_null(mem_alloc(1));
    void *third = mem_alloc(1);
    assert_non_null(third);

    mem_fail_at(1);
    assert_null(mem_resize(kept, 100)); /* and it is still there */
    assert_int_equal(mem_live(), before + 3);
    mem_fail_at(1);
    assert_null(mem_array(1, 1));
    mem_fail_at(1);
    assert_null(mem_text(SLICE("x")));
    mem_fail_at(1);
    mem_fail_at(0);
    void *fourth = mem_zalloc(1);
    assert_non_null(fourth);

    mem_free(first);
    mem_free(third);
    mem_free(fourth);
    mem_free(kept);
    assert_int_equal(mem_live(), before);
}

static void
wipes(void **state)
{
    char bytes[4] = "abc";

    (void)state;
    mem_wipe(bytes, 2);
    assert_memory_equal(bytes, "\0\0c", 4);
    mem_wipe(NULL, 0);
}

static void *
allocate_and_free(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2000; i++)
        mem_free(mem_resize(mem_alloc(8), 16));
    return NULL;
}

static void
threads_do_not_lose_counts(void **state)
{
    size_t before = mem_live();
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_free, NULL), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(mem_live(), before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_is_live),
        cmocka_unit_test(no_bytes_are_still_an_allocation),
        cmocka_unit_test(an_array_that_overflows_is_refused),
        cmocka_unit_test(the_nth_allocation_fails_once),
        cmocka_unit_test(wipes),
        cmocka_unit_test(threads_do_not_lose_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
