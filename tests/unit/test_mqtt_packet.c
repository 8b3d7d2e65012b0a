/*
 * test_mqtt_packet.c: packets as the tables and examples of MQTT 3.1.1 have them, and everything
 * else refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "mqtt/mqtt_packet.h"
#include "support/guard.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct buf out;
static struct wr w;

static void
begin(void)
{
    buf_init(&out, (size_t)1 << 20);
    wr_init(&w, &out);
}

static void
wrote(struct slice expected)
{
    assert_int_equal(wr_done(&w), ERR_OK);
    assert_int_equal(buf_len(&out), expected.n);
    assert_memory_equal(buf_peek(&out).p, expected.p, expected.n);
    buf_free(&out);
}

static void
fails(enum err err)
{
    assert_int_equal(wr_done(&w), err);
    assert_int_equal(buf_len(&out), 0);
    buf_free(&out);
}

/* ---- writing ---- */

/* Section 3.1.2, the example of figure 3.6: user name, password, will retain 0, will QoS 1, will,
 * clean session, keep-alive 10. */
static void
a_connect_as_the_specification_shows_it(void **state)
{
    struct mqtt_connect c = {.client_id = SLICE_INIT("id"),
                             .username = SLICE_INIT("u"),
                             .password = SLICE_INIT("p\0w"),
                             .will_topic = SLICE_INIT("w/t"),
                             .will_payload = SLICE_INIT("gone"),
                             .will_qos = 1,
                             .clean_session = true,
                             .keepalive_s = 10};

    (void)state;
    begin();
    mqtt_packet_connect(&w, &c);
    wrote(SLICE("\x10\x21\0\4MQTT\4\xce\0\x0a\0\2id\0\3w/t\0\4gone\0\1u\0\3p\0w"));
}

static void
a_connect_leaves_out_what_is_absent(void **state)
{
    struct mqtt_connect bare = {.client_id = SLICE_INIT("a"), .keepalive_s = 65535};
    struct mqtt_connect empty = {.client_id = SLICE_INIT(""),
                                 .username = SLICE_INIT("u"),
                                 .will_topic = SLICE_INIT("w"),
                                 .will_payload = SLICE_INIT(""),
                                 .will_qos = 2,
                                 .will_retain = true,
                                 .clean_session = true};

    (void)state;
    begin();
    mqtt_packet_connect(&w, &bare);
    wrote(SLICE("\x10\x0d\0\4MQTT\4\0\xff\xff\0\1a"));
    begin();
    mqtt_packet_connect(&w, &empty);
    wrote(SLICE("\x10\x14\0\4MQTT\4\xb6\0\0\0\0\0\1w\0\0\0\1u"));
}

/* Section 3.3.2.3.1: topic a/b, packet identifier 10. */
static void
publishes_of_each_kind(void **state)
{
    struct mqtt_publish p = {.topic = SLICE_INIT("a/b"), .id = 10, .qos = 1};

    (void)state;
    begin();
    mqtt_packet_publish(&w, &p, 2);
    wr_bytes(&w, SLICE("hi"));
    wrote(SLICE("\x32\x09\0\3a/b\0\x0ahi"));
    p.dup = p.retain = true;
    p.qos = 2;
    begin();
    mqtt_packet_publish(&w, &p, 0);
    wrote(SLICE("\x3d\x07\0\3a/b\0\x0a"));
    p.dup = p.retain = false;
    p.qos = 0;
    begin();
    mqtt_packet_publish(&w, &p, 0);
    wrote(SLICE("\x30\x05\0\3a/b"));
}

static void
answers_and_empty_packets(void **state)
{
    (void)state;
    begin();
    mqtt_packet_answer(&w, MQTT_PUBACK, 1);
    mqtt_packet_answer(&w, MQTT_PUBREC, 2);
    mqtt_packet_answer(&w, MQTT_PUBREL, 0x1234);
    mqtt_packet_answer(&w, MQTT_PUBCOMP, 65535);
    mqtt_packet_empty(&w, MQTT_PINGREQ);
    mqtt_packet_empty(&w, MQTT_DISCONNECT);
    wrote(SLICE("\x40\2\0\1\x50\2\0\2\x62\2\x12\x34\x70\2\xff\xff\xc0\0\xe0\0"));
}

