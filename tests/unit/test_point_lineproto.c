/*
 * test_point_lineproto.c: the parser, rule by rule. What a real server says to 1,344 bodies is in
 * test_point_corpus.c; here are the rules where we differ, the limits, and what hostile input
 * costs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "point/lineproto.h"
#include "point/lineproto_exact.h"
#include "support/guard.h"

#define NOW_NS INT64_C(1700000000123456789)

/* All verdicts on a body as one text: "key|fields|time;" or "LINE NUMBER REASON;". */
static const char *
verdicts(struct slice body, enum precision precision)
{
    static char text[8192];
    struct slice guarded = guard_copy(body);
    struct lineproto lp;
    struct lineproto_point point;
    struct lineproto_bad bad;
    enum lineproto_event event;
    struct buf out;

    buf_init(&out, sizeof(text) - 1);
    lineproto_init(&lp, guarded, precision, NOW_NS);
    while ((event = lineproto_next(&lp, &point, &bad)) != LINEPROTO_END) {
        enum err err = ERR_OK;
        if (event == LINEPROTO_POINT)
            err =
                buf_printf(&out, "%.*s|%.*s|%lld%s;", SLICE_PRI(point.key), SLICE_PRI(point.fields),
                           (long long)point.time_ns, point.timed ? "" : " now");
        else
            err = buf_printf(&out, "%llu ", (unsigned long long)bad.line_number);
        if (event == LINEPROTO_BAD && err == ERR_OK)
            err = lineproto_put_reason(&out, &bad);
        if (event == LINEPROTO_BAD && err == ERR_OK)
            err = buf_add_text(&out, ";");
        assert_int_equal(err, ERR_OK);
    }
    slice_copy_text(buf_peek(&out), text, sizeof(text));
    buf_free(&out);
    guard_free(guarded);
    return text;
}

static void
expect(const char *body, const char *wanted)
{
    assert_string_equal(verdicts(slice_of(body), PRECISION_NS), wanted);
}

#define EXPECT_BYTES(body, wanted) assert_string_equal(verdicts(SLICE(body), PRECISION_NS), wanted)

static void
good_lines_come_out_as_they_came(void **state)
{
    (void)state;
    expect("", "");
    expect("cpu,host=a\\ b,b=1 x=1,y=2i,z=\"q, =\\\"\",t=true 17\n",
           "cpu,host=a\\ b,b=1|x=1,y=2i,z=\"q, =\\\"\",t=true|17;");
    expect("m  \tf=1 \t 5  \n", "m|f=1|5;");
    expect(" \tm f=1 5", "m|f=1|5;");
    expect("m f=-1.5e-3,g=.5,h=7.,i=-0i,j=18446744073709551615u 1\n",
           "m|f=-1.5e-3,g=.5,h=7.,i=-0i,j=18446744073709551615u|1;");
    expect("m a=t,b=T,c=true,d=True,e=TRUE,f=f,g=F,h=false,i=False,j=FALSE 1\n",
           "m|a=t,b=T,c=true,d=True,e=TRUE,f=f,g=F,h=false,i=False,j=FALSE|1;");
    expect("m f=\"a\nb\" 1\nn f=2 2\n", "m|f=\"a\nb\"|1;n|f=2|2;");
}

