/*
 * test_sink_mqtt_refused.c: messages that a broker closes on, joined ones that get smaller, and
 * faults at every call and allocation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "sink/delivery.h"
#include "support/mqtt_script.h"
#include "support/sink_drive.h"
#include "support/sink_rig.h"

static const char *const plain[] = {"client_id", "c", NULL};
static const char *const one_by_one[] = {"client_id", "c", "max_inflight", "1", NULL};

static struct sink_rig r;

static void
start(struct script_conn *conns, size_t count, const char *const *options, size_t points)
{
    sink_rig_open(&r, "mqtt", conns, count, URL, options);
    round_free(&r.round);
    sink_drive_round(&r.round, 1, points);
}

/* ---- messages that are refused ---- */

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

/* ---- joined messages ---- */

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

/* ---- faults ---- */

/* One call after another fails; the next offers deliver the rest, and no answered point is sent
 * again. */
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