/* Table 2.4: the first and last value of each length. */
static void
remaining_lengths_of_the_table(void **state)
{
    static const struct {
        size_t remaining;
        struct slice bytes;
    } rows[] = {
        {5, SLICE_INIT("\x05")},
        {127, SLICE_INIT("\x7f")},
        {128, SLICE_INIT("\x80\x01")},
        {16383, SLICE_INIT("\xff\x7f")},
        {16384, SLICE_INIT("\x80\x80\x01")},
        {2097151, SLICE_INIT("\xff\xff\x7f")},
        {2097152, SLICE_INIT("\x80\x80\x80\x01")},
        {268435455, SLICE_INIT("\xff\xff\xff\x7f")},
    };
    struct mqtt_publish p = {.topic = SLICE_INIT("a")};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        begin();
        mqtt_packet_publish(&w, &p, rows[i].remaining - 3);
        assert_int_equal(wr_done(&w), ERR_OK);
        assert_memory_equal(buf_peek(&out).p + 1, rows[i].bytes.p, rows[i].bytes.n);
        assert_int_equal(mqtt_packet_publish_bytes(1, 0, rows[i].remaining - 3),
                         1 + rows[i].bytes.n + rows[i].remaining);
        buf_free(&out);
    }
    begin();
    mqtt_packet_publish(&w, &p, 268435455 - 2);
    fails(ERR_RANGE);
    begin();
    mqtt_packet_publish(&w, &p, SIZE_MAX);
    fails(ERR_RANGE);
    assert_int_equal(mqtt_packet_publish_bytes(1, 2, 4), 2 + 2 + 1 + 2 + 4);
}

static void
texts_have_a_limit(void **state)
{
    static uint8_t text[65536];
    struct mqtt_publish p = {.topic = {text, 65535}};
    struct mqtt_connect c = {.client_id = {text, 65536}};

    (void)state;
    memset(text, 'x', sizeof(text));
    begin();
    mqtt_packet_publish(&w, &p, 1);
    assert_int_equal(wr_done(&w), ERR_OK);
    buf_free(&out);
    p.topic.n = 65536;
    begin();
    mqtt_packet_publish(&w, &p, 1);
    fails(ERR_RANGE);
    p.topic.n = 0;
    begin();
    mqtt_packet_publish(&w, &p, 1);
    fails(ERR_RANGE);
    begin();
    mqtt_packet_connect(&w, &c);
    fails(ERR_RANGE);
}

static void
no_room_takes_all_back(void **state)
{
    struct mqtt_publish p = {.topic = SLICE_INIT("topic"), .id = 1, .qos = 1};

    (void)state;
    for (size_t max = 0; max < 11; max++) {
        buf_init(&out, max);
        wr_init(&w, &out);
        mqtt_packet_publish(&w, &p, 3);
        fails(ERR_NOMEM);
    }
}

/* ---- texts ---- */

