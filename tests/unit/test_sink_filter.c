/*
 * test_sink_filter.c: which databases and measurements a sink takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sink/filter.h"
#include "support/sink_drive.h"

struct selection {
    struct sink_def def;
    struct filter *filter;
};

static void
setup(struct selection *s)
{
    sink_drive_def(&s->def, "stdout", NULL, NULL);
    s->filter = NULL;
}

static void
include(struct selection *s, enum selector_kind kind, const char *text)
{
    assert_int_equal(sink_def_add(&s->def.include, kind, slice_of(text), NULL), ERR_OK);
}

static void
exclude(struct selection *s, enum selector_kind kind, const char *text)
{
    assert_int_equal(sink_def_add(&s->def.exclude, kind, slice_of(text), NULL), ERR_OK);
}

static void
compile(struct selection *s)
{
    assert_int_equal(filter_open(&s->filter, &s->def, NULL), ERR_OK);
}

static void
teardown(struct selection *s)
{
    filter_close(s->filter);
    sink_def_free(&s->def);
    assert_int_equal(mem_live(), 0);
}

/* Asked twice: the second answer may come from memory. */
static bool
takes(struct selection *s, struct slice name)
{
    bool first = filter_measurement(s->filter, name);

    assert_int_equal(filter_measurement(s->filter, name), first);
    return first;
}

#define TAKES(s, name) assert_true(takes(s, SLICE(name)))
#define LEAVES(s, name) assert_false(takes(s, SLICE(name)))

/* ---- selectors ---- */

static void
without_selectors_everything_is_taken(void **state)
{
    struct selection s;

    (void)state;
    setup(&s);
    compile(&s);
    TAKES(&s, "cpu");
    TAKES(&s, "");
    TAKES(&s, "a\0b");
    assert_true(filter_database(s.filter, SLICE("any")));
    teardown(&s);
}

static void
names_are_exact(void **state)
{
    struct selection s;

    (void)state;
    setup(&s);
    include(&s, SELECTOR_NAME, "cpu");
    include(&s, SELECTOR_NAME, "me*m");
    compile(&s);
    TAKES(&s, "cpu");
    TAKES(&s, "me*m");
    LEAVES(&s, "CPU");
    LEAVES(&s, "cpu0");
    LEAVES(&s, "cp");
    LEAVES(&s, "mem");
    LEAVES(&s, "cpu\0");
    teardown(&s);
}

static void
globs(void **state)
{
    struct selection s;

    (void)state;
    setup(&s);
    include(&s, SELECTOR_GLOB, "cpu*");
    include(&s, SELECTOR_GLOB, "*_io");
    compile(&s);
    TAKES(&s, "cpu");
    TAKES(&s, "cpu_total");
    TAKES(&s, "cpu\0x");
    TAKES(&s, "disk_io");
    LEAVES(&s, "xcpu");
    LEAVES(&s, "disk_ios");
    teardown(&s);
}

static void
regular_expressions_match_anywhere(void **state)
{
    struct selection s;

    (void)state;
    setup(&s);
    include(&s, SELECTOR_REGEX, "^(cpu|mem)[0-9]+$");
    include(&s, SELECTOR_REGEX, "net");
    compile(&s);
    TAKES(&s, "cpu0");
    TAKES(&s, "mem12");
    TAKES(&s, "the net is");
    LEAVES(&s, "cpu");
    LEAVES(&s, "xcpu0");
    teardown(&s);
}

static void
exclude_takes_away(void **state)
{
    struct selection s;

    (void)state;
    setup(&s);
    include(&s, SELECTOR_GLOB, "cpu*");
    exclude(&s, SELECTOR_NAME, "cpu_total");
    exclude(&s, SELECTOR_REGEX, "guest");
    compile(&s);
    TAKES(&s, "cpu0");
    LEAVES(&s, "cpu_total");
    LEAVES(&s, "cpu_guest_nice");
    LEAVES(&s, "mem");
    teardown(&s);
}

static void
exclude_alone_leaves_the_rest(void **state)
{
    struct selection s;

    (void)state;
    setup(&s);
    exclude(&s, SELECTOR_GLOB, "*");
    exclude(&s, SELECTOR_NAME, "x");
    compile(&s);
    LEAVES(&s, "cpu");
    filter_close(s.filter);
    sink_def_clear(&s.def.exclude);
    exclude(&s, SELECTOR_NAME, "x");
    compile(&s);
    TAKES(&s, "cpu");
    LEAVES(&s, "x");
    teardown(&s);
}

static void
databases_are_exact(void **state)
{
    struct selection s;

    (void)state;
    setup(&s);
    assert_int_equal(sink_def_add(&s.def.databases, SELECTOR_NAME, SLICE("a"), NULL), ERR_OK);
    assert_int_equal(sink_def_add(&s.def.databases, SELECTOR_NAME, SLICE("b*"), NULL), ERR_OK);
    compile(&s);
    assert_true(filter_database(s.filter, SLICE("a")));
    assert_true(filter_database(s.filter, SLICE("b*")));
    assert_false(filter_database(s.filter, SLICE("A")));
    assert_false(filter_database(s.filter, SLICE("bc")));
    assert_false(filter_database(s.filter, SLICE("")));
    teardown(&s);
}

/* ---- odd names ---- */

static void
a_name_with_nul_is_seen_whole_by_expressions(void **state)
{
    struct selection s;

    (void)state;
    setup(&s);
    include(&s, SELECTOR_REGEX, "secret$");
    include(&s, SELECTOR_REGEX, "^a.b$");
    compile(&s);
    TAKES(&s, "x\0secret");
    TAKES(&s, "a\0b");
    LEAVES(&s, "secret\0x");
    teardown(&s);
}

