/*
 * fuzz_num.c: any bytes as a number, a duration, base64 and percent-encoding. What is read is
 * written back and read again as the same; a long floating point text agrees with the C library's
 * answer.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
integers(struct slice s)
{
    uint8_t digits[NUM_TEXT];
    uint64_t u, u_again;
    int64_t i, i_again;

    if (num_u64(s, &u) == ERR_OK) {
        assert(num_u64(slice_make(digits, num_put_u64(digits, u)), &u_again) == ERR_OK);
        assert(u_again == u);
    }
    if (num_i64(s, &i) == ERR_OK) {
        assert(num_i64(slice_make(digits, num_put_i64(digits, i)), &i_again) == ERR_OK);
        assert(i_again == i);
    }
}

static void
durations(struct slice s)
{
    char text[NUM_DURATION_TEXT];
    int64_t ns, again;

    if (num_duration_ns(s, &ns) != ERR_OK)
        return;
    assert(ns >= 0);
    assert(num_duration_ns(slice_of(num_put_duration(text, ns)), &again) == ERR_OK);
    assert(again == ns);
}

static void
floating_point(struct slice s)
{
    double value = 0;
    enum err err = num_f64(s, &value);
    char *text = mem_text(s), *end;

    assert(text != NULL);
    double expected = strtod(text, &end);
    if (err == ERR_OK) {
        assert(*end == '\0' && memcmp(&value, &expected, sizeof(value)) == 0);
    } else if (err == ERR_RANGE) {
        assert(*end == '\0' &&
               !(expected <= 1.7976931348623157e308 && expected >= -1.7976931348623157e308));
    } else if (end == text + s.n && s.n > 0) {
        /* The C library takes more: blanks, hexadecimal, infinity, not a number. */
        assert(strpbrk(text, " \t\n\v\f\rxXiInN") != NULL);
    }
    mem_free(text);
}

static void
encodings(struct slice s)
{
    struct buf coded, plain;

    buf_init(&coded, 3 * s.n + 4);
    buf_init(&plain, 3 * s.n + 4);
    assert(text_base64(&coded, s) == ERR_OK && text_unbase64(&plain, buf_peek(&coded)) == ERR_OK);
    assert(slice_eq(buf_peek(&plain), s));
    buf_clear(&plain);
    buf_clear(&coded);
    assert(text_percent(&coded, s) == ERR_OK);
    assert(text_unpercent(&plain, buf_peek(&coded), true) == ERR_OK);
    assert(slice_eq(buf_peek(&plain), s));
    buf_clear(&plain);
    buf_clear(&coded);
    if (text_unbase64(&plain, s) == ERR_OK) { /* one text for one value */
        assert(text_base64(&coded, buf_peek(&plain)) == ERR_OK);
        assert(slice_eq(buf_peek(&coded), s));
    }
    buf_free(&coded);
    buf_free(&plain);

    struct buf json;
    buf_init(&json, 6 * s.n + 2);
    assert(text_json(&json, s) == ERR_OK && text_is_utf8(buf_peek(&json)));
    buf_free(&json);
    assert(text_glob(s, s)); /* a '*' matches itself */
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice s = slice_make(data, size);

    if (size > 10000)
        return 0;
    integers(s);
    durations(s);
    floating_point(s);
    encodings(s);
    assert(mem_live() == 0);
    return 0;
}
