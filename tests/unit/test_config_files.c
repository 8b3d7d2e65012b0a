/*
 * test_config_files.c: the installed sinkd.toml and docs/user-guide/configuration.md say the same
 * as the table of keys: every key, its default, its values, and no key that is not there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/slice.h"
#include "daemon/config.h"
#include "daemon/config_keys.h"
#include "daemon/config_set.h"
#include "daemon/toml.h"

/* A file of the source tree: the working folder, or what the test runner says. */
static char *
source_path(const char *name)
{
    static char path[4096];
    const char *root = access(name, R_OK) == 0 ? NULL : getenv("SINKD_SRCDIR");

    (void)snprintf(path, sizeof(path), "%s/%s", root == NULL ? "." : root, name);
    return path;
}

static void
read_source(const char *name, struct buf *out)
{
    FILE *f = fopen(source_path(name), "r");
    uint8_t *room = NULL;
    size_t n;

    if (f == NULL)
        fail_msg("%s cannot be opened: set SINKD_SRCDIR", source_path(name));
    buf_init(out, (size_t)1 << 20);
    do {
        room = buf_reserve(out, 4096);
        assert_non_null(room);
        n = fread(room, 1, 4096, f);
        buf_commit(out, n);
    } while (n > 0);
    assert_int_equal(fclose(f), 0);
}

static void
print_notes(const struct config_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        print_message("%s\n", report->notes[i].text);
}

static void
test_the_example_is_valid(void **state)
{
    struct config c;
    struct config_report report;

    (void)state;
    if (config_load(&c, source_path("sinkd.toml"), NULL, &report) != ERR_OK || report.count > 0) {
        print_notes(&report);
        fail_msg("sinkd.toml has errors or warnings");
    }
    assert_true(c.sink.enabled);
    config_report_free(&report);
    config_free(&c);
}

/* "#key = value" to "key = value"; other comments stay. */
static void
uncomment(struct slice text, struct buf *out)
{
    struct slice line;

    buf_init(out, (size_t)1 << 20);
    while (slice_split(&text, '\n', &line)) {
        if (slice_starts(line, SLICE("#")) && line.n > 1 && line.p[1] != ' ')
            line = slice_from(line, 1);
        assert_int_equal(buf_add(out, line), ERR_OK);
        assert_int_equal(buf_add_byte(out, '\n'), ERR_OK);
    }
}

/* Keys that the example sets to another value than the default. */
static bool
example_differs(const struct config_key *k)
{
    return strcmp(k->section, "sink") == 0 && strcmp(k->key, "enabled") == 0;
}

static void
check_example_line(const struct config_key *k, const struct slice *value)
{
    struct buf expected;

    buf_init(&expected, 256);
    assert_int_equal(config_keys_put_default(k, &expected), ERR_OK);
    if (!example_differs(k) && !slice_eq(*value, buf_peek(&expected)) &&
        !(sizeof(size_t) < 8 && strcmp(k->key, "max_size_mb") == 0))
        fail_msg("sinkd.toml: the default of %s.%s is %.*s, not %.*s", k->section, k->key,
                 SLICE_PRI(buf_peek(&expected)), SLICE_PRI(*value));
    buf_free(&expected);
}

static void
test_the_example_has_every_default(void **state)
{
    struct buf file, text;
    struct slice rest, line, section = SLICE(""), help = SLICE("");
    const struct config_key *all, *k;
    size_t count, next = 0;

    (void)state;
    all = config_keys_all(&count);
    read_source("sinkd.toml", &file);
    uncomment(buf_peek(&file), &text);
    for (rest = buf_peek(&text); slice_split(&rest, '\n', &line);) {
        size_t equals = slice_find(line, '=');

        if (slice_starts(line, SLICE("# "))) {
            help = slice_from(line, 2);
        } else if (slice_starts(line, SLICE("["))) {
            section = slice_to(slice_from(line, 1), slice_find(line, ']') - 1);
        } else if (equals < line.n) {
            struct slice value = slice_trim(slice_from(line, equals + 1));

            k = config_keys_find(section, slice_trim(slice_to(line, equals)));
            if (k == NULL || next == count || k != &all[next])
                fail_msg("sinkd.toml: not the next key of the table: %.*s", SLICE_PRI(line));
            check_example_line(k, &value);
            if (!slice_starts(help, slice_of(k->help)))
                fail_msg("sinkd.toml: the help of %s.%s differs", k->section, k->key);
            next++;
        }
    }
    assert_int_equal(next, count);
    buf_free(&text);
    buf_free(&file);
}

