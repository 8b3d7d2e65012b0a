/*
 * test_sink_mqtt.c: the MQTT sink on scripts: what it writes for which points, what it makes of answers, of
 * silence and of connections that end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "sink/delivery.h"
#include "support/sink_drive.h"
#include "support/sink_rig.h"

#define URL "mqtt://broker/t"

/* CONNECT with client identifier "c" and a keep-alive of 60 s; clean or not; the answers to it. */
#define HELLO "\x10\x0d\0\4MQTT\4\2\0\x3c\0\1c"
#define HELLO_AGAIN "\x10\x0d\0\4MQTT\4\0\0\x3c\0\1c"
#define WELCOME "\x20\2\0\0"
#define WELCOME_BACK "\x20\2\1\0"
#define GOODBYE "\xe0\0"
#define PING "\xc0\0"
#define PONG "\xd0\0"

/* Point ${digit} as a PUBLISH to topic t, with one byte of flags and an identifier of one byte. */
#define POINT(digit) "m,t=a v=" digit "i " digit "000000000"
#define PUBLISH(first, id, digit) first "\x1a\0\1t\0" id POINT(digit)
#define QOS0(digit) "\x30\x18\0\1t" POINT(digit)
#define PUBACK(id) "\x40\2\0" id
#define PUBREC(id) "\x50\2\0" id
#define PUBREL(id) "\x62\2\0" id
#define PUBCOMP(id) "\x70\2\0" id

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

/* ---- what goes well -------------------------------------------------------------------------------- */

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

/* ---- connections that end ---------------------------------------------------------------------------- */

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

/* ---- connecting ---------------------------------------------------------------------------------------- */

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

/* ---- idle ----------------------------------------------------------------------------------------------- */

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

/* ---- messages that are refused ------------------------------------------------------------------------------ */

/* The broker takes what is as large as point 1 and closes on the longer one. */
static void
one_that_is_too_large_gets_a_verdict(void **state)
{
#define LARGE    \
    "m,t=a v=\"" \
    "0123456789" \
    "\" 2000000000"
    static const struct script_step first[] = {
        EXPECT(HELLO), GIVE(WELCOME),
        EXPECT(PUBLISH("\x32", "\1", "1") "\x32\x24\0\1t\0\2" LARGE PUBLISH("\x32", "\3", "3")),
        GIVE(PUBACK("\1")), GIVE_EOF};
    static const struct script_step alone[] = {EXPECT(HELLO), GIVE(WELCOME),
                                               EXPECT("\x32\x24\0\1t\0\4" LARGE), GIVE_EOF};
    static const struct script_step again[] = {EXPECT(HELLO), GIVE(WELCOME),
                                               EXPECT("\x32\x24\0\1t\0\5" LARGE), GIVE_RESET};
    static const struct script_step rest[] = {EXPECT(HELLO), GIVE(WELCOME),
                                              EXPECT(PUBLISH("\x32", "\6", "3")),
                                              GIVE(PUBACK("\6")), EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(first), SINK_RIG_CONN(alone), SINK_RIG_CONN(again),
                                  SINK_RIG_CONN(rest)};
    struct delivery_memory memory = {0};

    (void)state;
    start(conns, 4, plain, 1);
    sink_drive_add(&r.round, 2, "db0", "", "m", "m,t=a v=\"0123456789\"");
    sink_drive_add(&r.round, 3, "db0", "", "m", "m,t=a v=3i");
    assert_int_equal(delivery_pass(r.sink, &r.round, &memory, &r.outcome, &r.info), ERR_EOF);
    r.sink->type->disconnect(r.sink);
    if (delivery_pass(r.sink, &r.round, &memory, &r.outcome, &r.info) != ERR_OK)
        fail_msg("%s; %s%s%s", r.info.text, conns[1].wrong, conns[2].wrong, conns[3].wrong);
    assert_int_equal(r.round.verdicts[0], VERDICT_DELIVERED);
    assert_int_equal(r.round.verdicts[1], VERDICT_REFUSED);
    assert_int_equal(r.round.verdicts[2], VERDICT_DELIVERED);
    sink_rig_close(&r);
}

/* A broker that closes on everything blames no point. */
static void
a_broker_that_takes_nothing_is_the_target(void **state)
{
    static const struct script_step steps[] = {EXPECT(HELLO), GIVE(WELCOME), EXPECT_ANY(28),
                                               GIVE_EOF};
    struct script_conn conns[16];
    struct delivery_memory memory = {0};

    (void)state;
    for (size_t i = 0; i < 16; i++)
        conns[i] = (struct script_conn)SINK_RIG_CONN(steps);
    start(conns, 16, one_by_one, 9);
    assert_int_equal(delivery_pass(r.sink, &r.round, &memory, &r.outcome, &r.info), ERR_EOF);
    assert_int_equal(delivery_pass(r.sink, &r.round, &memory, &r.outcome, &r.info), ERR_DENIED);
    assert_int_equal(r.outcome.what, DELIVERY_TARGET);
    assert_int_equal(round_count(&r.round, 0, 9, VERDICT_OPEN), 9);
    assert_int_equal(r.host.next, 7);
    sink_rig_drop(&r);
}

