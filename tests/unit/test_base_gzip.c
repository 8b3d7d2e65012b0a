/*
 * test_base_gzip.c: members with every header field, cuts anywhere, damage, bombs, and lost memory.
 * The vectors were made with zlib by way of another program; the words are InfluxDB 1.x's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "support/guard.h"

static const uint8_t member[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x4b,
                                 0x2e, 0x28, 0xd5, 0xc9, 0xc8, 0x2f, 0x2e, 0xb1, 0x4d, 0x54, 0x28,
                                 0x4b, 0xcc, 0x29, 0x4d, 0xb5, 0x35, 0x54, 0x30, 0x34, 0x80, 0x01,
                                 0x00, 0x04, 0x77, 0xc5, 0xe7, 0x1d, 0x00, 0x00, 0x00};
#define MEMBER_TEXT "cpu,host=a value=1 1000000000"

/* "ab", with extra field, name, comment and a checksum of the header. */
static const uint8_t all_fields[] = {
    0x1f, 0x8b, 0x08, 0x1e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x03, 0x00, 0x78, 0x79,
    0x7a, 0x6e, 0x61, 0x6d, 0x65, 0x00, 0x63, 0x6f, 0x6d, 0x6d, 0x65, 0x6e, 0x74, 0x00,
    0xa4, 0xbb, 0x4b, 0x4c, 0x02, 0x00, 0x6d, 0x48, 0x83, 0x9e, 0x02, 0x00, 0x00, 0x00};

/* Feeds ${in} in one piece and ends; returns the first error. */
static enum err
inflate_whole(struct gzip_reader *r, struct slice in, struct buf *out, struct errinfo *info)
{
    enum err err = gzip_reader_feed(r, in, out, info);

    return err != ERR_OK ? err : gzip_reader_end(r, info);
}

/* What becomes of ${in}: the error, its text (NULL: any), the inflated bytes. */
static void
check_inflate(struct slice in, enum err err, const char *text, struct slice expected)
{
    struct gzip_reader *r = gzip_reader_open();
    struct slice s = guard_copy(in);
    struct errinfo info = {.text = ""};
    struct buf out;

    assert_non_null(r);
    buf_init(&out, 100000);
    assert_int_equal(inflate_whole(r, s, &out, &info), err);
    if (text != NULL)
        assert_string_equal(info.text, text);
    if (err == ERR_OK)
        assert_true(slice_eq(buf_peek(&out), expected));
    buf_free(&out);
    guard_free(s);
    gzip_reader_close(r);
}

static const struct slice none = {NULL, 0};

static void
known_members(void **state)
{
    (void)state;
    assert_true(gzip_available());
    assert_true(strlen(gzip_version()) > 0);
    check_inflate(slice_make(member, sizeof(member)), ERR_OK, "", SLICE(MEMBER_TEXT));
    check_inflate(slice_make(all_fields, sizeof(all_fields)), ERR_OK, "", SLICE("ab"));
}

/* ${count} bytes of room for members and what follows them. */
static struct slice
join(uint8_t *room, struct slice a, struct slice b)
{
    memcpy(room, a.p, a.n);
    if (b.n > 0)
        memcpy(room + a.n, b.p, b.n);
    return slice_make(room, a.n + b.n);
}

static void
members_follow_one_another(void **state)
{
    uint8_t room[200];
    struct slice one = slice_make(member, sizeof(member));
    struct slice two = slice_make(all_fields, sizeof(all_fields));

    (void)state;
    check_inflate(join(room, one, two), ERR_OK, "", SLICE(MEMBER_TEXT "ab"));
    check_inflate(join(room, two, one), ERR_OK, "", SLICE("ab" MEMBER_TEXT));
    check_inflate(join(room, one, SLICE("garbage")), ERR_SHORT, "unexpected EOF", none);
    check_inflate(join(room, one, SLICE("more garbage")), ERR_BAD, "gzip: invalid header", none);
    check_inflate(join(room, one, slice_to(two, 41)), ERR_SHORT, "unexpected EOF", none);
}

static void
every_prefix_is_short(void **state)
{
    (void)state;
    check_inflate(none, ERR_SHORT, "EOF", none);
    for (size_t n = 1; n < sizeof(member); n++)
        check_inflate(slice_make(member, n), ERR_SHORT, "unexpected EOF", none);
    for (size_t n = 1; n < sizeof(all_fields); n++)
        check_inflate(slice_make(all_fields, n), ERR_SHORT, "unexpected EOF", none);
}