static void
strings_and_topics(void **state)
{
    static const struct {
        struct slice text;
        bool string, topic;
    } rows[] = {
        {SLICE_INIT("a/b"), true, true},
        {SLICE_INIT("/"), true, true},
        {SLICE_INIT("$SYS/x y"), true, true},
        {SLICE_INIT(""), true, false},
        {SLICE_INIT("a/+"), true, false},
        {SLICE_INIT("a/#"), true, false},
        {SLICE_INIT("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), true, true},
        {SLICE_INIT("a\0b"), false, false},
        {SLICE_INIT("a\x1f"), false, false},
        {SLICE_INIT("a\x7f"), false, false},
        {SLICE_INIT("\xc2\x80"), false, false},     /* U+0080 */
        {SLICE_INIT("\xc2\x9f"), false, false},     /* U+009F */
        {SLICE_INIT("\xc2\xa0"), true, true},       /* U+00A0 */
        {SLICE_INIT("\xed\xa0\x80"), false, false}, /* a surrogate: section 1.5.3 */
        {SLICE_INIT("\xc0\x80"), false, false},     /* overlong */
        {SLICE_INIT("\xc3"), false, false},
        {SLICE_INIT("\xef\xb7\x90"), false, false}, /* U+FDD0 */
        {SLICE_INIT("\xef\xb7\xaf"), false, false}, /* U+FDEF */
        {SLICE_INIT("\xef\xb7\xb0"), true, true},   /* U+FDF0 */
        {SLICE_INIT("\xef\xbf\xbe"), false, false}, /* U+FFFE */
        {SLICE_INIT("\xef\xbf\xbf"), false, false},
        {SLICE_INIT("\xf0\x9f\xbf\xbf"), false, false}, /* U+1FFFF */
        {SLICE_INIT("\xef\xbb\xbf"), true, true},       /* U+FEFF is data: section 1.5.3 */
        {SLICE_INIT("\xef\xbf\xbd"), true, true},       /* U+FFFD */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (mqtt_packet_is_string(rows[i].text) != rows[i].string ||
            mqtt_packet_is_topic(rows[i].text) != rows[i].topic)
            fail_msg("row %zu", i);
    }
}

static void
every_refusal_has_words(void **state)
{
    (void)state;
    assert_non_null(strstr(mqtt_packet_refusal(1), "3.1.1"));
    assert_non_null(strstr(mqtt_packet_refusal(2), "identifier"));
    assert_non_null(strstr(mqtt_packet_refusal(3), "unavailable"));
    assert_non_null(strstr(mqtt_packet_refusal(4), "password"));
    assert_non_null(strstr(mqtt_packet_refusal(5), "authorized"));
    for (unsigned code = 6; code < 256; code++)
        assert_string_equal(mqtt_packet_refusal((uint8_t)code), mqtt_packet_refusal(255));
}

/* ---- reading ---- */

static const struct {
    struct slice bytes;
    struct mqtt_packet packet;
} good[] = {
    {SLICE_INIT("\x20\2\0\0"), {.type = MQTT_CONNACK}},
    {SLICE_INIT("\x20\2\1\0"), {.type = MQTT_CONNACK, .session_present = true}},
    {SLICE_INIT("\x20\2\0\5"), {.type = MQTT_CONNACK, .code = 5}},
    {SLICE_INIT("\x20\2\0\xff"), {.type = MQTT_CONNACK, .code = 255}},
    {SLICE_INIT("\x40\2\0\1"), {.type = MQTT_PUBACK, .id = 1}},
    {SLICE_INIT("\x50\2\x12\x34"), {.type = MQTT_PUBREC, .id = 0x1234}},
    {SLICE_INIT("\x62\2\0\1"), {.type = MQTT_PUBREL, .id = 1}},
    {SLICE_INIT("\x70\2\xff\xff"), {.type = MQTT_PUBCOMP, .id = 65535}},
    {SLICE_INIT("\xd0\0"), {.type = MQTT_PINGRESP}},
    {SLICE_INIT("\x40\x82\0\0\1"),
     {.type = MQTT_PUBACK, .id = 1}}, /* longer than it need be, yet legal */
    {SLICE_INIT("\x3b\x06\0\1a\0\7"),
     {.type = MQTT_PUBLISH, .id = 7, .qos = 1, .dup = true, .retain = true, .payload_bytes = 1}},
    {SLICE_INIT("\x30\xff\xff\xff\x7f\0\1a"),
     {.type = MQTT_PUBLISH, .payload_bytes = 268435455 - 3}},
};

static void
same(const struct mqtt_packet *a, const struct mqtt_packet *b)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->session_present, b->session_present);
    assert_int_equal(a->code, b->code);
    assert_int_equal(a->qos, b->qos);
    assert_int_equal(a->dup, b->dup);
    assert_int_equal(a->retain, b->retain);
    assert_int_equal(a->payload_bytes, b->payload_bytes);
}

static void
good_packets_and_their_prefixes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        for (size_t n = 0; n <= good[i].bytes.n; n++) {
            struct slice input = guard_copy(slice_to(good[i].bytes, n));
            struct mqtt_packet packet;
            struct errinfo info;
            size_t used = 99;
            enum err err = mqtt_packet_read(input, &packet, &used, &info);

            if (n < good[i].bytes.n) {
                assert_int_equal(err, ERR_SHORT);
                assert_int_equal(used, 0);
            } else {
                assert_int_equal(err, ERR_OK);
                assert_int_equal(used, n);
                same(&packet, &good[i].packet);
            }
            guard_free(input);
        }
    }
}

static void
only_one_packet_is_taken(void **state)
{
    struct slice two = SLICE("\x40\2\0\1\x40\2\0\2");
    struct mqtt_packet packet;
    size_t used;

    (void)state;
    assert_int_equal(mqtt_packet_read(two, &packet, &used, NULL), ERR_OK);
    assert_int_equal(used, 4);
    assert_int_equal(packet.id, 1);
}