static void
an_illegal_topic_is_a_refusal_by_name(void **state)
{
    static char line[70100];
    static const struct script_step steps[] = {EXPECT(HELLO), GIVE(WELCOME),
                                               EXPECT("\x32\x1e\0\4t/_a\0\1m,h=/a v=1i 1000000000"),
                                               GIVE(PUBACK("\1")), EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    struct delivery_memory memory = {0};

    (void)state;
    memset(line, 'x', sizeof(line));
    memcpy(line, "m,h=", 4);
    memcpy(line + 70000, " v=1i", 6);
    sink_rig_open(&r, "mqtt", conns, 1, "mqtt://broker/t/{tag:h}", plain);
    sink_drive_add(&r.round, 1, "db0", "", "m", "m,h=/a v=1i");
    sink_drive_add(&r.round, 2, "db0", "", "m", line);
    if (delivery_pass(r.sink, &r.round, &memory, &r.outcome, &r.info) != ERR_OK)
        fail_msg("%s %s", r.info.text, conns[0].wrong);
    assert_int_equal(r.round.verdicts[0], VERDICT_DELIVERED);
    assert_int_equal(r.round.verdicts[1], VERDICT_REFUSED);
    sink_rig_close(&r);
}

/* ---- joined messages ------------------------------------------------------------------------------------------ */

static void
points_of_one_topic_are_joined(void **state)
{
    static const char *const options[] = {"client_id", "c", "batch_mode", "lines", NULL};
    static const struct script_step steps[] = {
        EXPECT(HELLO), GIVE(WELCOME),
        EXPECT("\x32\x32\0\3t/a\0\1m,h=a v=1i 1000000000\nm,h=a v=3i 3000000000"
               "\x32\x1c\0\3t/b\0\2m,h=b v=2i 2000000000"),
        GIVE(PUBACK("\1")), GIVE_EOF};
    static const struct script_step rest[] = {EXPECT(HELLO), GIVE(WELCOME),
                                              EXPECT("\x32\x1c\0\3t/b\0\3m,h=b v=2i 2000000000"),
                                              GIVE(PUBACK("\3")), EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(steps), SINK_RIG_CONN(rest)};

    (void)state;
    sink_rig_open(&r, "mqtt", conns, 2, "mqtt://broker/t/{tag:h}", options);
    sink_drive_add(&r.round, 1, "db0", "", "m", "m,h=a v=1i");
    sink_drive_add(&r.round, 2, "db0", "", "m", "m,h=b v=2i");
    sink_drive_add(&r.round, 3, "db0", "", "m", "m,h=a v=3i");
    assert_int_equal(sink_rig_deliver(&r), ERR_EOF);
    if (conns[0].wrong[0] != '\0')
        fail_msg("%s", conns[0].wrong);
    assert_int_equal(sink_rig_delivered(&r), 2);
    sink_rig_delivers(&r);
    sink_rig_close(&r);
}

static void
a_json_array(void **state)
{
    static const char *const options[] = {"client_id", "c", "batch_mode", "json_array",
                                          "precision", "s", NULL};
#define DOCUMENT(v) \
    "{\"measurement\":\"m\",\"tags\":{\"t\":\"a\"},\"fields\":{\"v\":" v "},\"timestamp\":" v "}"
    static const struct script_step steps[] = {
        EXPECT(HELLO), GIVE(WELCOME),
        EXPECT("\x32\x8e\1\0\1t\0\1[" DOCUMENT("1") "," DOCUMENT("2") "]"), GIVE(PUBACK("\1")),
        EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    struct errinfo info;

    (void)state;
    r = (struct sink_rig){.live = mem_live()};
    stream_script_init(&r.host, conns, 1);
    sink_drive_script(&r.env, &r.host);
    sink_drive_def(&r.def, "mqtt", URL, plain);
    r.def.format = SINK_JSON;
    for (size_t i = 0; options[i] != NULL; i += 2)
        assert_int_equal(
            sink_def_set_option(&r.def, slice_of(options[i]), slice_of(options[i + 1]), &info),
            ERR_OK);
    assert_int_equal(sink_def_check(&r.def, &info), ERR_OK);
    assert_int_equal(r.def.type->open(&r.sink, &r.def, &r.env, &r.info), ERR_OK);
    sink_drive_round(&r.round, 1, 2);
    sink_rig_delivers(&r);
    sink_rig_close(&r);
}

/* A joined message that the broker closes on is halved, and the smaller size is kept. */
static void
a_joined_message_is_halved(void **state)
{
    static const char *const options[] = {"client_id", "c", "batch_mode", "lines", NULL};
    static const struct script_step refuse[] = {EXPECT(HELLO), GIVE(WELCOME), EXPECT_ANY(50),
                                                GIVE_EOF};
    static const struct script_step halves[] = {EXPECT(HELLO),
                                                GIVE(WELCOME),
                                                EXPECT(PUBLISH("\x32", "\4", "1")),
                                                GIVE(PUBACK("\4")),
                                                EXPECT(PUBLISH("\x32", "\5", "2")),
                                                GIVE(PUBACK("\5")),
                                                EXPECT(GOODBYE)};
    struct script_conn conns[] = {SINK_RIG_CONN(refuse), SINK_RIG_CONN(refuse),
                                  SINK_RIG_CONN(refuse), SINK_RIG_CONN(halves)};

    (void)state;
    start(conns, 4, options, 2);
    assert_int_equal(sink_rig_deliver(&r), ERR_EOF);
    sink_rig_delivers(&r);
    sink_rig_close(&r);
}

/* ---- faults ---------------------------------------------------------------------------------------------------- */

/* One call after another fails; the next offers deliver the rest, and no answered point is sent again. */
static void
faults_at_every_call(void **state)
{
    static const enum err faults[] = {ERR_EOF, ERR_IO, ERR_TIMEOUT, ERR_STOP};
    static const struct script_step steps[] = {EXPECT(HELLO),
                                               GIVE(WELCOME),
                                               EXPECT(PUBLISH("\x32", "\1", "1")),
                                               GIVE(PUBACK("\1")),
                                               EXPECT(PUBLISH("\x32", "\2", "2")),
                                               GIVE(PUBACK("\2")),
                                               EXPECT(GOODBYE)};

    (void)state;
    for (size_t f = 0; f < 4; f++) {
        for (size_t at = 1; at < 8; at++) {
            struct script_conn conns[] = {SINK_RIG_CONN(steps)};
            enum err err;

            start(conns, 1, one_by_one, 2);
            r.host.fault_at = at;
            r.host.fault = faults[f];
            err = sink_rig_deliver(&r);
            if (r.host.calls < at)
                assert_int_equal(err, ERR_OK);
            else if (err == ERR_OK)
                assert_int_equal(sink_rig_delivered(&r), 2);
            else
                assert_int_equal(r.outcome.what, DELIVERY_TRANSIENT);
            sink_rig_drop(&r);
        }
    }
}

static void
memory_runs_out_cleanly(void **state)
{
    static const struct script_step steps[] = {EXPECT(HELLO), GIVE(WELCOME), EXPECT_ANY(56),
                                               GIVE(PUBACK("\1") PUBACK("\2")), EXPECT_ANY(2)};
    bool done = false;

    (void)state;
    for (size_t n = 1; !done; n++) {
        struct script_conn conns[] = {SINK_RIG_CONN(steps)};
        enum err err;

        assert_in_range(n, 1, 40);
        start(conns, 1, plain, 2);
        mem_fail_at(n);
        err = sink_rig_deliver(&r);
        mem_fail_at(0);
        done = err == ERR_OK;
        if (!done)
            assert_int_equal(r.outcome.what, DELIVERY_TRANSIENT);
        sink_rig_drop(&r);
    }
}

/* QoS 0: what was made but not written is sent by the next offer. */
static void
no_point_is_left_behind_without_memory(void **state)
{
    static const char *const options[] = {"client_id", "c", "qos", "0", NULL};
    static const struct script_step first[] = {EXPECT(HELLO), GIVE(WELCOME)};
    static const struct script_step steps[] = {EXPECT(HELLO), GIVE(WELCOME),
                                               EXPECT(QOS0("1") QOS0("2")), EXPECT(GOODBYE)};
    bool done = false;

    (void)state;
    for (size_t n = 1; !done; n++) {
        struct script_conn conns[] = {SINK_RIG_CONN(first), SINK_RIG_CONN(steps)};

        assert_in_range(n, 1, 40);
        start(conns, 2, options, 2);
        mem_fail_at(n);
        done = sink_rig_deliver(&r) == ERR_OK;
        mem_fail_at(0);
        if (!done && r.host.next == 1 && conns[0].wrong[0] == '\0') {
            r.sink->type->disconnect(r.sink);
            sink_rig_delivers(&r);
            assert_int_equal(sink_rig_delivered(&r), 2);
        }
        sink_rig_drop(&r);
        done = done || n == 30;
    }
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
        cmocka_unit_test(one_that_is_too_large_gets_a_verdict),
        cmocka_unit_test(a_broker_that_takes_nothing_is_the_target),
        cmocka_unit_test(an_illegal_topic_is_a_refusal_by_name),
        cmocka_unit_test(points_of_one_topic_are_joined),
        cmocka_unit_test(a_json_array),
        cmocka_unit_test(a_joined_message_is_halved),
        cmocka_unit_test(faults_at_every_call),
        cmocka_unit_test(memory_runs_out_cleanly),
        cmocka_unit_test(no_point_is_left_behind_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
