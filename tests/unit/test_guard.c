/*
 * test_guard.c: the guard page holds: bytes before it are a true copy, the byte after it ends a
 * program that reads it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/guard.h"

/* Whether a child that reads ${at} lives on. */
static bool
can_read(const uint8_t *at)
{
    pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        volatile uint8_t byte;

        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        byte = *at;
        (void)byte;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void
copies_and_guards(void **state)
{
    static uint8_t bytes[10000];
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 10000};

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct slice copy = guard_copy(slice_make(bytes, sizes[i]));

        assert_int_equal(copy.n, sizes[i]);
        assert_int_equal(memcmp(copy.p, bytes, sizes[i]), 0);
        if (sizes[i] > 0)
            assert_true(can_read(copy.p + copy.n - 1));
        assert_false(can_read(copy.p + copy.n));
        guard_free(copy);
    }
}

static void
can_be_had_often(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++)
        guard_free(guard_copy(SLICE("x")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_and_guards),
        cmocka_unit_test(can_be_had_often),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
