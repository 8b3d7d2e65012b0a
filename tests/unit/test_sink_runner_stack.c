/*
 * test_sink_runner_stack.c: a runner's thread stays far within its stack.
 *
 * Pages of a stack that were never touched are not resident, so the kernel has painted it: what is
 * resident at the thread's end is what it used, whole pages of it. Where /proc/self/smaps is
 * missing there is nothing to measure; sanitizers make frames larger, so there the bound is not
 * asserted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/num.h"
#include "support/committer_drive.h"
#include "support/sink_drive.h"
#include "support/sink_peer.h"
#include "sink/runner.h"

#define BOUND_KB 96u /* of 512; 20 were measured */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#endif

static struct sink_peer peer;
static uint64_t used_kb; /* by the last runner; 0: not measured */

static uint64_t
number_after(const char *line, const char *name)
{
    struct slice rest = slice_trim(slice_from(slice_of(line), strlen(name)));
    uint64_t n = 0;

    rest = slice_to(rest, slice_find(rest, ' '));
    return num_u64(rest, &n) == ERR_OK ? n : 0;
}

/* On the runner's thread, as its last act: how much of the mapping around a local of ours is
 * resident. */
static void
measure(void *arg)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    uint64_t here = (uint64_t)(uintptr_t)&line, from, to;
    bool inside = false;

    (void)arg;
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        struct slice all = slice_of(line);
        size_t dash = slice_find(all, '-'), blank = slice_find(all, ' ');

        if (dash < blank && num_hex(slice_to(all, dash), &from) == ERR_OK &&
            num_hex(slice_make(line + dash + 1, blank - dash - 1), &to) == ERR_OK)
            inside = from <= here && here < to;
        else if (inside && strncmp(line, "Rss:", 4) == 0)
            used_kb = number_after(line, "Rss:");
    }
    if (maps != NULL)
        (void)fclose(maps);
}

/* A runner that delivers, filters by expressions, fails, is refused and is altered. */
static void
measure_type(void **state, const char *type, const char *user, const char *path,
             const char *const *options)
{
    struct committer_drive *drive = *state;
    struct runner_config config = {.clock = &drive->time.clock,
                                   .node = "node-1",
                                   .backoff = {1, 1, 2},
                                   .default_batch_size = 100,
                                   .ended = measure};
    struct runner *runner;
    struct sink_def def;
    char text[120];

    (void)snprintf(text, sizeof(text), "%s127.0.0.1:%u%s", user, sink_peer_port(&peer), path);
    sink_drive_def(&def, type, text, options);
    assert_int_equal(
        sink_def_add(&def.exclude, SELECTOR_REGEX, SLICE("^(a|b)+c*(d|e){2,5}$"), NULL), ERR_OK);
    committer_drive_create(drive, def.id, false, false);
    config.store = drive->s;
    config.committer = drive->c;
    used_kb = 0;
    assert_int_equal(runner_start(&runner, &def, &config, NULL), ERR_OK);
    for (int i = 0; i < 20; i++) {
        sink_peer_set_mood(&peer, i % 3 == 1 ? CONTRACT_BREAKS : CONTRACT_CONFIRMS,
                           (unsigned)i % 4);
        assert_int_equal(committer_drive_write_points(drive, 60, 100), ERR_OK);
        if (i % 5 == 4)
            assert_int_equal(runner_alter(runner, &def), ERR_OK);
        committer_drive_sleep_ms(5);
    }
    sink_peer_set_mood(&peer, CONTRACT_CONFIRMS, 0);
    for (int i = 0; i < 5000 && committer_drive_record(drive, def.id).cursor < 1200; i++)
        committer_drive_sleep_ms(2);
    assert_int_equal(committer_drive_record(drive, def.id).forwarded, 1200);
    runner_stop(runner);
    runner_join(runner);
    sink_def_free(&def);
    print_message("%s: %llu KiB of its stack\n", type, (unsigned long long)used_kb);
#ifndef HAS_SANITIZER
    assert_true(used_kb <= BOUND_KB);
#endif
}

static void
http_line(void **state)
{
    static const char *const options[] = {"headers", "X: y", NULL};

    measure_type(state, "http_line", "http://u:p@", "/write?db={db}", options);
}

static void
http_msgpack(void **state)
{
    measure_type(state, "http_msgpack", "http://", "/write?db=x", NULL);
}

static void
mqtt(void **state)
{
    sink_peer_stop(&peer);
    sink_peer_mqtt(&peer);
    sink_peer_start(&peer);
    measure_type(state, "mqtt", "mqtt://", "/a/{measurement}/{tag:host}", NULL);
}

static int
setup(void **state)
{
    if (committer_drive_setup(state) != 0)
        return -1;
    committer_drive_start(*state, 32u << 20);
    sink_peer_http(&peer);
    sink_peer_start(&peer);
    return 0;
}

static int
teardown(void **state)
{
    sink_peer_stop(&peer);
    return committer_drive_teardown(state);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(http_line, setup, teardown),
        cmocka_unit_test_setup_teardown(http_msgpack, setup, teardown),
        cmocka_unit_test_setup_teardown(mqtt, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