static void
any_cut_gives_the_same(void **state)
{
    struct gzip_reader *r = gzip_reader_open();
    uint8_t room[200];
    struct slice in =
        join(room, slice_make(all_fields, sizeof(all_fields)), slice_make(member, sizeof(member)));

    (void)state;
    for (size_t cut = 0; cut <= in.n; cut++) {
        struct buf out;
        buf_init(&out, 1000);
        gzip_reader_reset(r);
        assert_int_equal(gzip_reader_feed(r, slice_to(in, cut), &out, NULL), ERR_OK);
        assert_int_equal(gzip_reader_feed(r, slice_from(in, cut), &out, NULL), ERR_OK);
        assert_int_equal(gzip_reader_end(r, NULL), ERR_OK);
        assert_true(slice_eq(buf_peek(&out), SLICE("ab" MEMBER_TEXT)));
        buf_free(&out);
    }
    gzip_reader_close(r);
}

static void
check_damage(size_t at, uint8_t byte, const char *text)
{
    uint8_t damaged[sizeof(member)];

    memcpy(damaged, member, sizeof(member));
    damaged[at] = byte;
    check_inflate(slice_make(damaged, sizeof(damaged)), ERR_BAD, text, none);
}

static void
damage_is_named(void **state)
{
    uint8_t damaged[sizeof(all_fields)];

    (void)state;
    check_inflate(SLICE("cpu,host=a value=1"), ERR_BAD, "gzip: invalid header", none);
    check_damage(0, 0x1e, "gzip: invalid header");
    check_damage(1, 0, "gzip: invalid header");
    check_damage(2, 7, "gzip: invalid header");
    check_damage(10, 0xff, "flate: corrupt input");
    check_damage(34, 0, "gzip: invalid checksum");
    check_damage(38, 0x1c, "gzip: invalid checksum");
    memcpy(damaged, all_fields, sizeof(all_fields));
    damaged[15] ^= 1; /* under the header's own checksum */
    check_inflate(slice_make(damaged, sizeof(damaged)), ERR_BAD, "gzip: invalid header", none);
}

static void
a_failure_stays_until_the_reset(void **state)
{
    struct gzip_reader *r = gzip_reader_open();
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    assert_int_equal(gzip_reader_feed(r, SLICE("not gzip at all"), &out, NULL), ERR_BAD);
    assert_int_equal(gzip_reader_feed(r, slice_make(member, sizeof(member)), &out, NULL), ERR_BAD);
    assert_int_equal(gzip_reader_end(r, NULL), ERR_BAD);
    gzip_reader_reset(r);
    assert_int_equal(inflate_whole(r, slice_make(member, sizeof(member)), &out, NULL), ERR_OK);
    assert_true(slice_eq(buf_peek(&out), SLICE(MEMBER_TEXT)));
    buf_free(&out);
    gzip_reader_close(r);
}

/* ${n} bytes that pack to about half. */
static uint8_t *
make_bytes(size_t n)
{
    uint8_t *bytes = malloc(n + 1);
    uint32_t x = 7;

    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525U + 1013904223U;
        bytes[i] = (uint8_t)("0123456789abcdef"[x >> 28]);
    }
    return bytes;
}

static void
round_trip(void **state)
{
    static const size_t sizes[] = {0, 1, 100, 16383, 16384, 16385, 300000};
    uint8_t *bytes = make_bytes(300000);
    struct gzip_reader *r = gzip_reader_open();

    (void)state;
    for (int level = 1; level <= 9; level += 4) {
        struct gzip_writer *w = gzip_writer_open(level);
        assert_non_null(w);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            struct slice in = slice_make(bytes, sizes[i]);
            struct buf packed, out;
            buf_init(&packed, 400000);
            buf_init(&out, sizes[i]); /* exactly the limit */
            assert_int_equal(gzip_writer_pack(w, in, &packed), ERR_OK);
            gzip_reader_reset(r);
            assert_int_equal(inflate_whole(r, buf_peek(&packed), &out, NULL), ERR_OK);
            assert_true(slice_eq(buf_peek(&out), in));
            buf_free(&packed);
            buf_free(&out);
        }
        gzip_writer_close(w);
    }
    gzip_reader_close(r);
    free(bytes);
}

static void
the_limit_holds_to_the_byte(void **state)
{
    struct gzip_reader *r = gzip_reader_open();
    struct errinfo info;
    struct buf out;

    (void)state;
    for (size_t max = 0; max < strlen(MEMBER_TEXT); max++) {
        buf_init(&out, max);
        gzip_reader_reset(r);
        assert_int_equal(gzip_reader_feed(r, slice_make(member, sizeof(member)), &out, &info),
                         ERR_RANGE);
        buf_free(&out);
    }
    gzip_reader_close(r);
}