/* The numbers are rows of the list of known faults. */
static void
known_faults_of_others(void **state)
{
    (void)state;
    expect("foo,t,k=tv2 value=2", "1 missing tag value;"); /* LP01 */
    expect("cpu,regions=east\\,west value=1.0 1",
           "cpu,regions=east\\,west|value=1.0|1;");                                      /* LP03 */
    expect("a f=1 1\nDisk,check=C:\\,host=h value=52.45 1453319535802451556\nb f=1 2\n", /* LP05 */
           "a|f=1|1;2 invalid tag format;b|f=1|2;");
    expect("a f=1 1\nS,Disk=D:\\\\,host=x a=0i\nb f=1 2\n", /* LP07 */
           "a|f=1|1;2 invalid tag format;b|f=1|2;");
    expect("readings,readings2,fleet=A v=21.30 1577836800000000000",
           "1 missing tag value;");                                        /* LP09 */
    expect("test,foo=bar v=1i 123456789", "test,foo=bar|v=1i|123456789;"); /* LP13 */
    expect("# c\n\n   \nm v=1 1", "m|v=1|1;");                             /* LP15 */
    expect("# c\n#d", "");
    expect("m v=9223372036854775807i 1\nm v=-9223372036854775808i 2\n", /* LP17 */
           "m|v=9223372036854775807i|1;m|v=-9223372036854775808i|2;");
    expect("m v=9223372036854775808i 1\n",
           "1 unable to parse integer 9223372036854775808: strconv.ParseInt: parsing "
           "\"9223372036854775808\": value out of range;");
    expect("m v=1 -1\nm v=1 9223372036854775806\nm v=1 -9223372036854775806\n", /* LP19 */
           "m|v=1|-1;m|v=1|9223372036854775806;m|v=1|-9223372036854775806;");
    expect("m v=1 9223372036854775807\nm v=1 9223372036854775808\n",
           "1 time outside range -9223372036854775806 - 9223372036854775806;"
           "2 strconv.ParseInt: parsing \"9223372036854775808\": value out of range;");
    EXPECT_BYTES("m,t=\xff\xfe v=1 1\nn v=1 2\n", "m,t=\xff\xfe|v=1|1;n|v=1|2;"); /* LP23 */
    expect("m v=1 1440089182\n", "m|v=1|1440089182;");                            /* LP25 */
}

/* LP11. */
static void
names_that_come_twice(void **state)
{
    (void)state;
    expect("t A=1,A=1 1\n", "t|A=1,A=1|1;");
    expect("t A=1,A=2 1\n", "t|A=1,A=2|1;");
    expect("t A=1,A=1i 1\n", "1 field type conflict: field \"A\" has two types in one line;");
    expect("t A=1,B=1i,C=t,A=\"x\" 1",
           "1 field type conflict: field \"A\" has two types in one line;");
    expect("t,a=1,a=2 v=1\n", "1 duplicate tags;");
    expect("t,b=1,a=2,b=1 v=1\n", "1 duplicate tags;");
    expect("t,b=1,a=2,c=3 v=1 1\n", "t,b=1,a=2,c=3|v=1|1;");
    expect("t,a-=1,a=2,a\\ b=3 v=1 1\n", "t,a-=1,a=2,a\\ b=3|v=1|1;");
    expect("t,a=1 a=2 1\n", "t,a=1|a=2|1;");
}

/* Tags from ${last} down to 'a'; when ${again} is not 0, that one once more at the end. */
static void
put_tags_backwards(char *line, char last, char again)
{
    char *p = line;

    *p++ = 'm';
    for (char c = last; c >= 'a'; c--, p += 4)
        (void)memcpy(p, (char[]){',', c, '=', '1'}, 4);
    if (again != 0) {
        (void)memcpy(p, (char[]){',', again, '=', '1'}, 4);
        p += 4;
    }
    (void)memcpy(p, " f=1 1\n", 8);
}

/* Few and many tags are compared in different ways. */
static void
tags_out_of_order(void **state)
{
    char line[160];

    (void)state;
    for (char last = 'b'; last <= 'z'; last++) {
        put_tags_backwards(line, last, 0);
        assert_null(strstr(verdicts(slice_of(line), PRECISION_NS), "duplicate tags"));
        for (char again = 'a'; again <= last; again++) {
            put_tags_backwards(line, last, again);
            assert_string_equal(verdicts(slice_of(line), PRECISION_NS), "1 duplicate tags;");
        }
    }
}

static void
carriage_returns_belong_to_the_line_end(void **state)
{
    (void)state;
    expect("m f=1\r\nm f=1i\r\nm f=t\r\nm f=\"a\"\r\nm f=1 5\r\nm f=1 5 \r\n",
           "m|f=1|1700000000123456789 now;m|f=1i|1700000000123456789 now;"
           "m|f=t|1700000000123456789 now;m|f=\"a\"|1700000000123456789 now;m|f=1|5;m|f=1|5;");
    expect("\r\n\r\n \t\r\n\r", "");
    expect("# c\r\nm f=1 1\r\n", "m|f=1|1;");
    expect("m f=\"a\r\nb\" 1\r\n", "m|f=\"a\r\nb\"|1;");
    expect("m f=1 1\r\r\nm f=1 1\r", "1 bad timestamp;2 bad timestamp;");
    expect("m,t=a\rb f=1 1\n", "m,t=a\rb|f=1|1;");
}

