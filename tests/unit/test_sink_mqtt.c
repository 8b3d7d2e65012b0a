/*
 * test_sink_mqtt.c: the MQTT sink on scripts: what it writes for which points, what it makes of
 * answers, of silence and of connections that end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "support/mqtt_script.h"
#include "support/sink_drive.h"
#include "support/sink_rig.h"

static const char *const plain[] = {"client_id", "c", NULL};
static const char *const one_by_one[] = {"client_id", "c", "max_inflight", "1", NULL};
static const char *const twice[] = {"client_id", "c", "qos", "2", NULL};

static struct sink_rig r;

static void
start(struct script_conn *conns, size_t count, const char *const *options, size_t points)
{
    sink_rig_open(&r, "mqtt", conns, count, URL, options);
    round_free(&r.round);
    sink_drive_round(&r.round, 1, points);
}

/* A delivery that ends with that; the runner drops the connection then. */
static void
ends(enum err err, enum delivery what, enum store_error_kind kind)
{
    assert_int_equal(sink_rig_deliver(&r), err);
    assert_int_equal(r.outcome.what, what);
    assert_int_equal(r.outcome.kind, kind);
    r.sink->type->disconnect(r.sink);
}

/* ---- what goes well ---- */

static void
answered_points_are_delivered(void **state)
{
    static const struct script_step steps[] = {
        EXPECT(HELLO), GIVE(WELCOME),
        EXPECT(PUBLISH("\x32", "\1", "1") PUBLISH("\x32", "\2", "2") PUBLISH("\x32", "\3", "3")),
        GIVE(PUBACK("\1") PUBACK("\2") PUBACK("\3")), EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};

    (void)state;
    for (size_t piece = 0; piece < 4; piece++) {
        start(conns, 1, plain, 3);
        r.host.piece = piece;
        sink_rig_delivers(&r);
        assert_int_equal(sink_rig_delivered(&r), 3);
        sink_rig_close(&r);
    }
}

static void
a_window_of_one_waits_for_each_answer(void **state)
{
    static const struct script_step steps[] = {EXPECT(HELLO),
                                               GIVE(WELCOME),
                                               EXPECT(PUBLISH("\x32", "\1", "1")),
                                               GIVE(PUBACK("\1")),
                                               EXPECT(PUBLISH("\x32", "\2", "2")),
                                               GIVE(PUBACK("\2")),
                                               EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};

    (void)state;
    start(conns, 1, one_by_one, 2);
    sink_rig_delivers(&r);
    sink_rig_close(&r);
}

static void
qos_0_is_delivered_when_written(void **state)
{
    static const char *const options[] = {"client_id", "c", "qos", "0", "retain", "true", NULL};
    static const struct script_step steps[] = {
        EXPECT(HELLO), GIVE(WELCOME), EXPECT("\x31\x18\0\1t" POINT("1") "\x31\x18\0\1t" POINT("2")),
        EXPECT(GOODBYE)};
    static const struct script_step fails[] = {EXPECT(HELLO), GIVE(WELCOME), EXPECT_ANY(5),
                                               WRITE_FAILS(ERR_EOF), GIVE_EOF};
    struct script_conn conns[] = {SINK_RIG_CONN(fails), SINK_RIG_CONN(steps)};

    (void)state;
    start(conns, 2, options, 2);
    ends(ERR_EOF, DELIVERY_TRANSIENT, STORE_ERROR_CONNECT);
    assert_int_equal(sink_rig_delivered(&r), 0);
    sink_rig_delivers(&r);
    assert_int_equal(sink_rig_delivered(&r), 2);
    sink_rig_close(&r);
}

static void
a_connect_with_all_its_texts(void **state)
{
    static const char *const options[] = {
        "will_topic", "w",      "will_payload", "gone", "retain", "true",
        "keepalive",  "1500ms", "qos",          "0",    NULL};
    static const struct script_step steps[] = {
        EXPECT("\x10\x2c\0\4MQTT\4\xe6\0\2\0\x0esinkd-node-1-s\0\1w\0\4gone\0\4user\0\1p"),
        GIVE(WELCOME), EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};

    (void)state;
    sink_rig_open(&r, "mqtt", conns, 1, "mqtt://user:p@broker:77/t", options);
    assert_int_equal(r.sink->type->connect(r.sink, DEADLINE_NEVER, &r.outcome, &r.info), ERR_OK);
    assert_int_equal(r.host.port, 77);
    assert_string_equal(r.host.host, "broker");
    sink_rig_close(&r);
}