static void
malformed_packets(void **state)
{
    static const struct {
        struct slice bytes;
        const char *text;
    } rows[] = {
        {SLICE_INIT("\x20\2\2\0"), "reserved bits of CONNACK"},
        {SLICE_INIT("\x20\2\1\1"),
         "reserved bits of CONNACK"}, /* a session, yet refused: 3.2.2.2 */
        {SLICE_INIT("\x21\2\0\0"), "reserved flag bits"},
        {SLICE_INIT("\x20\3\0\0\0"), "length"}, /* MQTT 5 */
        {SLICE_INIT("\x20\1\0"), "length"},
        {SLICE_INIT("\x40\2\0\0"), "identifier 0"},
        {SLICE_INIT("\x40\3\0\1\0"), "length"},
        {SLICE_INIT("\x48\2\0\1"), "reserved flag bits"},
        {SLICE_INIT("\x60\2\0\1"), "flag bits of PUBREL"},
        {SLICE_INIT("\xd0\1"), "length"},
        {SLICE_INIT("\x10"), "type"},
        {SLICE_INIT("\x82"), "type"},
        {SLICE_INIT("\x90\3\0\1\0"), "type"}, /* SUBACK: nothing was subscribed to */
        {SLICE_INIT("\xb0"), "type"},
        {SLICE_INIT("\xc0\0"), "type"},
        {SLICE_INIT("\xe0\0"), "type"},
        {SLICE_INIT("\xf0\0"), "type"},
        {SLICE_INIT("HTTP/1.1 400"), "flag bits"},
        {SLICE_INIT("\x15\3\1\0\2"), "type"}, /* a TLS alert */
        {SLICE_INIT("\x40\xff\xff\xff\xff"), "four bytes"},
        {SLICE_INIT("\x36\5\0\1a\0\1"), "QoS 3"},
        {SLICE_INIT("\x38\3\0\1a"), "DUP"},
        {SLICE_INIT("\x30\4\0\3ab"), "shorter than its topic"},
        {SLICE_INIT("\x32\4\0\1ab"), "shorter than its topic"},
        {SLICE_INIT("\x30\2\0\0"), "illegal topic"},
        {SLICE_INIT("\x30\3\0\1#"), "illegal topic"},
        {SLICE_INIT("\x32\5\0\1a\0\0"), "identifier 0"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct slice input = guard_copy(rows[i].bytes);
        struct mqtt_packet packet;
        struct errinfo info = {ERR_OK, 0, ""};
        size_t used;

        if (mqtt_packet_read(input, &packet, &used, &info) != ERR_BAD ||
            strstr(info.text, rows[i].text) == NULL)
            fail_msg("row %zu: %s", i, info.text);
        guard_free(input);
    }
}

static void
what_is_written_can_be_read(void **state)
{
    struct mqtt_publish p = {.topic = SLICE_INIT("a/b"), .id = 513, .qos = 2, .retain = true};
    struct mqtt_packet packet;
    struct slice all;
    size_t used;

    (void)state;
    begin();
    mqtt_packet_answer(&w, MQTT_PUBREL, 77);
    mqtt_packet_publish(&w, &p, 200);
    assert_int_equal(wr_done(&w), ERR_OK);
    all = buf_peek(&out);
    assert_int_equal(mqtt_packet_read(all, &packet, &used, NULL), ERR_OK);
    assert_int_equal(packet.type, MQTT_PUBREL);
    assert_int_equal(packet.id, 77);
    all = slice_from(all, used);
    assert_int_equal(mqtt_packet_read(all, &packet, &used, NULL), ERR_OK);
    assert_int_equal(used, all.n);
    assert_true(slice_eq(packet.topic, p.topic));
    assert_int_equal(packet.payload_bytes, 200);
    assert_int_equal(packet.id, 513);
    assert_true(packet.retain && !packet.dup && packet.qos == 2);
    buf_free(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connect_as_the_specification_shows_it),
        cmocka_unit_test(a_connect_leaves_out_what_is_absent),
        cmocka_unit_test(publishes_of_each_kind),
        cmocka_unit_test(answers_and_empty_packets),
        cmocka_unit_test(remaining_lengths_of_the_table),
        cmocka_unit_test(texts_have_a_limit),
        cmocka_unit_test(no_room_takes_all_back),
        cmocka_unit_test(strings_and_topics),
        cmocka_unit_test(every_refusal_has_words),
        cmocka_unit_test(good_packets_and_their_prefixes),
        cmocka_unit_test(only_one_packet_is_taken),
        cmocka_unit_test(malformed_packets),
        cmocka_unit_test(what_is_written_can_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