static void
the_longest_name_is_judged(void **state)
{
    static char name[65535];
    struct selection s;

    (void)state;
    setup(&s);
    include(&s, SELECTOR_REGEX, "^x+y$");
    include(&s, SELECTOR_GLOB, "z*z");
    compile(&s);
    memset(name, 'x', sizeof(name));
    assert_false(takes(&s, slice_make(name, sizeof(name))));
    name[sizeof(name) - 1] = 'y';
    assert_true(takes(&s, slice_make(name, sizeof(name))));
    name[0] = name[sizeof(name) - 1] = 'z';
    assert_true(takes(&s, slice_make(name, sizeof(name))));
    teardown(&s);
}

static void
lengths_about_what_is_remembered(void **state)
{
    char name[80];
    struct selection s;

    (void)state;
    setup(&s);
    include(&s, SELECTOR_REGEX, "^a*$");
    compile(&s);
    memset(name, 'a', sizeof(name));
    for (size_t n = 1; n <= sizeof(name); n++) {
        assert_true(takes(&s, slice_make(name, n)));
        name[n - 1] = 'b';
        assert_false(takes(&s, slice_make(name, n)));
        name[n - 1] = 'a';
        assert_true(takes(&s, slice_make(name, n)));
    }
    teardown(&s);
}

/* Far more names than are remembered, each asked again and again in another order. */
static void
collisions_do_not_mix_names_up(void **state)
{
    struct selection s;
    char name[32];

    (void)state;
    setup(&s);
    include(&s, SELECTOR_REGEX, "[02468]$");
    compile(&s);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 5000; i++) {
            unsigned n = (i * 2654435761u + round) % 5000;

            (void)snprintf(name, sizeof(name), "m%u", n);
            assert_int_equal(takes(&s, slice_of(name)), n % 2 == 0);
        }
    }
    teardown(&s);
}

static void
the_store_asks_the_same(void **state)
{
    struct selection s;
    struct store_want want;

    (void)state;
    setup(&s);
    include(&s, SELECTOR_NAME, "cpu");
    assert_int_equal(sink_def_add(&s.def.databases, SELECTOR_NAME, SLICE("a"), NULL), ERR_OK);
    compile(&s);
    want = filter_want(s.filter);
    assert_true(want.database(want.arg, SLICE("a")));
    assert_false(want.database(want.arg, SLICE("b")));
    assert_true(want.measurement(want.arg, SLICE("cpu")));
    assert_false(want.measurement(want.arg, SLICE("mem")));
    teardown(&s);
}

/* ---- memory ---- */

/* For want of memory no point may be left out: once it is open, a filter needs none. */
static void
judging_needs_no_memory(void **state)
{
    static char name[65535];
    struct selection s;

    (void)state;
    setup(&s);
    include(&s, SELECTOR_REGEX, "x");
    compile(&s);
    memset(name, 'x', sizeof(name));
    mem_fail_at(1);
    assert_true(takes(&s, SLICE("x")));
    assert_true(takes(&s, slice_make(name, sizeof(name))));
    mem_fail_at(0);
    teardown(&s);
}

static void
memory_runs_out_cleanly(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        struct selection s;
        struct errinfo info = {ERR_OK, 0, ""};
        enum err err;

        assert_in_range(n, 1, 20);
        setup(&s);
        include(&s, SELECTOR_REGEX, "x");
        include(&s, SELECTOR_NAME, "y");
        exclude(&s, SELECTOR_REGEX, "z");
        mem_fail_at(n);
        err = filter_open(&s.filter, &s.def, &info);
        mem_fail_at(0);
        assert_int_equal(err, info.code);
        teardown(&s);
        if (err == ERR_OK)
            break;
        assert_int_equal(err, ERR_NOMEM);
    }
    filter_close(NULL);
}

static void
an_expression_that_does_not_compile_is_named(void **state)
{
    struct selection s;
    struct errinfo info;
    char broken[] = "a(";

    (void)state;
    setup(&s);
    include(&s, SELECTOR_REGEX, "ok");
    include(&s, SELECTOR_NAME, "a(");
    s.def.include.list[1].kind = SELECTOR_REGEX; /* past the check that CREATE makes */
    assert_string_equal(s.def.include.list[1].text, broken);
    assert_int_equal(filter_open(&s.filter, &s.def, &info), ERR_CONFIG);
    assert_string_equal(info.text, "regular expression /a(/ does not compile");
    teardown(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_selectors_everything_is_taken),
        cmocka_unit_test(names_are_exact),
        cmocka_unit_test(globs),
        cmocka_unit_test(regular_expressions_match_anywhere),
        cmocka_unit_test(exclude_takes_away),
        cmocka_unit_test(exclude_alone_leaves_the_rest),
        cmocka_unit_test(databases_are_exact),
        cmocka_unit_test(a_name_with_nul_is_seen_whole_by_expressions),
        cmocka_unit_test(the_longest_name_is_judged),
        cmocka_unit_test(lengths_about_what_is_remembered),
        cmocka_unit_test(collisions_do_not_mix_names_up),
        cmocka_unit_test(the_store_asks_the_same),
        cmocka_unit_test(judging_needs_no_memory),
        cmocka_unit_test(memory_runs_out_cleanly),
        cmocka_unit_test(an_expression_that_does_not_compile_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
