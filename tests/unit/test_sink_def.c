/*
 * test_sink_def.c: definitions of sinks: made and copied.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sink/sink.h"
#include "sink/sink_def.h"
#include "sink/sink_options.h"
#include "sink/sink_types.h"
#include "support/sink_drive.h"

static void
begin(struct sink_def *d, const char *type)
{
    assert_int_equal(sink_def_init(d, sink_types_find(slice_of(type))), ERR_OK);
}

static void
end(struct sink_def *d)
{
    sink_def_free(d);
    assert_int_equal(mem_live(), 0);
}

/* ---- making ---- */

static void
a_new_definition_has_the_defaults(void **state)
{
    struct sink_def d;

    (void)state;
    begin(&d, "http_line");
    assert_null(d.name);
    assert_null(d.url);
    assert_null(d.username);
    assert_false(secret_is_set(&d.password));
    assert_int_equal(d.format, SINK_LINE_PROTOCOL);
    assert_int_equal(d.batch_size, 0);
    assert_int_equal(d.flush_interval_ms, -1);
    assert_int_equal(sink_def_number(&d, "timeout"), 10000);
    assert_int_equal(sink_def_number(&d, "max_batch_bytes"), 1000000);
    assert_false(sink_def_bool(&d, "gzip"));
    assert_false(sink_def_is_set(&d, "gzip"));
    assert_true(slice_eq(sink_def_text(&d, "success_status"), SLICE("200,201,202,204")));
    assert_int_equal(sink_def_text(&d, "bearer_token").n, 0);
    end(&d);
    begin(&d, "http_msgpack");
    assert_int_equal(d.format, SINK_MSGPACK);
    end(&d);
    begin(&d, "mqtt");
    assert_int_equal(sink_def_number(&d, "qos"), 1);
    assert_int_equal(sink_def_number(&d, "keepalive"), 60000);
    end(&d);
    sink_def_free(&(struct sink_def){0});
}

static void
options_are_set_in_any_case_and_reset(void **state)
{
    struct sink_def d;

    (void)state;
    begin(&d, "mqtt");
    assert_int_equal(sink_def_set_option(&d, SLICE("QoS"), SLICE("2"), NULL), ERR_OK);
    assert_int_equal(sink_def_number(&d, "qos"), 2);
    assert_true(sink_def_is_set(&d, "qos"));
    assert_int_equal(sink_def_reset_options(&d), ERR_OK);
    assert_int_equal(sink_def_number(&d, "qos"), 1);
    assert_false(sink_def_is_set(&d, "qos"));
    end(&d);
}

#define COMMON "on_full on_reject precision verbose"
#define NETWORK                                                                               \
    " timeout max_batch_bytes tls_ca tls_cert tls_key tls_server_name tls_alpn tls_insecure " \
    "password_file"

static void
an_unknown_option_lists_all_with_the_types_own_first(void **state)
{
    static const struct {
        const char *type, *key, *text;
    } rows[] = {
        {"mqtt", "qoss",
         "type mqtt has no option qoss; it has: qos retain client_id keepalive max_inflight "
         "clean_session will_topic will_payload batch_mode max_message_bytes " COMMON NETWORK},
        {"mqtt", "a_key_that_is_very_long_indeed",
         "type mqtt has no option a_key_that_is_very_long_; it has: qos retain client_id keepalive "
         "max_inflight clean_session will_topic will_payload batch_mode max_message_bytes " COMMON
             NETWORK},
        {"kafka", "ack",
         "type kafka has no option ack; it has: acks idempotent compression key partitioner sasl "
         "client_id max_message_bytes batch_mode headers " COMMON NETWORK},
        {"http_line", "a_key_that_is_very_long_indeed",
         "type http_line has no option a_key_that_is_very_long_; it has: gzip headers "
         "bearer_token bearer_token_file success_status user_agent " COMMON NETWORK},
        {"stdout", "timeout", "type stdout has no option timeout; it has: " COMMON},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sink_def d;
        struct errinfo info;

        begin(&d, rows[i].type);
        assert_int_equal(sink_def_set_option(&d, slice_of(rows[i].key), SLICE("canary"), &info),
                         ERR_CONFIG);
        assert_string_equal(info.text, rows[i].text);
        end(&d);
    }
}