static void
what_the_server_takes_and_we_do_not(void **state)
{
    (void)state;
    expect("m f=\"a\"b 1\n", "1 invalid field format;");
    expect("m f=\"a\"b,g=1 1\n", "1 invalid field format;");
    expect("m f=\"\"\"\" 1\n", "1 invalid field format;");
    EXPECT_BYTES("\0m f=1 1\n", "1 missing measurement;");
    EXPECT_BYTES("m \0f=1 1\n", "1 invalid field format;");
    EXPECT_BYTES("m f=1 \0001\n", "1 bad timestamp;");
    EXPECT_BYTES("m,t=a\0b f\0=\"\0\" 1\n", "m,t=a|f|1;");
    expect("m,time=x f=1 1\n",
           "1 invalid tag key: input tag \"time\" on measurement \"m\" is invalid;");
    expect("m time=1,time=2 1\n",
           "1 invalid field name: input field \"time\" on measurement \"m\" is invalid;");
    expect("m \t=1 1\n", "1 invalid field format;");
    /* Good alone, but it would swallow a line behind it. */
    expect("m\\\\ f=\"x g=4 17", "1 unbalanced quotes;");
    /* The blank before the line must not make the quote in its name one that runs on. */
    expect(" m=\"a\n=\" f=1\nn f=1 1\n",
           "1 missing fields;=\"|f=1|1700000000123456789 now;n|f=1|1;");
}

static void
what_we_take_and_the_server_does_not(void **state)
{
    (void)state;
    EXPECT_BYTES("\xef\xbb\xbfm f=1 1\n", "m|f=1|1;");
    EXPECT_BYTES("\xef\xbb\xbf# c\nm f=1 1\n", "m|f=1|1;");
    expect("# a=\"b\nm f=1 1\n", "m|f=1|1;");
    expect("# \\\nm f=1 1\n", "m|f=1|1;");
    expect("m f=1u,g=0u 1\n", "m|f=1u,g=0u|1;");
    expect("m f=-1u 1\nm f=1.5u 1\nm f=u 1\n",
           "1 invalid number;2 invalid number;3 invalid boolean;");
    expect("m time=1i,a=2 1\n", "m|time=1i,a=2|1;");
}

