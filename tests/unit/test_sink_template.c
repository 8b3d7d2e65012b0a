/*
 * test_sink_template.c: topics, keys and targets made of a point.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sink/template.h"

static const struct batch_point usual = {
    .seq = 1,
    .database = SLICE_INIT("my db"),
    .policy = SLICE_INIT("week"),
    .measurement = SLICE_INIT("cpu/load"),
    .line = SLICE_INIT("cpu/load,host=a\\ b,region=eu v=1"),
};

/* What ${text} gives for ${point} under ${rule}. */
static void
gives(const char *text, enum template_rule rule, const struct batch_point *point,
      struct slice expected)
{
    struct template *t = NULL;
    struct errinfo info = {ERR_OK, 0, ""};
    struct buf out;

    if (template_open(&t, slice_of(text), rule, &info) != ERR_OK)
        fail_msg("%s: %s", text, info.text);
    buf_init(&out, 1024);
    assert_int_equal(buf_add_text(&out, ">"), ERR_OK);
    assert_int_equal(template_put(t, point, &out), ERR_OK);
    if (!slice_eq(slice_from(buf_peek(&out), 1), expected))
        fail_msg("%s gives %.*s", text, SLICE_PRI(buf_peek(&out)));
    buf_free(&out);
    template_close(t);
    assert_int_equal(mem_live(), 0);
}

static void
refuses(const char *text, enum template_rule rule, const char *message)
{
    struct template *t = NULL;
    struct errinfo info = {ERR_OK, 0, ""};

    assert_int_equal(template_open(&t, slice_of(text), rule, &info), ERR_CONFIG);
    assert_string_equal(info.text, message);
    assert_null(t);
    assert_int_equal(mem_live(), 0);
}

/* ---- placeholders ---- */

static void
every_placeholder(void **state)
{
    (void)state;
    gives("plain", TEMPLATE_AS_IS, &usual, SLICE("plain"));
    gives("", TEMPLATE_AS_IS, &usual, SLICE(""));
    gives("{db}", TEMPLATE_AS_IS, &usual, SLICE("my db"));
    gives("{rp}", TEMPLATE_AS_IS, &usual, SLICE("week"));
    gives("{measurement}", TEMPLATE_AS_IS, &usual, SLICE("cpu/load"));
    gives("{tag:region}", TEMPLATE_AS_IS, &usual, SLICE("eu"));
    gives("{tag:host}", TEMPLATE_AS_IS, &usual, SLICE("a b"));
    gives("a/{db}-{rp}/{tag:region|x}z", TEMPLATE_AS_IS, &usual, SLICE("a/my db-week/euz"));
}

static void
absent_and_empty_values_have_a_default(void **state)
{
    const struct batch_point bare = {.line = SLICE_INIT("m v=1"), .measurement = SLICE_INIT("m")};

    (void)state;
    gives("{db}|{rp}", TEMPLATE_AS_IS, &bare, SLICE("_|_"));
    gives("{tag:host}", TEMPLATE_AS_IS, &bare, SLICE("_"));
    gives("{tag:host|}", TEMPLATE_AS_IS, &bare, SLICE("_"));
    gives("{tag:host|none here}", TEMPLATE_AS_IS, &bare, SLICE("none here"));
    gives("{tag:host|a|b}", TEMPLATE_AS_IS, &bare, SLICE("a|b"));
    gives("{tag:a b}", TEMPLATE_AS_IS, &bare, SLICE("_"));
}

static void
a_name_with_escapes_is_found_by_its_text(void **state)
{
    const struct batch_point point = {.line = SLICE_INIT("m,a\\ b=1\\,2,c\\=d=3 v=1")};

    (void)state;
    gives("{tag:a b}", TEMPLATE_AS_IS, &point, SLICE("1,2"));
    gives("{tag:c=d}", TEMPLATE_AS_IS, &point, SLICE("3"));
}