static bool
always(void *arg)
{
    (void)arg;
    return true;
}

/* When another definition waits, what was sent gets its answers and nothing more is sent. */
static void
a_delivery_yields_between_messages(void **state)
{
    static const struct script_step steps[] = {EXPECT(HELLO), GIVE(WELCOME),
                                               EXPECT(PUBLISH("\x32", "\1", "1")),
                                               GIVE(PUBACK("\1")), EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};

    (void)state;
    start(conns, 1, one_by_one, 3);
    r.env.yields = always;
    ends(ERR_STOP, DELIVERY_TRANSIENT, STORE_ERROR_CONNECT);
    assert_int_equal(sink_rig_delivered(&r), 1);
    sink_rig_close(&r);
}

/* ---- connections that end ---- */

static void
only_what_was_not_answered_is_sent_again(void **state)
{
    static const struct script_step first[] = {
        EXPECT(HELLO), GIVE(WELCOME),
        EXPECT(PUBLISH("\x32", "\1", "1") PUBLISH("\x32", "\2", "2") PUBLISH("\x32", "\3", "3")),
        GIVE(PUBACK("\2") PUBACK("\1")), GIVE_EOF};
    static const struct script_step second[] = {EXPECT(HELLO), GIVE(WELCOME),
                                                EXPECT(PUBLISH("\x32", "\4", "3")),
                                                GIVE(PUBACK("\4")), EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(first), SINK_RIG_CONN(second)};

    (void)state;
    start(conns, 2, plain, 3);
    ends(ERR_EOF, DELIVERY_TRANSIENT, STORE_ERROR_CONNECT);
    assert_int_equal(sink_rig_delivered(&r), 2);
    sink_rig_delivers(&r);
    sink_rig_close(&r);
}

#define PURGE                                         \
    {                                                 \
        EXPECT(HELLO), GIVE(WELCOME), EXPECT(GOODBYE) \
    }

static void
qos_2_goes_on_in_its_session(void **state)
{
    static const struct script_step purge[] = PURGE;
    static const struct script_step first[] = {
        EXPECT(HELLO_AGAIN),
        GIVE(WELCOME),
        EXPECT(PUBLISH("\x34", "\1", "1") PUBLISH("\x34", "\2", "2") PUBLISH("\x34", "\3", "3")),
        GIVE(PUBREC("\1") PUBREC("\2")),
        EXPECT(PUBREL("\1") PUBREL("\2")),
        GIVE(PUBCOMP("\1")),
        GIVE_EOF};
    static const struct script_step second[] = {EXPECT(HELLO_AGAIN),
                                                GIVE(WELCOME_BACK),
                                                EXPECT(PUBREL("\2") PUBLISH("\x3c", "\3", "3")),
                                                GIVE(PUBCOMP("\2") PUBREC("\3")),
                                                EXPECT(PUBREL("\3")),
                                                GIVE(PUBCOMP("\3")),
                                                EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(purge), SINK_RIG_CONN(first),
                                  SINK_RIG_CONN(second)};

    (void)state;
    start(conns, 3, twice, 3);
    ends(ERR_EOF, DELIVERY_TRANSIENT, STORE_ERROR_CONNECT);
    assert_int_equal(sink_rig_delivered(&r), 1);
    sink_rig_delivers(&r);
    sink_rig_close(&r);
}