static void
user_info_leaves_the_url(void **state)
{
    static const struct {
        const char *url, *plain, *user, *password;
    } rows[] = {
        {"http://c/w", "http://c/w", NULL, NULL},
        {"http://u@c/w", "http://c/w", "u", NULL},
        {"http://u:p@c/w", "http://c/w", "u", "p"},
        {"http://u:@c/w", "http://c/w", "u", ""},
        {"http://:p@c/w", "http://c/w", NULL, "p"},
        {"http://a%3Ab:c%40d%2f@[::1]:81/w?x={db}", "http://[::1]:81/w?x={db}", "a:b", "c@d/"},
        {"kafka://u:p@a:1,b:2/t", "kafka://a:1,b:2/t", "u", "p"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sink_def d;

        begin(&d, "http_line");
        assert_int_equal(sink_def_set_url(&d, slice_of(rows[i].url), NULL), ERR_OK);
        assert_string_equal(d.url, rows[i].plain);
        if (rows[i].user == NULL)
            assert_null(d.username);
        else
            assert_string_equal(d.username, rows[i].user);
        if (rows[i].password == NULL || rows[i].password[0] == '\0')
            assert_int_equal(secret_reveal(&d.password).n, 0);
        else
            assert_true(slice_eq(secret_reveal(&d.password), slice_of(rows[i].password)));
        end(&d);
    }
}

static void
a_wrong_url_is_refused_without_being_shown(void **state)
{
    static const char *const urls[] = {"",
                                       "canary",
                                       "http://",
                                       "http://canary",
                                       "http://u:canary@",
                                       "http://canary%zz/",
                                       "http://a%00canary@c/w",
                                       "http://canary /w",
                                       "http://c:99999/canary"};

    (void)state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        struct sink_def d;
        struct errinfo info = {ERR_OK, 0, ""};

        begin(&d, "http_line");
        if (sink_def_set_url(&d, slice_of(urls[i]), &info) == ERR_OK) {
            d.name = mem_text(SLICE("s")); /* the type has its own demands */
            assert_int_equal(sink_def_check(&d, &info), ERR_CONFIG);
        }
        assert_int_equal(info.code, ERR_CONFIG);
        assert_null(strstr(info.text, "canary"));
        end(&d);
    }
}

static void
selectors_are_checked(void **state)
{
    struct sink_def d;
    struct errinfo info;

    (void)state;
    begin(&d, "stdout");
    assert_int_equal(sink_def_add(&d.include, SELECTOR_NAME, SLICE("a\0b"), &info), ERR_CONFIG);
    assert_string_equal(info.text, "a name must not hold a NUL byte");
    assert_int_equal(sink_def_add(&d.include, SELECTOR_REGEX, SLICE("a("), &info), ERR_CONFIG);
    assert_non_null(strstr(info.text, "regular expression /a(/ does not compile: "));
    assert_int_equal(d.include.count, 0);
    assert_int_equal(sink_def_add(&d.include, SELECTOR_NAME, SLICE("a("), &info), ERR_OK);
    end(&d);
}

static void
include_is_shown_as_it_was_written(void **state)
{
    struct sink_def d;
    struct buf out;

    (void)state;
    begin(&d, "stdout");
    buf_init(&out, 200);
    assert_int_equal(sink_def_put_include(&d, &out), ERR_OK);
    assert_true(slice_eq(buf_peek(&out), SLICE("*")));
    buf_clear(&out);
    assert_int_equal(sink_def_add(&d.include, SELECTOR_NAME, SLICE("cpu"), NULL), ERR_OK);
    assert_int_equal(sink_def_add(&d.include, SELECTOR_GLOB, SLICE("mem*"), NULL), ERR_OK);
    assert_int_equal(sink_def_add(&d.exclude, SELECTOR_REGEX, SLICE("^x"), NULL), ERR_OK);
    assert_int_equal(sink_def_add(&d.exclude, SELECTOR_NAME, SLICE("y"), NULL), ERR_OK);
    assert_int_equal(sink_def_put_include(&d, &out), ERR_OK);
    assert_true(slice_eq(buf_peek(&out), SLICE("cpu,mem* EXCLUDE /^x/,y")));
    buf_free(&out);
    for (size_t max = 1; max < 23; max++) {
        buf_init(&out, max);
        assert_int_equal(sink_def_put_include(&d, &out), ERR_NOMEM);
        buf_free(&out);
    }
    end(&d);
}