static void
doubled_braces_are_braces(void **state)
{
    (void)state;
    gives("{{db}}", TEMPLATE_AS_IS, &usual, SLICE("{db}"));
    gives("{{{db}}}", TEMPLATE_AS_IS, &usual, SLICE("{my db}"));
    gives("}}{{", TEMPLATE_AS_IS, &usual, SLICE("}{"));
    gives("{{}}", TEMPLATE_HTTP, &usual, SLICE("{}"));
}

static void
errors_say_what_is_known(void **state)
{
    static const char *const unpaired =
        "a brace of a template is not paired; write {{ or }} for a brace";

    (void)state;
    refuses("{dbx}", TEMPLATE_MQTT,
            "unknown placeholder {dbx}; known are {db}, {rp}, {measurement}, {tag:NAME} and "
            "{tag:NAME|default}");
    refuses("{measurement}", TEMPLATE_HTTP,
            "unknown placeholder {measurement}; known are {db} and {rp}");
    refuses("{tag:host}", TEMPLATE_HTTP, "unknown placeholder {tag:host}; known are {db} and {rp}");
    refuses("{}", TEMPLATE_HTTP, "unknown placeholder {}; known are {db} and {rp}");
    refuses("{DB}", TEMPLATE_HTTP, "unknown placeholder {DB}; known are {db} and {rp}");
    refuses("{ db}", TEMPLATE_HTTP, "unknown placeholder { db}; known are {db} and {rp}");
    refuses("{tag:}", TEMPLATE_KAFKA,
            "unknown placeholder {tag:}; known are {db}, {rp}, {measurement}, {tag:NAME} and "
            "{tag:NAME|default}");
    refuses("{tag:|x}", TEMPLATE_KAFKA,
            "unknown placeholder {tag:|x}; known are {db}, {rp}, {measurement}, {tag:NAME} and "
            "{tag:NAME|default}");
    refuses("{", TEMPLATE_AS_IS, unpaired);
    refuses("}", TEMPLATE_AS_IS, unpaired);
    refuses("a{db", TEMPLATE_AS_IS, unpaired);
    refuses("{db}}", TEMPLATE_AS_IS, unpaired);
    refuses("{{{db}}", TEMPLATE_AS_IS, unpaired);
    refuses("db}", TEMPLATE_AS_IS, unpaired);
}

static void
the_number_of_parts_is_bounded(void **state)
{
    char text[64 * 5 + 6] = "";

    (void)state;
    for (int i = 0; i < 64; i++)
        strcat(text, i % 2 == 0 ? "{db}" : "-");
    {
        struct template *t;

        assert_int_equal(template_open(&t, slice_of(text), TEMPLATE_HTTP, NULL), ERR_OK);
        template_close(t);
    }
    strcat(text, "{rp}");
    refuses(text, TEMPLATE_HTTP, "a template has at most 64 parts");
}

/* ---- bytes that may not stand where the value goes ---- */

static void
http_values_are_percent_encoded(void **state)
{
    const struct batch_point point = {.database = SLICE_INIT("a b&c=d/\xc3\xa4%"),
                                      .policy = SLICE_INIT("aZ0-._~")};

    (void)state;
    gives("/write?db={db}", TEMPLATE_HTTP, &point, SLICE("/write?db=a%20b%26c%3Dd%2F%C3%A4%25"));
    gives("/{rp}", TEMPLATE_HTTP, &point, SLICE("/aZ0-._~"));
    gives("/ %", TEMPLATE_HTTP, &point, SLICE("/ %")); /* the text around is not changed */
}

static void
mqtt_values_lose_what_a_topic_may_not_hold(void **state)
{
    const struct batch_point point = {
        .database = SLICE_INIT("a+b#c/d\0e"),
        .policy =
            SLICE_INIT("\xc3\xa4\xff\xc3z\xed\xa0\x80"), /* cut and stray bytes, a surrogate */
        .measurement = SLICE_INIT("$SYS \x01"),
    };

    (void)state;
    gives("{db}", TEMPLATE_MQTT, &point, SLICE("a_b_c_d_e"));
    gives("{rp}", TEMPLATE_MQTT, &point, SLICE("\xc3\xa4__z___"));
    gives("{measurement}", TEMPLATE_MQTT, &point,
          SLICE("$SYS _")); /* brokers close on control characters */
    gives("x/+/{db}", TEMPLATE_MQTT, &point, SLICE("x/+/a_b_c_d_e"));
}