static void
a_lost_session_begins_anew(void **state)
{
    static const struct script_step purge[] = PURGE;
    static const struct script_step first[] = {
        EXPECT(HELLO_AGAIN),
        GIVE(WELCOME),
        EXPECT(PUBLISH("\x34", "\1", "1") PUBLISH("\x34", "\2", "2")),
        GIVE(PUBREC("\1")),
        EXPECT(PUBREL("\1")),
        GIVE_RESET};
    static const struct script_step second[] = {
        EXPECT(HELLO_AGAIN),
        GIVE(WELCOME),
        EXPECT(PUBLISH("\x34", "\3", "1") PUBLISH("\x34", "\4", "2")),
        GIVE(PUBREC("\3") PUBREC("\4")),
        EXPECT(PUBREL("\3") PUBREL("\4")),
        GIVE(PUBCOMP("\3") PUBCOMP("\4")),
        EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(purge), SINK_RIG_CONN(first),
                                  SINK_RIG_CONN(second)};

    (void)state;
    start(conns, 3, twice, 2);
    ends(ERR_IO, DELIVERY_TRANSIENT, STORE_ERROR_CONNECT);
    sink_rig_delivers(&r);
    assert_int_equal(sink_rig_delivered(&r), 2);
    sink_rig_close(&r);
}

/* Points that were dropped meanwhile leave a message of QoS 2 behind, which a PUBREL closes. */
static void
points_of_a_message_may_go(void **state)
{
    static const struct script_step purge[] = PURGE;
    static const struct script_step first[] = {
        EXPECT(HELLO_AGAIN), GIVE(WELCOME),
        EXPECT(PUBLISH("\x34", "\1", "1") PUBLISH("\x34", "\2", "2")), GIVE_EOF};
    static const struct script_step second[] = {EXPECT(HELLO_AGAIN),
                                                GIVE(WELCOME_BACK),
                                                EXPECT(PUBREL("\1") PUBLISH("\x3c", "\2", "2")),
                                                GIVE(PUBCOMP("\1") PUBREC("\2")),
                                                EXPECT(PUBREL("\2")),
                                                GIVE(PUBCOMP("\2")),
                                                EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(purge), SINK_RIG_CONN(first),
                                  SINK_RIG_CONN(second)};

    (void)state;
    start(conns, 3, twice, 2);
    ends(ERR_EOF, DELIVERY_TRANSIENT, STORE_ERROR_CONNECT);
    round_set(&r.round, 0, 1, VERDICT_REFUSED);
    sink_rig_delivers(&r);
    sink_rig_close(&r);
}

static void
silence_ends_a_delivery(void **state)
{
    static const struct script_step first[] = {EXPECT(HELLO), GIVE(WELCOME),
                                               EXPECT(PUBLISH("\x32", "\1", "1"))};
    struct script_conn conns[] = {SINK_RIG_CONN(first)};
    int64_t before;

    (void)state;
    start(conns, 1, plain, 1);
    before = r.host.clock.mono_ms;
    ends(ERR_TIMEOUT, DELIVERY_TRANSIENT, STORE_ERROR_TIMEOUT);
    assert_int_equal(r.host.clock.mono_ms - before, 10000);
    assert_non_null(strstr(r.info.text, "without an answer"));
    sink_rig_close(&r);
}

