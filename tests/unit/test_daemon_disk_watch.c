/*
 * test_daemon_disk_watch.c: when writes are refused for want of room on the disk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "daemon/disk_watch.h"
#include "support/fake_clock.h"

#define HUGE_MB (UINT64_MAX / 2000000)

static const struct config_disk roomy = {true, 60, 0, 0}, low = {true, 60, HUGE_MB, 0},
                                full = {true, 60, HUGE_MB, HUGE_MB},
                                off = {false, 60, HUGE_MB, HUGE_MB};

static bool
is_readonly_with(const struct config_disk *config, const char *path)
{
    struct loop *loop = loop_open(&clock_system);
    struct disk_watch *d;
    bool readonly;

    assert_non_null(loop);
    assert_int_equal(disk_watch_open(&d, loop, config, path, NULL), ERR_OK);
    assert_string_equal(disk_watch_path(d), path);
    readonly = disk_watch_is_readonly(d);
    disk_watch_close(d);
    loop_close(loop);
    assert_int_equal(mem_live(), 0);
    return readonly;
}

static void
only_the_second_threshold_refuses(void **state)
{
    (void)state;
    assert_false(is_readonly_with(&roomy, "/tmp"));
    assert_false(is_readonly_with(&low, "/tmp"));
    assert_true(is_readonly_with(&full, "/tmp"));
    assert_false(is_readonly_with(&off, "/tmp"));
}

static void
a_disk_that_cannot_be_asked_is_no_reason_to_refuse(void **state)
{
    (void)state;
    assert_false(is_readonly_with(&full, "/tmp/there/is/no/such/folder"));
}

static void
it_is_looked_at_again_and_again(void **state)
{
    struct config_disk config = full;
    struct fake_clock clock;
    struct loop *loop;
    struct disk_watch *d;

    (void)state;
    fake_clock_init(&clock, 1000, INT64_C(1796040000) * 1000000000);
    loop = loop_open(&clock.clock);
    assert_non_null(loop);
    assert_int_equal(disk_watch_open(&d, loop, &config, "/tmp", NULL), ERR_OK);
    assert_true(disk_watch_is_readonly(d));
    config.readonly_threshold_mb = 0; /* as if there were room again */
    fake_clock_advance(&clock, 59000);
    loop_turn(loop, clock.mono_ms);
    assert_true(disk_watch_is_readonly(d));
    fake_clock_advance(&clock, 2000);
    loop_turn(loop, clock.mono_ms);
    assert_false(disk_watch_is_readonly(d));
    config.warn_threshold_mb = 0;
    fake_clock_advance(&clock, 61000);
    loop_turn(loop, clock.mono_ms);
    assert_false(disk_watch_is_readonly(d));
    config = full;
    fake_clock_advance(&clock, 61000);
    loop_turn(loop, clock.mono_ms);
    assert_true(disk_watch_is_readonly(d));
    assert_true(disk_watch_free_bytes(d) > 0);
    disk_watch_close(d);
    loop_close(loop);
    assert_int_equal(mem_live(), 0);
}

static void
memory_runs_out_cleanly(void **state)
{
    struct loop *loop = loop_open(&clock_system);
    struct disk_watch *d;
    struct errinfo info;

    (void)state;
    mem_fail_at(1);
    assert_int_equal(disk_watch_open(&d, loop, &roomy, "/tmp", &info), ERR_NOMEM);
    mem_fail_at(2); /* the timer: it stays open, and says so */
    assert_int_equal(disk_watch_open(&d, loop, &roomy, "/tmp", &info), ERR_OK);
    mem_fail_at(0);
    disk_watch_close(d);
    disk_watch_close(NULL);
    loop_close(loop);
    assert_int_equal(mem_live(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_second_threshold_refuses),
        cmocka_unit_test(a_disk_that_cannot_be_asked_is_no_reason_to_refuse),
        cmocka_unit_test(it_is_looked_at_again_and_again),
        cmocka_unit_test(memory_runs_out_cleanly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