static void
kafka_values_keep_letters_digits_and_three_more(void **state)
{
    uint8_t all[256], expected[256];
    struct batch_point point = {.database = {all, sizeof(all)}};

    (void)state;
    for (size_t i = 0; i < 256; i++) {
        all[i] = (uint8_t)i;
        expected[i] = i != 0 && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789._-",
                                       (int)i) != NULL
                          ? (uint8_t)i
                          : '_';
    }
    gives("{db}", TEMPLATE_KAFKA, &point, slice_make(expected, 256));
}

static void
defaults_follow_the_rule_too(void **state)
{
    (void)state;
    gives("{tag:none|a/b}", TEMPLATE_MQTT, &usual, SLICE("a_b"));
    gives("{tag:none|a/b}", TEMPLATE_KAFKA, &usual, SLICE("a_b"));
    gives("{tag:host}", TEMPLATE_KAFKA, &usual, SLICE("a_b"));
}

/* ---- the rest ---- */

static void
a_constant_says_so(void **state)
{
    static const struct {
        const char *text;
        bool constant;
    } rows[] = {
        {"/write?db=a", true}, {"", true}, {"{{db}}", true}, {"/{db}", false}, {"{rp}", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct template *t;

        assert_int_equal(template_open(&t, slice_of(rows[i].text), TEMPLATE_HTTP, NULL), ERR_OK);
        assert_int_equal(template_is_constant(t), rows[i].constant);
        template_close(t);
    }
    template_close(NULL);
}

static void
what_does_not_fit_is_taken_back(void **state)
{
    struct template *t;
    struct buf out;

    (void)state;
    assert_int_equal(template_open(&t, SLICE("topic/{db}/{tag:host}"), TEMPLATE_MQTT, NULL),
                     ERR_OK);
    for (size_t max = 1; max < 16; max++) {
        buf_init(&out, max);
        assert_int_equal(buf_add_byte(&out, 'x'), ERR_OK);
        assert_int_equal(template_put(t, &usual, &out), ERR_NOMEM);
        assert_int_equal(buf_len(&out), 1);
        buf_free(&out);
    }
    buf_init(&out, 16);
    assert_int_equal(template_put(t, &usual, &out), ERR_OK); /* "topic/my db/a b" */
    assert_int_equal(buf_len(&out), 15);
    buf_free(&out);
    template_close(t);
}

static void
memory_runs_out_cleanly(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        struct template *t = NULL;
        struct errinfo info = {ERR_OK, 0, ""};
        struct buf out;
        enum err err;

        assert_in_range(n, 1, 20);
        buf_init(&out, 1024);
        mem_fail_at(n);
        err = template_open(&t, SLICE("{db}/{tag:host}"), TEMPLATE_MQTT, &info);
        if (err == ERR_OK)
            err = template_put(t, &usual, &out);
        mem_fail_at(0);
        assert_true(err == ERR_OK || err == ERR_NOMEM);
        assert_true(err == ERR_OK || buf_len(&out) == 0);
        template_close(t);
        buf_free(&out);
        assert_int_equal(mem_live(), 0);
        if (err == ERR_OK)
            break;
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_placeholder),
        cmocka_unit_test(absent_and_empty_values_have_a_default),
        cmocka_unit_test(a_name_with_escapes_is_found_by_its_text),
        cmocka_unit_test(doubled_braces_are_braces),
        cmocka_unit_test(errors_say_what_is_known),
        cmocka_unit_test(the_number_of_parts_is_bounded),
        cmocka_unit_test(http_values_are_percent_encoded),
        cmocka_unit_test(mqtt_values_lose_what_a_topic_may_not_hold),
        cmocka_unit_test(kafka_values_keep_letters_digits_and_three_more),
        cmocka_unit_test(defaults_follow_the_rule_too),
        cmocka_unit_test(a_constant_says_so),
        cmocka_unit_test(what_does_not_fit_is_taken_back),
        cmocka_unit_test(memory_runs_out_cleanly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