static void
timestamps_become_nanoseconds(void **state)
{
    static const struct {
        enum precision precision;
        const char *good, *now;
    } rows[] = {
        {PRECISION_NS, "m|f=1|-17;", "m|f=1|1700000000123456789 now;"},
        {PRECISION_US, "m|f=1|-17000;", "m|f=1|1700000000123456000 now;"},
        {PRECISION_MS, "m|f=1|-17000000;", "m|f=1|1700000000123000000 now;"},
        {PRECISION_S, "m|f=1|-17000000000;", "m|f=1|1700000000000000000 now;"},
        {PRECISION_M, "m|f=1|-1020000000000;", "m|f=1|1699999980000000000 now;"},
        {PRECISION_H, "m|f=1|-61200000000000;", "m|f=1|1699999200000000000 now;"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum precision p = rows[i].precision, parsed = PRECISION_H;
        assert_string_equal(verdicts(SLICE("m f=1 -17\n"), p), rows[i].good);
        assert_string_equal(verdicts(SLICE("m f=1 -17"), p), rows[i].good);
        assert_string_equal(verdicts(SLICE("m f=1\n"), p), rows[i].now);
        assert_string_equal(verdicts(SLICE("m f=1"), p), rows[i].now);
        assert_int_equal(precision_parse(slice_of(precision_name(p)), &parsed), ERR_OK);
        assert_int_equal(parsed, p);
    }
    assert_string_equal(verdicts(SLICE("m f=1 9223372036\nm f=1 9223372037\n"), PRECISION_S),
                        "m|f=1|9223372036000000000;2 time outside range "
                        "-9223372036854775806 - 9223372036854775806;");
    assert_int_equal(precision_from_ns(-1, PRECISION_S), -1);
    assert_int_equal(precision_from_ns(-1000000000, PRECISION_S), -1);
    enum precision p;
    assert_int_equal(precision_parse(SLICE("banana"), &p), ERR_BAD);
    assert_int_equal(precision_parse(SLICE("MS"), &p), ERR_BAD);
}

/* A body of one line with a series key of ${key} bytes and a field key of ${field}. */
static const char *
long_line(size_t key, size_t field)
{
    uint8_t *bytes = malloc(key + field + 8);
    const char *text;

    assert_non_null(bytes);
    memset(bytes, 'k', key);
    bytes[key] = ' ';
    memset(bytes + key + 1, 'f', field);
    memcpy(bytes + key + 1 + field, "=1 1\n", 5);
    struct slice body = slice_make(bytes, key + field + 6);
    struct slice guarded = guard_copy(body);
    struct lineproto lp;
    struct lineproto_point point;
    struct lineproto_bad bad;
    lineproto_init(&lp, guarded, PRECISION_NS, NOW_NS);
    text = lineproto_next(&lp, &point, &bad) == LINEPROTO_POINT
               ? "good"
               : lineproto_reason_label(bad.reason);
    guard_free(guarded);
    free(bytes);
    return text;
}

/* LP21 among them: a long value is kept whole or refused in words. */
static void
key_lengths_have_the_servers_limit(void **state)
{
    (void)state;
    assert_string_equal(long_line(65530, 1), "good");
    assert_string_equal(long_line(65531, 1), "key_too_long");
    assert_string_equal(long_line(65536, 1), "key_too_long");
    assert_string_equal(long_line(1, 65530), "good");
    assert_string_equal(long_line(1, 65531), "key_too_long");
    assert_string_equal(long_line(40000, 25531), "good");
    assert_string_equal(long_line(40000, 25532), "key_too_long");
    assert_string_equal(long_line(85000, 1), "key_too_long");
}

static void
messages_name_the_first_bad_line(void **state)
{
    struct lineproto lp;
    struct lineproto_point point;
    struct lineproto_bad bad;
    struct buf out;
    char line[600], text[1200];

    (void)state;
    buf_init(&out, sizeof(text) - 1);
    lineproto_init(&lp, SLICE("# c\n\nm f=nan 1\n"), PRECISION_NS, NOW_NS);
    assert_int_equal(lineproto_next(&lp, &point, &bad), LINEPROTO_BAD);
    assert_int_equal(lineproto_put_error(&out, &bad, 3, 2), ERR_OK);
    slice_copy_text(buf_peek(&out), text, sizeof(text));
    assert_string_equal(text, "partial write: unable to parse 'm f=nan 1': invalid number (line 3) "
                              "dropped=2");
    bad.line_number = 1;
    buf_clear(&out);
    assert_int_equal(lineproto_put_error(&out, &bad, 0, 1), ERR_OK);
    slice_copy_text(buf_peek(&out), text, sizeof(text));
    assert_string_equal(text, "unable to parse 'm f=nan 1': invalid number");

    /* A long echo is cut, and not inside a character. */
    memset(line, 'a', sizeof(line));
    memcpy(line + LINEPROTO_ECHO_MAX - 1, "\xc3\xa4", 2);
    lineproto_init(&lp, slice_make(line, sizeof(line)), PRECISION_NS, NOW_NS);
    assert_int_equal(lineproto_next(&lp, &point, &bad), LINEPROTO_BAD);
    buf_clear(&out);
    assert_int_equal(lineproto_put_error(&out, &bad, 0, 1), ERR_OK);
    slice_copy_text(buf_peek(&out), text, sizeof(text));
    assert_int_equal(buf_len(&out),
                     strlen("unable to parse '...': missing fields") + LINEPROTO_ECHO_MAX - 1);
    assert_non_null(strstr(text, "a...': missing fields"));

    /* A buffer that is too small is an error at every length, never a cut text. */
    for (size_t max = 0; max < 450; max++) {
        struct buf small;
        buf_init(&small, max);
        enum err err = lineproto_put_error(&small, &bad, 1, 1);
        assert_int_equal(err, max < buf_len(&out) + strlen("partial write:  (line 1) dropped=1")
                                  ? ERR_NOMEM
                                  : ERR_OK);
        buf_free(&small);
    }
    buf_free(&out);
}

/* Every beginning of a body is judged without a look behind its end, and good lines before the cut
 * stay what they are. */
static void
any_cut_is_judged_within_its_bytes(void **state)
{
    static const char body[] = "cpu,host=a\\ b,b=1 x=1,y=2i,z=\"q\\\\\\\"\n\",t=true 17\r\n"
                               "m\\,x,a\\=b=c\\\\d f\\ g=-1.5e-3,u=5u\n# c \\\n\r\n m  f=\"x\\";
    const size_t first = strcspn(body, "\r") + 2;

    (void)state;
    for (size_t n = 0; n < sizeof(body); n++) {
        const char *text = verdicts(slice_make(body, n), PRECISION_NS);
        if (n >= first)
            assert_memory_equal(text, "cpu,host=a\\ b,b=1|x=1,", 22);
    }
}

/* Hostile lines: many tags or fields out of order, with the only repetition at the far ends. */
static void
many_names_cost_no_square(void **state)
{
    enum { COUNT = 9000 };
    struct buf body;
    struct lineproto lp;
    struct lineproto_point point;
    struct lineproto_bad bad;
    clock_t start = clock();

    (void)state;
    buf_init(&body, 1 << 20);
    for (int round = 0; round < 10; round++) {
        assert_int_equal(buf_add_text(&body, "m"), ERR_OK);
        for (unsigned i = COUNT; i > 0; i--)
            assert_int_equal(buf_printf(&body, ",%x=1", i * 7919 % 9001), ERR_OK);
        assert_int_equal(buf_add_text(&body, round == 9 ? ",4e8=1 f=1\n" : " f=1\n"), ERR_OK);
    }
    lineproto_init(&lp, buf_peek(&body), PRECISION_NS, NOW_NS);
    for (int round = 0; round < 9; round++)
        assert_int_equal(lineproto_next(&lp, &point, &bad), LINEPROTO_POINT);
    assert_int_equal(lineproto_next(&lp, &point, &bad), LINEPROTO_BAD);
    assert_int_equal(bad.reason, LINEPROTO_DUPLICATE_TAGS);

    buf_clear(&body);
    assert_int_equal(buf_add_text(&body, "m s=\"\""), ERR_OK);
    for (unsigned i = COUNT; i > 0; i--)
        assert_int_equal(buf_printf(&body, ",%x=1", i), ERR_OK);
    assert_int_equal(buf_add_text(&body, ",2328=t 1\n"), ERR_OK); /* 9000 once more */
    lineproto_init(&lp, buf_peek(&body), PRECISION_NS, NOW_NS);
    assert_int_equal(lineproto_next(&lp, &point, &bad), LINEPROTO_BAD);
    assert_int_equal(bad.reason, LINEPROTO_FIELD_TYPE_CONFLICT);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 5);
    buf_free(&body);
}

