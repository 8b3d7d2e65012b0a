/*
 * test_cli_shell.c: when the shell runs what was typed, and that every help fits a screen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/slice.h"
#include "cli/cli_help.h"
#include "cli/cli_shell.h"

static void
test_when_a_statement_is_complete(void **state)
{
    static const struct {
        const char *text;
        bool complete;
    } rows[] = {
        {"", false},
        {"SHOW SINKS", false},
        {"SHOW SINKS;", true},
        {"SHOW SINKS ; \t\n", true},
        {"SHOW SINKS; SHOW", false},
        {"CREATE SINK \"a;", false},
        {"CREATE SINK \"a;\";", true},
        {"CREATE SINK 'a\\';", false},
        {"CREATE SINK 'a\\'';", true},
        {"SHOW SINKS -- all;", false},
        {"SHOW SINKS; -- all", true},
        {"SHOW SINKS; /* all", true},
        {"SHOW /* ; */", false},
        {"SHOW SINKS /* ; */;", true},
        {";", true},
        {"'", false},
        {"\\", false},
        {"/", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (cli_shell_complete(slice_of(rows[i].text)) != rows[i].complete)
            fail_msg("wrong for: %s", rows[i].text);
    }
}

static void
test_help_fits_a_screen(void **state)
{
    const char *text;
    int count = 0;

    (void)state;
    for (; (text = cli_help_text(count)) != NULL; count++) {
        struct slice rest = slice_of(text), line;
        size_t lines = 0;

        assert_true(slice_ends(rest, SLICE("\n")));
        while (slice_split(&rest, '\n', &line)) {
            lines++;
            if (line.n > 80)
                fail_msg("longer than 80 columns: %.*s", SLICE_PRI(line));
        }
        assert_true(lines <= 23); /* and one for the prompt */
    }
    assert_true(count > 8);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_when_a_statement_is_complete),
        cmocka_unit_test(test_help_fits_a_screen),
    };

    return cmocka_run_group_tests_name("cli_shell", tests, NULL, NULL);
}
