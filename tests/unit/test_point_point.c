/*
 * test_point_point.c: reading a stored line: parts, tags, typed fields, escapes, and writing it
 * out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "point/point.h"
#include "support/guard.h"

static void
assert_slice(struct slice s, const char *text)
{
    assert_int_equal(s.n, strlen(text));
    assert_memory_equal(s.p, text, s.n);
}

static void
parts_and_tags_in_stored_order(void **state)
{
    struct slice line = guard_copy(SLICE("m\\,x\\ y,host=a\\ b,path=C:\\x,e==v f=1"));
    struct slice rest;
    struct point point;
    struct point_tag tag;

    (void)state;
    assert_int_equal(point_open(&point, line), ERR_OK);
    assert_slice(point.measurement, "m\\,x\\ y");
    assert_slice(point.fields, "f=1");
    rest = point.tags;
    assert_true(point_next_tag(&rest, &tag));
    assert_slice(tag.key, "host");
    assert_slice(tag.value, "a\\ b");
    assert_true(point_next_tag(&rest, &tag));
    assert_slice(tag.key, "path");
    assert_slice(tag.value, "C:\\x");
    assert_true(point_next_tag(&rest, &tag));
    assert_slice(tag.key, "e");
    assert_slice(tag.value, "=v");
    assert_false(point_next_tag(&rest, &tag));
    guard_free(line);

    assert_int_equal(point_open(&point, SLICE("m f=1")), ERR_OK);
    assert_int_equal(point.tags.n, 0);
    assert_int_equal(point_open(&point, SLICE("")), ERR_BAD);
    assert_int_equal(point_open(&point, SLICE("m")), ERR_BAD);
    assert_int_equal(point_open(&point, SLICE("m ")), ERR_BAD);
    assert_int_equal(point_open(&point, SLICE(",t=v f=1")), ERR_BAD);
}

static void
fields_have_their_types(void **state)
{
    struct slice rest = SLICE("a=1.5,b=-9223372036854775808i,c=18446744073709551615u,d=\"x,\\\"y\","
                              "e=TRUE,f=F,g=\"\",h=-0.0,i=1e400x");
    struct point_field field;

    (void)state;
    assert_true(point_next_field(&rest, &field));
    assert_slice(field.key, "a");
    assert_int_equal(field.type, POINT_FLOAT);
    assert_true(field.value.number > 1.49 && field.value.number < 1.51);
    assert_true(point_next_field(&rest, &field));
    assert_int_equal(field.type, POINT_INTEGER);
    assert_true(field.value.integer == INT64_MIN);
    assert_true(point_next_field(&rest, &field));
    assert_int_equal(field.type, POINT_UNSIGNED);
    assert_true(field.value.whole == UINT64_MAX);
    assert_true(point_next_field(&rest, &field));
    assert_int_equal(field.type, POINT_TEXT);
    assert_slice(field.text, "x,\\\"y");
    assert_true(point_next_field(&rest, &field));
    assert_int_equal(field.type, POINT_BOOLEAN);
    assert_true(field.value.truth);
    assert_true(point_next_field(&rest, &field));
    assert_int_equal(field.type, POINT_BOOLEAN);
    assert_false(field.value.truth);
    assert_true(point_next_field(&rest, &field));
    assert_int_equal(field.type, POINT_TEXT);
    assert_int_equal(field.text.n, 0);
    assert_true(point_next_field(&rest, &field));
    assert_int_equal(field.type, POINT_FLOAT);
    assert_slice(field.text, "-0.0");
    assert_false(point_next_field(&rest, &field));
    assert_slice(rest, "i=1e400x");
}

static void
a_later_field_of_the_same_name_is_seen(void **state)
{
    struct slice rest = SLICE("a=\"x,b=\",b=2,a=3");
    struct point_field field;

    (void)state;
    assert_true(point_next_field(&rest, &field));
    assert_true(point_field_again(rest, &field));
    assert_true(point_next_field(&rest, &field));
    assert_false(point_field_again(rest, &field));
    assert_true(point_next_field(&rest, &field));
    assert_false(point_field_again(rest, &field));
}

static void
escapes_come_off_once(void **state)
{
    static const struct {
        enum point_part part;
        const char *raw, *text;
    } rows[] = {
        {POINT_MEASUREMENT, "a\\,b\\ c\\=d\\\"e", "a,b c=d\"e"},
        {POINT_MEASUREMENT, "a\\\\b\\n\\", "a\\\\b\\n\\"},
        {POINT_MEASUREMENT, "a\\\\,b", "a\\,b"},
        {POINT_TAG, "a\\,b\\ c\\=d\\\"e", "a,b c=d\\\"e"},
        {POINT_TAG, "C:\\\\x\\", "C:\\\\x\\"},
        {POINT_FIELD_KEY, "a\\,b\\ c\\=d\\\"e\\\\", "a,b c=d\"e\\\\"},
        {POINT_STRING, "a\\\"b\\\\c\\n\\,", "a\"b\\c\\n\\,"},
        {POINT_STRING, "\\\\\\\\\\\"", "\\\\\""},
        {POINT_TAG, "", ""},
    };
    uint8_t out[64];
    struct slice text;
    struct buf buf;

    (void)state;
    buf_init(&buf, 64);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct slice raw = guard_copy(slice_of(rows[i].raw));
        enum point_part part = rows[i].part;
        assert_slice(slice_make(out, point_unescape(part, raw, out)), rows[i].text);
        assert_true(point_equal(part, raw, slice_of(rows[i].text)));
        if (raw.n > 0) {
            assert_false(point_equal(part, raw, slice_from(slice_of(rows[i].text), 1)));
            assert_false(point_equal(part, raw, SLICE("something else that is longer")));
        }
        assert_int_equal(point_copy(part, raw, out, sizeof(out), &text), ERR_OK);
        assert_slice(text, rows[i].text);
        buf_clear(&buf);
        assert_int_equal(point_put(&buf, part, raw), ERR_OK);
        assert_slice(buf_peek(&buf), rows[i].text);
        guard_free(raw);
    }
    assert_true(point_is_plain(SLICE("abc")));
    assert_false(point_is_plain(SLICE("a\\bc")));
    assert_int_equal(point_copy(POINT_TAG, SLICE("a\\ bc"), out, 3, &text), ERR_RANGE);
    assert_slice(text, "a b");
    assert_int_equal(point_copy(POINT_TAG, SLICE("a\\ b"), out, 3, &text), ERR_OK);
    buf_free(&buf);
}

static void
tags_are_found_by_their_plain_name(void **state)
{
    struct point point;
    struct slice raw;

    (void)state;
    assert_int_equal(point_open(&point, SLICE("m,ab=1,a\\ b=x\\,y,a=2 f=1")), ERR_OK);
    assert_true(point_find_tag(&point, SLICE("a"), &raw));
    assert_slice(raw, "2");
    assert_true(point_find_tag(&point, SLICE("a b"), &raw));
    assert_slice(raw, "x\\,y");
    assert_false(point_find_tag(&point, SLICE("b"), &raw));
    assert_int_equal(point_open(&point, SLICE("m f=1")), ERR_OK);
    assert_false(point_find_tag(&point, SLICE("a"), &raw));
}

static void
a_line_is_written_with_its_timestamp(void **state)
{
    static const struct {
        enum precision precision;
        int64_t time_ns;
        const char *text;
    } rows[] = {
        {PRECISION_NS, INT64_C(1700000000123456789), "m f=1 1700000000123456789"},
        {PRECISION_US, INT64_C(1700000000123456789), "m f=1 1700000000123456"},
        {PRECISION_MS, INT64_C(1700000000123456789), "m f=1 1700000000123"},
        {PRECISION_S, INT64_C(1700000000123456789), "m f=1 1700000000"},
        {PRECISION_S, -1, "m f=1 -1"},
        {PRECISION_NS, INT64_C(-9223372036854775806), "m f=1 -9223372036854775806"},
        {PRECISION_MS, 0, "m f=1 0"},
    };
    struct buf out;

    (void)state;
    buf_init(&out, 64);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        buf_clear(&out);
        assert_int_equal(point_put_line(&out, SLICE("m f=1"), rows[i].time_ns, rows[i].precision),
                         ERR_OK);
        assert_slice(buf_peek(&out), rows[i].text);
    }
    buf_free(&out);
    buf_init(&out, 8);
    assert_int_equal(point_put_line(&out, SLICE("m f=1"), 1, PRECISION_NS), ERR_NOMEM);
    buf_free(&out);
    assert_int_equal(mem_live(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_and_tags_in_stored_order),
        cmocka_unit_test(fields_have_their_types),
        cmocka_unit_test(a_later_field_of_the_same_name_is_seen),
        cmocka_unit_test(escapes_come_off_once),
        cmocka_unit_test(tags_are_found_by_their_plain_name),
        cmocka_unit_test(a_line_is_written_with_its_timestamp),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
