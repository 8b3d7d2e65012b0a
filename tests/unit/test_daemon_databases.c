/*
 * test_daemon_databases.c: the names that SHOW DATABASES lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/daemon_rig.h"

static struct databases *
of(struct daemon_rig *rig)
{
    return rig->daemon.databases;
}

static enum err
create(struct daemon_rig *rig, const char *name)
{
    enum err err = databases_create(of(rig), slice_of(name), daemon_rig_done, rig, &rig->info);

    return err == ERR_OK ? daemon_rig_wait(rig) : err;
}

static enum err
drop(struct daemon_rig *rig, const char *name)
{
    enum err err = databases_drop(of(rig), slice_of(name), daemon_rig_done, rig, &rig->info);

    return err == ERR_OK ? daemon_rig_wait(rig) : err;
}

static void
assert_names(struct daemon_rig *rig, const char *const *names, size_t count)
{
    assert_int_equal(databases_count(of(rig)), count);
    for (size_t i = 0; i < count; i++) {
        assert_true(slice_eq(databases_at(of(rig), i), slice_of(names[i])));
        assert_true(databases_has(of(rig), slice_of(names[i])));
    }
}

#define NAMES(rig, ...)                                             \
    do {                                                            \
        const char *const names[] = {__VA_ARGS__};                  \
        assert_names(rig, names, sizeof(names) / sizeof(names[0])); \
    } while (0)

static void
names_are_kept_in_order_over_restarts(void **state)
{
    struct daemon_rig *rig = *state;

    daemon_rig_open_databases(rig);
    assert_int_equal(databases_count(of(rig)), 0);
    assert_int_equal(create(rig, "b"), ERR_OK);
    assert_int_equal(create(rig, "a"), ERR_OK);
    assert_int_equal(create(rig, "\xc3\xa4 c"), ERR_OK);
    assert_int_equal(create(rig, "a"), ERR_OK); /* again: nothing new */
    NAMES(rig, "a", "b", "\xc3\xa4 c");
    daemon_rig_restart(rig);
    NAMES(rig, "a", "b", "\xc3\xa4 c");
    assert_int_equal(drop(rig, "b"), ERR_OK);
    assert_int_equal(drop(rig, "never there"), ERR_OK);
    NAMES(rig, "a", "\xc3\xa4 c");
    daemon_rig_restart(rig);
    NAMES(rig, "a", "\xc3\xa4 c");
    assert_false(databases_has(of(rig), SLICE("b")));
}

static void
a_write_lists_its_database_at_once_and_for_good(void **state)
{
    struct daemon_rig *rig = *state;

    daemon_rig_open_databases(rig);
    databases_note(of(rig), SLICE("telegraf"));
    databases_note(of(rig), SLICE("telegraf"));
    NAMES(rig, "telegraf");
    daemon_rig_turn(rig, 50);
    daemon_rig_restart(rig);
    NAMES(rig, "telegraf");
}

static void
what_cannot_be_committed_is_not_listed(void **state)
{
    struct daemon_rig *rig = *state;

    daemon_rig_open_databases(rig);
    for (size_t n = 1; n < 3; n++) {
        mem_fail_at(n);
        if (create(rig, "a") != ERR_OK)
            assert_int_equal(databases_count(of(rig)), 0);
        mem_fail_at(0);
        assert_int_equal(drop(rig, "a"), ERR_OK);
    }
    assert_int_equal(databases_count(of(rig)), 0);
}

static void
their_number_is_bounded(void **state)
{
    struct daemon_rig *rig = *state;
    char name[16];

    daemon_rig_open_databases(rig);
    for (unsigned i = 0; i < DATABASES_MAX; i++) {
        (void)snprintf(name, sizeof(name), "d%05u", i);
        databases_note(of(rig), slice_of(name));
    }
    assert_int_equal(databases_count(of(rig)), DATABASES_MAX);
    databases_note(of(rig), SLICE("one more"));
    assert_int_equal(databases_count(of(rig)), DATABASES_MAX);
    assert_int_equal(create(rig, "one more"), ERR_RANGE);
    assert_string_equal(rig->info.text, "there are 10000 databases already, the most there can be");
    assert_int_equal(create(rig, "d00007"), ERR_OK); /* it is there */
    assert_true(slice_eq(databases_at(of(rig), 9999), SLICE("d09999")));
}

static void
which_names_are_good(void **state)
{
    static const struct {
        struct slice name;
        bool good;
    } rows[] = {
        {SLICE_INIT("a"), true},        {SLICE_INIT("a b-c_d.e"), true},
        {SLICE_INIT("\xc3\xa4"), true}, {SLICE_INIT("..."), true},
        {SLICE_INIT(""), false},        {SLICE_INIT("."), false},
        {SLICE_INIT(".."), false},      {SLICE_INIT("a/b"), false},
        {SLICE_INIT("a\\b"), false},    {SLICE_INIT("a\nb"), false},
        {SLICE_INIT("a\0b"), false},    {SLICE_INIT("\x7f"), false},
        {SLICE_INIT("\xff"), false},
    };
    char longest[201];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(databases_is_valid(rows[i].name), rows[i].good);
    memset(longest, 'x', sizeof(longest));
    assert_true(databases_is_valid(slice_make(longest, 200)));
    assert_false(databases_is_valid(slice_make(longest, 201)));
}

int
main(void)
{
#define RUN(test) cmocka_unit_test_setup_teardown(test, daemon_rig_setup, daemon_rig_teardown)
    const struct CMUnitTest tests[] = {
        RUN(names_are_kept_in_order_over_restarts),
        RUN(a_write_lists_its_database_at_once_and_for_good),
        RUN(what_cannot_be_committed_is_not_listed),
        RUN(their_number_is_bounded),
        RUN(which_names_are_good),
    };

    databases_close(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
