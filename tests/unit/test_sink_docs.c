/*
 * The tables of options in docs/user-guide/sinks.md say what the program does: each is made here
 * from the option tables and must stand there, byte for byte, behind its mark. When an option
 * changes, the test prints the table that belongs into the page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "sink/sink.h"
#include "sink/sink_options.h"
#include "sink/sink_types.h"

#define PAGE "docs/user-guide/sinks.md"

static char page[256 * 1024];

static int
read_page(void **state)
{
    FILE *file = fopen(PAGE, "r");
    size_t n;

    (void)state;
    if (file == NULL) {
        print_error("%s cannot be read: run this in the source folder\n", PAGE);
        return -1;
    }
    n = fread(page, 1, sizeof(page) - 1, file);
    page[n] = 0;
    return fclose(file) == 0 && n < sizeof(page) - 1 ? 0 : -1;
}

static void
put(struct buf *out, const char *text)
{
    assert_int_equal(buf_add_text(out, text), ERR_OK);
}

static void
put_words(struct buf *out, const char *words)
{
    struct slice rest = slice_of(words), word;
    const char *between = "`";

    while (slice_split(&rest, ' ', &word)) {
        put(out, between);
        assert_int_equal(buf_add(out, word), ERR_OK);
        between = "`, `";
    }
    put(out, "`");
}

static void
put_values(struct buf *out, const struct option *o)
{
    char low[NUM_DURATION_TEXT], high[NUM_DURATION_TEXT];

    switch (o->kind) {
    case OPTION_BOOL:
        put_words(out, "true false");
        return;
    case OPTION_CHOICE:
        put_words(out, o->choices);
        return;
    case OPTION_NUMBER:
        assert_int_equal(buf_printf(out, "%" PRId64 " to %" PRId64, o->min, o->max), ERR_OK);
        return;
    case OPTION_DURATION:
        assert_int_equal(buf_printf(out, "%s to %s", num_put_duration(low, o->min * 1000000),
                                    num_put_duration(high, o->max * 1000000)),
                         ERR_OK);
        return;
    case OPTION_TEXT:
    case OPTION_SECRET:
        assert_int_equal(buf_printf(out, "%" PRId64 " to %" PRId64 " bytes%s", o->min, o->max,
                                    o->kind == OPTION_SECRET ? ", secret" : ""),
                         ERR_OK);
        return;
    }
}

static void
put_row(struct buf *out, const struct option *o)
{
    bool none = o->fallback == NULL || o->fallback[0] == 0;

    assert_int_equal(buf_printf(out, "| `%s` | %s%s%s | ", o->name, none ? "" : "`",
                                none ? "none" : o->fallback, none ? "" : "`"),
                     ERR_OK);
    put_values(out, o);
    assert_int_equal(buf_printf(out, " | %s |\n", o->help), ERR_OK);
}

/* The options [from, to) of a type, under their mark. */
static void
assert_table(const char *mark, const struct sink_type *type, size_t from, size_t to)
{
    struct buf table;

    buf_init(&table, 64 * 1024);
    assert_int_equal(buf_printf(&table, "<!-- options: %s -->\n", mark), ERR_OK);
    put(&table, "| Option | Default | Values | Meaning |\n| --- | --- | --- | --- |\n");
    for (size_t i = from; i < to; i++)
        put_row(&table, sink_options_at(type, i));
    put(&table, "\n");
    assert_int_equal(buf_add_byte(&table, 0), ERR_OK);
    if (strstr(page, (const char *)buf_peek(&table).p) == NULL)
        fail_msg("%s does not have this table:\n%s", PAGE, (const char *)buf_peek(&table).p);
    buf_free(&table);
}

static size_t
own_count(const struct sink_type *type)
{
    return type->options.count;
}

/* A type without a URL has those of all types and its own. */
static size_t
common_count(void)
{
    const struct sink_type *type = sink_types_find(SLICE("stdout"));

    return sink_options_count(type) - own_count(type);
}

static void
test_options_of_all_types(void **state)
{
    (void)state;
    assert_table("common", sink_types_find(SLICE("stdout")), 0, common_count());
}

static void
test_options_of_network_types(void **state)
{
    const struct sink_type *type = sink_types_find(SLICE("http_line"));

    (void)state;
    assert_table("network", type, common_count(), sink_options_count(type) - own_count(type));
}

/* Each type has a section; a type with options of its own has a table in it. */
static void
test_each_type(void **state)
{
    const struct sink_type *type;
    char heading[64];

    (void)state;
    for (size_t i = 0; (type = sink_types_at(i)) != NULL; i++) {
        size_t count = sink_options_count(type);

        snprintf(heading, sizeof(heading), "\n## %s\n", type->name);
        if (strstr(page, heading) == NULL)
            fail_msg("%s has no section %s", PAGE, type->name);
        if (own_count(type) > 0)
            assert_table(type->name, type, count - own_count(type), count);
    }
    assert_true(type == NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_of_all_types),
        cmocka_unit_test(test_options_of_network_types),
        cmocka_unit_test(test_each_type),
    };

    return cmocka_run_group_tests(tests, read_page, NULL);
}
