/*
 * test_sink_codec.c: a sink's definition in the store and back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "msgpack/msgpack_write.h"
#include "sink/sink_codec.h"
#include "sink/sink_options.h"
#include "sink/sink_types.h"
#include "support/guard.h"
#include "support/sink_drive.h"

static void
fill(struct sink_def *d)
{
    static const char *const options[] = {"headers", "X: y",    "gzip",        "true", "timeout",
                                          "3s",      "on_full", "drop_oldest", NULL};

    sink_drive_def(d, "http_line", "http://u:p@c/w?db=x", options);
    d->batch_size = 17;
    d->flush_interval_ms = 1500;
    d->paused = d->followed = true;
    d->created_ns = INT64_C(1796040000123456789);
    assert_int_equal(sink_def_add(&d->databases, SELECTOR_NAME, SLICE("a"), NULL), ERR_OK);
    assert_int_equal(sink_def_add(&d->include, SELECTOR_REGEX, SLICE("x+"), NULL), ERR_OK);
    assert_int_equal(sink_def_add(&d->include, SELECTOR_NAME, SLICE(""), NULL), ERR_OK);
    assert_int_equal(sink_def_add(&d->exclude, SELECTOR_GLOB, SLICE("y*"), NULL), ERR_OK);
}

static void
assert_same_list(const struct selector_list *a, const struct selector_list *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_int_equal(a->list[i].kind, b->list[i].kind);
        assert_string_equal(a->list[i].text, b->list[i].text);
    }
}

static void
assert_same_text(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a != NULL)
        assert_string_equal(a, b);
}

static void
assert_same(const struct sink_def *a, const struct sink_def *b)
{
    assert_ptr_equal(a->type, b->type);
    assert_int_equal(a->id, b->id);
    assert_same_text(a->name, b->name);
    assert_same_text(a->url, b->url);
    assert_same_text(a->username, b->username);
    assert_int_equal(secret_is_set(&a->password), secret_is_set(&b->password));
    assert_true(slice_eq(secret_reveal(&a->password), secret_reveal(&b->password)));
    assert_int_equal(a->format, b->format);
    assert_same_list(&a->databases, &b->databases);
    assert_same_list(&a->include, &b->include);
    assert_same_list(&a->exclude, &b->exclude);
    assert_int_equal(a->batch_size, b->batch_size);
    assert_int_equal(a->flush_interval_ms, b->flush_interval_ms);
    assert_int_equal(a->paused, b->paused);
    assert_int_equal(a->followed, b->followed);
    assert_int_equal(a->created_ns, b->created_ns);
    for (size_t i = 0; i < sink_options_count(a->type); i++) {
        assert_int_equal(a->options[i].set, b->options[i].set);
        assert_int_equal(a->options[i].number, b->options[i].number);
        assert_true(
            slice_eq(secret_reveal(&a->options[i].text), secret_reveal(&b->options[i].text)));
    }
}

static void
every_field_comes_back(void **state)
{
    struct sink_def d, back;
    struct buf bytes;

    (void)state;
    fill(&d);
    buf_init(&bytes, 4096);
    assert_int_equal(sink_codec_encode(&d, &bytes), ERR_OK);
    assert_int_equal(sink_codec_decode(&back, buf_peek(&bytes), NULL), ERR_OK);
    assert_same(&d, &back);
    sink_def_free(&back);
    sink_def_free(&d);
    buf_free(&bytes);
    assert_int_equal(mem_live(), 0);
}

static void
every_type_with_its_defaults_comes_back(void **state)
{
    const struct sink_type *type;

    (void)state;
    for (size_t i = 0; (type = sink_types_at(i)) != NULL; i++) {
        struct sink_def d, back;
        struct buf bytes;

        assert_int_equal(sink_def_init(&d, type), ERR_OK);
        d.id = UINT32_MAX;
        d.name = mem_text(SLICE("\xc3\xa4 \"x\""));
        assert_non_null(d.name);
        buf_init(&bytes, 4096);
        assert_int_equal(sink_codec_encode(&d, &bytes), ERR_OK);
        assert_int_equal(sink_codec_decode(&back, buf_peek(&bytes), NULL), ERR_OK);
        assert_same(&d, &back);
        sink_def_free(&back);
        sink_def_free(&d);
        buf_free(&bytes);
    }
    assert_int_equal(mem_live(), 0);
}

/* A map of one more key than ${d} needs, which this program does not know. */
static void
a_key_of_a_newer_program_is_skipped(void **state)
{
    struct sink_def back;
    struct errinfo info;
    struct buf bytes;
    struct wr w;

    (void)state;
    buf_init(&bytes, 1000);
    wr_init(&w, &bytes);
    msgpack_write_map(&w, 5);
    msgpack_write_text(&w, "colour");
    msgpack_write_array(&w, 2);
    msgpack_write_map(&w, 1);
    msgpack_write_text(&w, "type");
    msgpack_write_i64(&w, -5);
    msgpack_write_nil(&w);
    msgpack_write_text(&w, "id");
    msgpack_write_i64(&w, 9);
    msgpack_write_text(&w, "type");
    msgpack_write_text(&w, "STDOUT");
    msgpack_write_text(&w, "zeal");
    msgpack_write_bool(&w, true);
    msgpack_write_text(&w, "name");
    msgpack_write_text(&w, "n");
    assert_int_equal(wr_done(&w), ERR_OK);
    if (sink_codec_decode(&back, buf_peek(&bytes), &info) != ERR_OK)
        fail_msg("%s", info.text);
    assert_string_equal(back.name, "n");
    assert_int_equal(back.id, 9);
    assert_string_equal(back.type->name, "stdout");
    sink_def_free(&back);
    buf_free(&bytes);
    assert_int_equal(mem_live(), 0);
}