static void
answers_that_do_not_fit_end_the_connection(void **state)
{
    static const struct {
        struct slice bytes;
    } rows[] = {
        {SLICE_INIT(PUBREC("\1"))},   {SLICE_INIT(PUBCOMP("\1"))}, {SLICE_INIT("\x20\2\0\0")},
        {SLICE_INIT("\x90\3\0\1\0")}, {SLICE_INIT("\x40\2\0\0")},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct script_step steps[] = {EXPECT(HELLO),
                                      GIVE(WELCOME),
                                      EXPECT(PUBLISH("\x32", "\1", "1")),
                                      {.kind = SCRIPT_GIVE, .bytes = rows[i].bytes}};
        struct script_conn conns[] = {SINK_RIG_CONN(steps)};

        start(conns, 1, plain, 1);
        ends(ERR_BAD, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
        assert_int_equal(sink_rig_delivered(&r), 0);
        sink_rig_close(&r);
    }
}

static void
what_nobody_asked_for_is_passed_over(void **state)
{
    static const struct script_step steps[] = {
        EXPECT(HELLO),
        GIVE(WELCOME),
        EXPECT(PUBLISH("\x32", "\1", "1")),
        GIVE("\x30\x04\0\1xy" PONG PUBACK("\7") "\x32\x09\0\1x\0\5more\x62\2\0\6"),
        EXPECT("\x40\2\0\5\x70\2\0\6"),
        GIVE(PUBACK("\1")),
        EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};

    (void)state;
    start(conns, 1, plain, 1);
    r.host.piece = 3;
    sink_rig_delivers(&r);
    sink_rig_close(&r);
}

/* ---- connecting ---- */

static void
refusals_in_words(void **state)
{
    static const struct {
        const char *connack;
        enum delivery what;
        enum store_error_kind kind;
        const char *text;
    } rows[] = {
        {"\x20\2\0\1", DELIVERY_TARGET, STORE_ERROR_TARGET, "3.1.1"},
        {"\x20\2\0\2", DELIVERY_TARGET, STORE_ERROR_TARGET, "identifier"},
        {"\x20\2\0\3", DELIVERY_TRANSIENT, STORE_ERROR_CONNECT, "unavailable"},
        {"\x20\2\0\4", DELIVERY_AUTH, STORE_ERROR_AUTH, "bad user name or password"},
        {"\x20\2\0\5", DELIVERY_AUTH, STORE_ERROR_AUTH, "not authorized"},
        {"\x20\2\0\x84", DELIVERY_TARGET, STORE_ERROR_TARGET, "code 132"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct script_step steps[] = {
            EXPECT(HELLO), {.kind = SCRIPT_GIVE, .bytes = {(const uint8_t *)rows[i].connack, 4}}};
        struct script_conn conns[] = {SINK_RIG_CONN(steps)};

        start(conns, 1, plain, 1);
        ends(ERR_DENIED, rows[i].what, rows[i].kind);
        assert_non_null(strstr(r.info.text, rows[i].text));
        sink_rig_close(&r);
    }
}

static void
brokers_that_are_none(void **state)
{
    static const struct script_step mute[] = {EXPECT(HELLO)};
    static const struct script_step shy[] = {EXPECT(HELLO), GIVE_EOF};
    static const struct script_step web[] = {EXPECT(HELLO), GIVE("HTTP/1.1 400 Bad Request\r\n")};
    static const struct script_step early[] = {EXPECT(HELLO), GIVE(PUBACK("\1"))};
    struct script_conn conns[] = {SINK_RIG_CONN(mute),
                                  SINK_RIG_CONN(shy),
                                  SINK_RIG_CONN(web),
                                  SINK_RIG_CONN(early),
                                  {.refuse = ERR_IO}};

    (void)state;
    start(conns, 5, plain, 1);
    ends(ERR_TIMEOUT, DELIVERY_TRANSIENT, STORE_ERROR_TIMEOUT);
    assert_non_null(strstr(r.info.text, "did not answer CONNECT"));
    ends(ERR_EOF, DELIVERY_TRANSIENT, STORE_ERROR_CONNECT);
    ends(ERR_BAD, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
    ends(ERR_BAD, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
    ends(ERR_IO, DELIVERY_TRANSIENT, STORE_ERROR_CONNECT);
    sink_rig_close(&r);
}

static void
kicks_name_the_client_identifier(void **state)
{
    static const struct script_step steps[] = {EXPECT(HELLO), GIVE(WELCOME), GIVE_EOF};
    struct script_conn conns[6];

    (void)state;
    for (size_t i = 0; i < 6; i++)
        conns[i] = (struct script_conn)SINK_RIG_CONN(steps);
    start(conns, 6, plain, 1);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(r.sink->type->connect(r.sink, DEADLINE_NEVER, &r.outcome, &r.info),
                         ERR_OK);
        assert_int_equal(r.sink->type->idle(r.sink, DEADLINE_NEVER, &r.info), ERR_IO);
    }
    assert_int_equal(r.sink->type->connect(r.sink, DEADLINE_NEVER, &r.outcome, &r.info), ERR_BUSY);
    assert_int_equal(r.outcome.what, DELIVERY_TARGET);
    assert_non_null(strstr(r.info.text, "client_id 'c'"));
    assert_int_equal(r.sink->type->connect(r.sink, DEADLINE_NEVER, &r.outcome, &r.info), ERR_OK);
    assert_int_equal(r.sink->type->idle(r.sink, DEADLINE_NEVER, &r.info), ERR_IO);
    assert_int_equal(r.sink->type->connect(r.sink, DEADLINE_NEVER, &r.outcome, &r.info), ERR_BUSY);
    sink_rig_close(&r);
}

/* ---- idle ---- */

static void
an_idle_connection_is_kept_alive(void **state)
{
    static const struct script_step steps[] = {EXPECT(HELLO),  GIVE(WELCOME), EXPECT(PING),
                                               GIVE(PONG),     EXPECT(PING),  GIVE(PONG),
                                               EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    int64_t start_ms;

    (void)state;
    start(conns, 1, plain, 1);
    start_ms = r.host.clock.mono_ms;
    assert_int_equal(r.sink->type->connect(r.sink, DEADLINE_NEVER, &r.outcome, &r.info), ERR_OK);
    assert_int_equal(r.sink->type->idle(r.sink, start_ms + 100000, &r.info), ERR_TIMEOUT);
    assert_int_equal(r.host.clock.mono_ms, start_ms + 100000);
    sink_rig_close(&r);
}

static void
a_missing_pong_is_a_dead_link(void **state)
{
    static const char *const slow[] = {"client_id", "c", "timeout", "5m", NULL};
    static const struct script_step steps[] = {EXPECT(HELLO), GIVE(WELCOME), EXPECT(PING)};
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    int64_t start_ms;

    (void)state;
    start(conns, 1, slow, 1);
    start_ms = r.host.clock.mono_ms;
    assert_int_equal(r.sink->type->connect(r.sink, DEADLINE_NEVER, &r.outcome, &r.info), ERR_OK);
    assert_int_equal(r.sink->type->idle(r.sink, DEADLINE_NEVER, &r.info), ERR_IO);
    assert_in_range(r.host.clock.mono_ms - start_ms, 45000, 90000); /* 1.5 keep-alives at most */
    assert_non_null(strstr(r.info.text, "PINGREQ"));
    sink_rig_close(&r);
}

static void
without_a_keep_alive_there_are_no_pings(void **state)
{
    static const char *const options[] = {"client_id", "c", "keepalive", "0s", NULL};
    static const struct script_step steps[] = {EXPECT("\x10\x0d\0\4MQTT\4\2\0\0\0\1c"),
                                               GIVE(WELCOME), EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};

    (void)state;
    start(conns, 1, options, 1);
    assert_int_equal(r.sink->type->connect(r.sink, DEADLINE_NEVER, &r.outcome, &r.info), ERR_OK);
    assert_int_equal(r.sink->type->idle(r.sink, r.host.clock.mono_ms + 10000000, &r.info),
                     ERR_TIMEOUT);
    sink_rig_close(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answered_points_are_delivered),
        cmocka_unit_test(a_window_of_one_waits_for_each_answer),
        cmocka_unit_test(qos_0_is_delivered_when_written),
        cmocka_unit_test(a_connect_with_all_its_texts),
        cmocka_unit_test(a_delivery_yields_between_messages),
        cmocka_unit_test(only_what_was_not_answered_is_sent_again),
        cmocka_unit_test(qos_2_goes_on_in_its_session),
        cmocka_unit_test(a_lost_session_begins_anew),
        cmocka_unit_test(points_of_a_message_may_go),
        cmocka_unit_test(silence_ends_a_delivery),
        cmocka_unit_test(answers_that_do_not_fit_end_the_connection),
        cmocka_unit_test(what_nobody_asked_for_is_passed_over),
        cmocka_unit_test(refusals_in_words),
        cmocka_unit_test(brokers_that_are_none),
        cmocka_unit_test(kicks_name_the_client_identifier),
        cmocka_unit_test(an_idle_connection_is_kept_alive),
        cmocka_unit_test(a_missing_pong_is_a_dead_link),
        cmocka_unit_test(without_a_keep_alive_there_are_no_pings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