static void
a_bomb_takes_no_more_than_the_limit(void **state)
{
    struct gzip_writer *w = gzip_writer_open(9);
    struct gzip_reader *r = gzip_reader_open();
    uint8_t *zeros = calloc(1, 2000000);
    struct buf packed, out;

    (void)state;
    assert_non_null(zeros);
    buf_init(&packed, 4000);
    buf_init(&out, 20000);
    assert_int_equal(gzip_writer_pack(w, slice_make(zeros, 2000000), &packed), ERR_OK);
    assert_int_equal(gzip_reader_feed(r, buf_peek(&packed), &out, NULL), ERR_RANGE);
    assert_true(out.cap <= 20000);
    buf_free(&packed);
    buf_free(&out);
    free(zeros);
    gzip_reader_close(r);
    gzip_writer_close(w);
}

static void
packing_into_too_little_room_adds_nothing(void **state)
{
    struct gzip_writer *w = gzip_writer_open(6);
    struct buf out;

    (void)state;
    buf_init(&out, 24);
    assert_int_equal(buf_add_text(&out, "abc"), ERR_OK);
    assert_int_equal(gzip_writer_pack(w, SLICE("12345678901234567890"), &out), ERR_NOMEM);
    assert_true(slice_eq(buf_peek(&out), SLICE("abc")));
    assert_int_equal(gzip_writer_pack(w, SLICE(""), &out), ERR_OK); /* and the stream still works */
    buf_free(&out);
    gzip_writer_close(w);
}

/* Packs and inflates once; whether there was memory for all of it. */
static enum err
once(void)
{
    struct gzip_writer *w = gzip_writer_open(1);
    struct gzip_reader *r = gzip_reader_open();
    enum err err = w == NULL || r == NULL ? ERR_NOMEM : ERR_OK;
    struct buf packed, out;

    buf_init(&packed, 1000);
    buf_init(&out, 1000);
    if (err == ERR_OK)
        err = gzip_writer_pack(w, SLICE(MEMBER_TEXT), &packed);
    if (err == ERR_OK)
        err = inflate_whole(r, buf_peek(&packed), &out, NULL);
    if (err == ERR_OK)
        assert_true(slice_eq(buf_peek(&out), SLICE(MEMBER_TEXT)));
    buf_free(&packed);
    buf_free(&out);
    gzip_reader_close(r);
    gzip_writer_close(w);
    return err;
}

static void
no_memory_at_any_step(void **state)
{
    size_t before = mem_live();
    enum err err = ERR_NOMEM;

    (void)state;
    for (size_t n = 1; err != ERR_OK; n++) {
        mem_fail_at(n);
        err = once();
        mem_fail_at(0);
        assert_true(err == ERR_OK || err == ERR_NOMEM);
        assert_int_equal(mem_live(), before);
        assert_true(n < 50);
    }
}

static void
without_zlib_it_says_so(void **state)
{
    struct errinfo info;
    struct buf out;

    (void)state;
    buf_init(&out, 100);
    assert_null(gzip_reader_open());
    assert_null(gzip_writer_open(6));
    assert_string_equal(gzip_version(), "none");
    assert_int_equal(gzip_reader_feed(NULL, SLICE("x"), &out, &info), ERR_CONFIG);
    assert_int_equal(gzip_reader_end(NULL, &info), ERR_CONFIG);
    assert_int_equal(gzip_writer_pack(NULL, SLICE("x"), &out), ERR_CONFIG);
    gzip_reader_close(NULL);
    gzip_writer_close(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_members),
        cmocka_unit_test(members_follow_one_another),
        cmocka_unit_test(every_prefix_is_short),
        cmocka_unit_test(any_cut_gives_the_same),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(a_failure_stays_until_the_reset),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(the_limit_holds_to_the_byte),
        cmocka_unit_test(a_bomb_takes_no_more_than_the_limit),
        cmocka_unit_test(packing_into_too_little_room_adds_nothing),
        cmocka_unit_test(no_memory_at_any_step),
    };
    const struct CMUnitTest missing[] = {
        cmocka_unit_test(without_zlib_it_says_so),
    };

    return gzip_available() ? cmocka_run_group_tests(tests, NULL, NULL)
                            : cmocka_run_group_tests(missing, NULL, NULL);
}