/* Whatever comes, it ends cleanly: a definition, or a word on what is wrong. */
static void
decode_any(struct slice bytes)
{
    struct slice guarded = guard_copy(bytes);
    struct sink_def back;
    struct errinfo info = {ERR_OK, 0, ""};
    size_t live = mem_live();

    if (sink_codec_decode(&back, guarded, &info) == ERR_OK)
        sink_def_free(&back);
    else
        assert_int_equal(info.code, ERR_BAD);
    assert_int_equal(mem_live(), live);
    guard_free(guarded);
}

static void
damaged_bytes_end_cleanly(void **state)
{
    struct sink_def d, back;
    struct buf bytes;
    struct errinfo info;

    (void)state;
    fill(&d);
    buf_init(&bytes, 4096);
    assert_int_equal(sink_codec_encode(&d, &bytes), ERR_OK);
    for (size_t n = 0; n < buf_len(&bytes); n++) {
        assert_int_equal(sink_codec_decode(&back, slice_to(buf_peek(&bytes), n), &info), ERR_BAD);
        decode_any(slice_to(buf_peek(&bytes), n));
    }
    for (size_t i = 0; i < buf_len(&bytes); i++) {
        uint8_t *byte = bytes.data + bytes.head + i;

        for (unsigned bit = 0; bit < 8; bit++) {
            *byte ^= (uint8_t)(1u << bit);
            decode_any(buf_peek(&bytes));
            *byte ^= (uint8_t)(1u << bit);
        }
    }
    assert_int_equal(buf_add_byte(&bytes, 0xc0), ERR_OK); /* something behind it */
    assert_int_equal(sink_codec_decode(&back, buf_peek(&bytes), &info), ERR_BAD);
    sink_def_free(&d);
    buf_free(&bytes);
    assert_int_equal(mem_live(), 0);
}

static void
an_unknown_type_is_named_as_such(void **state)
{
    static const uint8_t bytes[] = "\x81\xa4type\xa3xyz";
    struct sink_def back;
    struct errinfo info;

    (void)state;
    assert_int_equal(sink_codec_decode(&back, slice_make(bytes, sizeof(bytes) - 1), &info),
                     ERR_BAD);
    assert_string_equal(info.text, "a sink's definition in the store names no known type");
}

static void
too_large_a_definition_writes_nothing(void **state)
{
    struct sink_def d;
    struct buf bytes;

    (void)state;
    fill(&d);
    for (size_t max = 1; max < 200; max += 7) {
        buf_init(&bytes, max);
        assert_int_equal(sink_codec_encode(&d, &bytes), ERR_NOMEM);
        assert_int_equal(buf_len(&bytes), 0);
        buf_free(&bytes);
    }
    sink_def_free(&d);
    assert_int_equal(mem_live(), 0);
}

static void
want_of_memory_is_not_called_damage(void **state)
{
    struct sink_def d, back;
    struct buf bytes;
    size_t live;

    (void)state;
    fill(&d);
    buf_init(&bytes, 4096);
    assert_int_equal(sink_codec_encode(&d, &bytes), ERR_OK);
    live = mem_live();
    for (size_t n = 1;; n++) {
        struct errinfo info = {ERR_OK, 0, ""};
        enum err err;

        assert_in_range(n, 1, 200);
        mem_fail_at(n);
        err = sink_codec_decode(&back, buf_peek(&bytes), &info);
        mem_fail_at(0);
        if (err == ERR_OK)
            break;
        assert_int_equal(err, ERR_NOMEM);
        assert_string_equal(info.text, "no memory for a sink definition");
        assert_int_equal(mem_live(), live);
    }
    assert_same(&d, &back);
    sink_def_free(&back);
    sink_def_free(&d);
    buf_free(&bytes);
    assert_int_equal(mem_live(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_comes_back),
        cmocka_unit_test(every_type_with_its_defaults_comes_back),
        cmocka_unit_test(a_key_of_a_newer_program_is_skipped),
        cmocka_unit_test(damaged_bytes_end_cleanly),
        cmocka_unit_test(an_unknown_type_is_named_as_such),
        cmocka_unit_test(too_large_a_definition_writes_nothing),
        cmocka_unit_test(want_of_memory_is_not_called_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