/* ---- copies and memory ---- */

static void
fill(struct sink_def *d)
{
    static const char *const options[] = {"headers", "X: y", "gzip", "true", "timeout", "3s", NULL};

    sink_drive_def(d, "http_line", "http://u:p@c/w?db=x", options);
    d->batch_size = 17;
    d->flush_interval_ms = 0;
    d->paused = d->followed = true;
    d->created_ns = 5;
    assert_int_equal(sink_def_add(&d->databases, SELECTOR_NAME, SLICE("a"), NULL), ERR_OK);
    assert_int_equal(sink_def_add(&d->include, SELECTOR_REGEX, SLICE("x+"), NULL), ERR_OK);
    assert_int_equal(sink_def_add(&d->exclude, SELECTOR_GLOB, SLICE("y*"), NULL), ERR_OK);
}

static void
a_copy_is_equal_and_its_own(void **state)
{
    struct sink_def d, copy;
    const struct option *o;

    (void)state;
    fill(&d);
    assert_int_equal(sink_def_copy(&copy, &d), ERR_OK);
    assert_ptr_not_equal(copy.url, d.url);
    assert_ptr_not_equal(copy.options, d.options);
    assert_int_equal(copy.id, 7);
    assert_string_equal(copy.name, "s");
    assert_string_equal(copy.url, "http://c/w?db=x");
    assert_string_equal(copy.username, "u");
    assert_true(secret_equal(&copy.password, SLICE("p")));
    assert_int_equal(copy.batch_size, 17);
    assert_int_equal(copy.flush_interval_ms, 0);
    assert_true(copy.paused && copy.followed);
    assert_int_equal(copy.created_ns, 5);
    assert_string_equal(copy.databases.list[0].text, "a");
    assert_int_equal(copy.include.list[0].kind, SELECTOR_REGEX);
    assert_string_equal(copy.exclude.list[0].text, "y*");
    for (size_t i = 0; (o = sink_options_at(d.type, i)) != NULL; i++) {
        assert_int_equal(copy.options[i].set, d.options[i].set);
        assert_int_equal(copy.options[i].number, d.options[i].number);
        assert_true(
            slice_eq(secret_reveal(&copy.options[i].text), secret_reveal(&d.options[i].text)));
    }
    sink_def_free(&d);
    assert_true(slice_eq(sink_def_text(&copy, "headers"), SLICE("X: y")));
    end(&copy);
}

static void
a_copy_that_finds_no_memory_leaves_nothing(void **state)
{
    struct sink_def d, copy;
    size_t live;
    enum err err;

    (void)state;
    fill(&d);
    live = mem_live();
    for (size_t n = 1;; n++) {
        assert_in_range(n, 1, 200);
        mem_fail_at(n);
        err = sink_def_copy(&copy, &d);
        mem_fail_at(0);
        if (err == ERR_OK)
            break;
        assert_int_equal(err, ERR_NOMEM);
        assert_int_equal(mem_live(), live);
        assert_null(copy.name);
    }
    sink_def_free(&copy);
    end(&d);
}

static void
a_url_that_finds_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        struct sink_def d;
        struct errinfo info = {ERR_OK, 0, ""};
        enum err err;

        assert_in_range(n, 1, 50);
        begin(&d, "http_line");
        mem_fail_at(n);
        err = sink_def_set_url(&d, SLICE("http://u:p@c/w"), &info);
        mem_fail_at(0);
        assert_int_equal(err, info.code);
        end(&d);
        if (err == ERR_OK)
            break;
        assert_int_equal(err, ERR_NOMEM);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_definition_has_the_defaults),
        cmocka_unit_test(options_are_set_in_any_case_and_reset),
        cmocka_unit_test(an_unknown_option_lists_all_with_the_types_own_first),
        cmocka_unit_test(user_info_leaves_the_url),
        cmocka_unit_test(a_wrong_url_is_refused_without_being_shown),
        cmocka_unit_test(selectors_are_checked),
        cmocka_unit_test(include_is_shown_as_it_was_written),
        cmocka_unit_test(a_copy_is_equal_and_its_own),
        cmocka_unit_test(a_copy_that_finds_no_memory_leaves_nothing),
        cmocka_unit_test(a_url_that_finds_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
