/*
 * test_sink_secret_file.c: secrets that stand in files, and a sink that reads them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sink/secret_file.h"
#include "support/sink_drive.h"
#include "support/sink_rig.h"

static char path[] = "/tmp/sinkd-secret-XXXXXX";

static void
write_file(const char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void
reads(const char *content, struct slice expected)
{
    struct secret s = {NULL, 0};
    struct errinfo info;

    write_file(content, strlen(content));
    if (secret_file_read(slice_of(path), &s, &info) != ERR_OK)
        fail_msg("%s", info.text);
    assert_true(secret_equal(&s, expected));
    secret_free(&s);
    assert_int_equal(mem_live(), 0);
}

static void
the_first_line_is_the_secret(void **state)
{
    static char longest[8193];

    (void)state;
    reads("sesame", SLICE("sesame"));
    reads("sesame\n", SLICE("sesame"));
    reads("sesame\r\n", SLICE("sesame"));
    reads("sesame\nmore\n", SLICE("sesame"));
    reads(" two words \t\n", SLICE(" two words \t"));
    reads("a\rb\n", SLICE("a\rb"));
    memset(longest, 'x', 8192);
    reads(longest, slice_make(longest, 8192));
}

static void
refuses(const char *bytes, size_t n, const char *text)
{
    struct secret s = {NULL, 0};
    struct errinfo info;

    write_file(bytes, n);
    assert_int_equal(secret_file_read(slice_of(path), &s, &info), ERR_CONFIG);
    assert_non_null(strstr(info.text, text));
    assert_non_null(strstr(info.text, path)); /* it names the file, never its content */
    assert_null(strstr(info.text, "canary"));
    assert_false(secret_is_set(&s));
}

static void
a_file_without_a_secret_is_refused(void **state)
{
    static char large[9000];

    (void)state;
    refuses("", 0, "is empty");
    refuses("\n", 1, "is empty");
    refuses("\r\ncanary", 8, "is empty");
    memset(large, 'x', sizeof(large));
    memcpy(large, "canary", 6);
    refuses(large, sizeof(large), "longer than 8192 bytes");
    refuses(large, 8193, "longer than 8192 bytes");
}

static void
a_file_that_cannot_be_read(void **state)
{
    static char longest[2000];
    struct secret s = {NULL, 0};
    struct errinfo info;

    (void)state;
    assert_int_equal(secret_file_read(SLICE("/tmp/no/such/file"), &s, &info), ERR_CONFIG);
    assert_string_equal(info.text, "cannot open /tmp/no/such/file: No such file or directory");
    assert_int_equal(secret_file_read(SLICE("/tmp"), &s, &info), ERR_CONFIG);
    assert_non_null(strstr(info.text, "cannot read /tmp: "));
    memset(longest, 'x', sizeof(longest));
    assert_int_equal(secret_file_read(slice_make(longest, sizeof(longest)), &s, &info), ERR_CONFIG);
    assert_string_equal(info.text, "a file name is longer than 1023 bytes");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)alarm(10); /* that nobody writes to */
    assert_int_equal(secret_file_read(slice_of(path), &s, &info), ERR_CONFIG);
    (void)alarm(0);
    assert_non_null(strstr(info.text, "is empty"));
    assert_int_equal(unlink(path), 0);
    write_file("x", 1);
    mem_fail_at(1);
    assert_int_equal(secret_file_read(slice_of(path), &s, &info), ERR_NOMEM);
    mem_fail_at(0);
}

/* ---- a sink that reads them ---- */

static void
sends(const char *url, const char *option, const struct script_step *steps, size_t count)
{
    const char *const options[] = {option, path, NULL};
    struct script_conn conns[] = {{.steps = steps, .count = count}};
    struct sink_rig r;

    sink_rig_open(&r, "http_line", conns, 1, url, options);
    sink_drive_round(&r.round, 1, 1);
    sink_rig_delivers(&r);
    sink_rig_close(&r);
}

static void
a_password_and_a_token_from_a_file(void **state)
{
    const struct script_step basic[] = {
        EXPECT_UNTIL("Authorization: Basic dXNlcjpzZXNhbWU=\r\n"),
        EXPECT_UNTIL("1000000000\n"),
        GIVE("HTTP/1.1 204 X\r\n\r\n"),
    };
    const struct script_step bearer[] = {
        EXPECT_UNTIL("Authorization: Bearer sesame\r\n"),
        EXPECT_UNTIL("1000000000\n"),
        GIVE("HTTP/1.1 204 X\r\n\r\n"),
    };

    (void)state;
    write_file("sesame\n", 7);
    sends("http://user@c/w", "password_file", basic, 3);
    sends("http://c/w", "bearer_token_file", bearer, 3);
}

static void
a_sink_does_not_open_with_a_bad_file(void **state)
{
    static const struct {
        const char *content, *text;
    } rows[] = {{"", "is empty"}, {"a\x01z\n", "the bearer token holds control bytes"}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const char *const options[] = {"bearer_token_file", path, NULL};
        struct script_host host;
        struct sink_env env;
        struct sink_def def;
        struct sink *sink = NULL;
        struct errinfo info;

        write_file(rows[i].content, strlen(rows[i].content));
        stream_script_init(&host, NULL, 0);
        sink_drive_script(&env, &host);
        sink_drive_def(&def, "http_line", "http://c/w", options);
        assert_int_equal(def.type->open(&sink, &def, &env, &info), ERR_CONFIG);
        assert_non_null(strstr(info.text, rows[i].text));
        assert_null(sink);
        sink_def_free(&def);
        assert_int_equal(mem_live(), 0);
    }
}

static int
make_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int
remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_is_the_secret),
        cmocka_unit_test(a_file_without_a_secret_is_refused),
        cmocka_unit_test(a_file_that_cannot_be_read),
        cmocka_unit_test(a_password_and_a_token_from_a_file),
        cmocka_unit_test(a_sink_does_not_open_with_a_bad_file),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