static void
fields_of_mixed_types_have_a_limit(void **state)
{
    struct buf body;
    struct lineproto lp;
    struct lineproto_point point;
    struct lineproto_bad bad;

    (void)state;
    buf_init(&body, 1 << 20);
    for (int mixed = 0; mixed < 2; mixed++) {
        buf_clear(&body);
        assert_int_equal(buf_add_text(&body, mixed ? "m s=t" : "m s=2"), ERR_OK);
        for (unsigned i = 0; i < LINEPROTO_FIELDS_MAX; i++)
            assert_int_equal(buf_printf(&body, ",%x=1", i), ERR_OK);
        assert_int_equal(buf_add_text(&body, " 1\n"), ERR_OK);
        lineproto_init(&lp, buf_peek(&body), PRECISION_NS, NOW_NS);
        assert_int_equal(lineproto_next(&lp, &point, &bad),
                         mixed ? LINEPROTO_BAD : LINEPROTO_POINT);
    }
    assert_int_equal(bad.reason, LINEPROTO_TOO_MANY_FIELDS);
    assert_int_equal(bad.length, LINEPROTO_FIELDS_MAX + 1);
    buf_free(&body);
}

static void
every_reason_has_a_label(void **state)
{
    (void)state;
    for (int i = 0; i < LINEPROTO_REASONS; i++)
        assert_true(strlen(lineproto_reason_label((enum lineproto_reason)i)) > 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_lines_come_out_as_they_came),
        cmocka_unit_test(known_faults_of_others),
        cmocka_unit_test(names_that_come_twice),
        cmocka_unit_test(carriage_returns_belong_to_the_line_end),
        cmocka_unit_test(what_the_server_takes_and_we_do_not),
        cmocka_unit_test(what_we_take_and_the_server_does_not),
        cmocka_unit_test(timestamps_become_nanoseconds),
        cmocka_unit_test(key_lengths_have_the_servers_limit),
        cmocka_unit_test(messages_name_the_first_bad_line),
        cmocka_unit_test(any_cut_is_judged_within_its_bytes),
        cmocka_unit_test(many_names_cost_no_square),
        cmocka_unit_test(tags_out_of_order),
        cmocka_unit_test(fields_of_mixed_types_have_a_limit),
        cmocka_unit_test(every_reason_has_a_label),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