/* The column "Values" as the page has it. */
static void
put_values(const struct config_key *k, struct buf *out)
{
    enum err err = ERR_OK;

    switch (k->type) {
    case CONFIG_TEXT:
        err = buf_add_text(out, "string");
        break;
    case CONFIG_BOOLEAN:
        err = buf_add_text(out, "`true`, `false`");
        break;
    case CONFIG_LIST:
        err = buf_add_text(out, "array of strings");
        break;
    case CONFIG_INTEGER:
        err = buf_printf(out, "%lld to %lld", (long long)k->min, (long long)k->max);
        break;
    case CONFIG_CHOICE:
        for (int i = 0; k->choices[i] != NULL && err == ERR_OK; i++)
            err = buf_printf(out, "%s`\"%s\"`", i > 0 ? ", " : "", k->choices[i]);
        break;
    }
    assert_int_equal(err, ERR_OK);
}

static void
check_row(const struct config_key *k, struct slice row)
{
    struct buf expected;

    buf_init(&expected, 1024);
    assert_int_equal(buf_printf(&expected, "| `%s` | `", k->key), ERR_OK);
    if (sizeof(size_t) < 8 && strcmp(k->key, "max_size_mb") == 0)
        assert_int_equal(buf_add_text(&expected, "512"), ERR_OK); /* the page is for 64-bit */
    else
        assert_int_equal(config_keys_put_default(k, &expected), ERR_OK);
    assert_int_equal(buf_add_text(&expected, "` | "), ERR_OK);
    put_values(k, &expected);
    assert_int_equal(buf_add_text(&expected, " | "), ERR_OK);
    if (!slice_starts(row, buf_peek(&expected)) || row.n < buf_len(&expected) + 20)
        fail_msg("configuration.md: the row of %s.%s must begin: %.*s", k->section, k->key,
                 SLICE_PRI(buf_peek(&expected)));
    buf_free(&expected);
}

static void
test_the_page_has_every_key(void **state)
{
    struct buf page;
    struct slice rest, line, section = SLICE("");
    const struct config_key *all;
    size_t count, next = 0;

    (void)state;
    all = config_keys_all(&count);
    read_source("docs/user-guide/configuration.md", &page);
    for (rest = buf_peek(&page); slice_split(&rest, '\n', &line);) {
        if (slice_starts(line, SLICE("## [")))
            section = slice_to(slice_from(line, 4), slice_find(line, ']') - 4);
        if (!slice_starts(line, SLICE("| `")))
            continue;
        assert_true(next < count);
        if (!slice_eq(section, slice_of(all[next].section)))
            fail_msg("configuration.md: %s.%s is missing or elsewhere", all[next].section,
                     all[next].key);
        check_row(&all[next++], line);
    }
    assert_int_equal(next, count);
    buf_free(&page);
}

static void
check_item(const struct toml_item *item, struct config *c, struct buf *section)
{
    const struct config_key *k;
    char note[CONFIG_SET_NOTE];

    if (item->kind == TOML_TABLE) {
        buf_clear(section);
        assert_int_equal(buf_add(section, item->name), ERR_OK);
        return;
    }
    assert_int_equal(item->kind, TOML_KEY);
    k = config_keys_find(buf_peek(section), item->name);
    assert_non_null(k);
    assert_int_equal(config_set_value(c, k, &item->value, note), ERR_OK);
}

/* The first example of the page is a whole file. */
static void
test_the_page_has_a_valid_example(void **state)
{
    static const struct slice opening = SLICE_INIT("```toml\n"), closing = SLICE_INIT("```");
    struct buf page, section;
    struct slice rest;
    struct config c;
    struct toml_reader r;
    struct toml_item item = {.kind = TOML_ERROR};
    size_t n = 0;

    (void)state;
    read_source("docs/user-guide/configuration.md", &page);
    rest = buf_peek(&page);
    while (!slice_starts(rest, opening) && rest.n > 0)
        rest = slice_from(rest, 1);
    rest = slice_from(rest, opening.n);
    while (!slice_starts(slice_from(rest, n), closing) && n < rest.n)
        n++;
    toml_init(&r, slice_to(rest, n));
    buf_init(&section, 64);
    assert_int_equal(config_init(&c), ERR_OK);
    for (n = 0; toml_next(&r, &item) == ERR_OK && item.kind != TOML_END; n++)
        check_item(&item, &c, &section);
    assert_true(n > 5);
    assert_int_equal(c.sink.allow_hosts.count, 2);
    config_free(&c);
    buf_free(&section);
    toml_free(&r);
    buf_free(&page);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_example_is_valid),
        cmocka_unit_test(test_the_example_has_every_default),
        cmocka_unit_test(test_the_page_has_every_key),
        cmocka_unit_test(test_the_page_has_a_valid_example),
    };

    return cmocka_run_group_tests_name("config files", tests, NULL, NULL);
}
