/*
 * test_mqtt_inflight.c: identifiers, window and states of messages in flight, over connections.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "mqtt/mqtt_inflight.h"

static struct mqtt_inflight *f;

static int
setup(void **state)
{
    (void)state;
    return mqtt_inflight_open(&f, 4) == ERR_OK ? 0 : -1;
}

static int
teardown(void **state)
{
    (void)state;
    mqtt_inflight_close(f);
    return mem_live() == 0 ? 0 : -1;
}

static uint16_t
add(uint8_t qos, size_t from)
{
    return mqtt_inflight_add(f, qos, from, from + 1, 100 + from)->id;
}

static struct mqtt_message
answer(enum mqtt_type type, uint16_t id, enum mqtt_effect expected)
{
    struct mqtt_message m;
    enum mqtt_effect effect;

    assert_int_equal(mqtt_inflight_answer(f, type, id, &m, &effect), ERR_OK);
    assert_int_equal(effect, expected);
    return m;
}

static void
refuses(enum mqtt_type type, uint16_t id)
{
    struct mqtt_message m;
    enum mqtt_effect effect;

    assert_int_equal(mqtt_inflight_answer(f, type, id, &m, &effect), ERR_BAD);
}

/* What is due again, in order; sends it. */
static void
due(enum mqtt_state state, uint16_t id)
{
    const struct mqtt_message *m = mqtt_inflight_next_due(f);

    assert_non_null(m);
    assert_int_equal(m->state, state);
    assert_int_equal(m->id, id);
    mqtt_inflight_sent_again(f, m);
}

static void
qos_1_ends_with_its_puback(void **state)
{
    struct mqtt_message m;

    (void)state;
    assert_int_equal(add(1, 7), 1);
    assert_int_equal(mqtt_inflight_room(f), 3);
    assert_int_equal(mqtt_inflight_waiting(f), 1);
    m = answer(MQTT_PUBACK, 1, MQTT_EFFECT_DONE);
    assert_int_equal(m.from, 7);
    assert_int_equal(m.bytes, 107);
    assert_int_equal(mqtt_inflight_room(f), 4);
    assert_int_equal(mqtt_inflight_waiting(f), 0);
    assert_int_equal(mqtt_inflight_unanswered(f), 0);
    assert_int_equal(answer(MQTT_PUBACK, 1, MQTT_EFFECT_NONE).id, 0);
}

static void
qos_2_takes_two_answers(void **state)
{
    (void)state;
    add(2, 0);
    refuses(MQTT_PUBCOMP, 1); /* before its PUBREC */
    answer(MQTT_PUBREC, 1, MQTT_EFFECT_RELEASE);
    assert_int_equal(mqtt_inflight_unanswered(f), 0);
    assert_int_equal(mqtt_inflight_waiting(f), 1);
    answer(MQTT_PUBREC, 1, MQTT_EFFECT_RELEASE); /* once more: once more a PUBREL */
    answer(MQTT_PUBCOMP, 1, MQTT_EFFECT_DONE);
    answer(MQTT_PUBCOMP, 1, MQTT_EFFECT_NONE);
    assert_int_equal(mqtt_inflight_waiting(f), 0);
}

static void
answers_of_the_wrong_kind(void **state)
{
    (void)state;
    add(1, 0);
    add(2, 1);
    refuses(MQTT_PUBREC, 1);
    refuses(MQTT_PUBCOMP, 1);
    refuses(MQTT_PUBACK, 2);
    answer(MQTT_PUBACK, 3, MQTT_EFFECT_NONE);
    answer(MQTT_PUBACK, 65535, MQTT_EFFECT_NONE);
    answer(MQTT_PUBREC, 9, MQTT_EFFECT_RELEASE); /* of an unknown one: let the broker forget it */
    assert_int_equal(mqtt_inflight_waiting(f), 2);
}

static void
answers_out_of_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++)
        add(1, i);
    assert_int_equal(mqtt_inflight_room(f), 0);
    answer(MQTT_PUBACK, 3, MQTT_EFFECT_DONE);
    answer(MQTT_PUBACK, 2, MQTT_EFFECT_DONE);
    assert_int_equal(mqtt_inflight_room(f), 0); /* holes behind the first one */
    assert_int_equal(answer(MQTT_PUBACK, 1, MQTT_EFFECT_DONE).from, 0);
    assert_int_equal(mqtt_inflight_room(f), 3);
    assert_int_equal(add(1, 9), 5);
}

static void
identifiers_go_round_without_zero(void **state)
{
    uint16_t last = 0;

    (void)state;
    add(1, 0);
    answer(MQTT_PUBACK, 1, MQTT_EFFECT_DONE);
    for (unsigned i = 2; i <= 65534; i++) {
        last = add(1, i);
        assert_int_equal(last, i);
        answer(MQTT_PUBACK, last, MQTT_EFFECT_DONE);
    }
    assert_int_equal(add(2, 1), 65535);
    assert_int_equal(add(2, 2), 1);
    assert_int_equal(add(2, 3), 2);
    assert_int_equal(answer(MQTT_PUBREC, 1, MQTT_EFFECT_RELEASE).from, 2);
    assert_int_equal(answer(MQTT_PUBREC, 65535, MQTT_EFFECT_RELEASE).from, 1);
    answer(MQTT_PUBREC, 3, MQTT_EFFECT_RELEASE);
    assert_int_equal(answer(MQTT_PUBREC, 2, MQTT_EFFECT_RELEASE).from, 3);
}

static void
a_session_goes_on_where_it_was(void **state)
{
    (void)state;
    add(2, 0);
    add(1, 1);
    add(2, 2);
    add(1, 3);
    answer(MQTT_PUBREC, 1, MQTT_EFFECT_RELEASE);
    answer(MQTT_PUBACK, 2, MQTT_EFFECT_DONE);
    mqtt_inflight_reconnected(f, true);
    refuses(MQTT_PUBACK, 4); /* not sent on this connection yet */
    assert_int_equal(mqtt_inflight_first_unanswered(f)->id, 3);
    due(MQTT_STATE_RERELEASE, 1);
    due(MQTT_STATE_RESEND, 3);
    answer(MQTT_PUBCOMP, 1, MQTT_EFFECT_DONE);
    mqtt_inflight_reconnected(f, true); /* again, in the middle */
    due(MQTT_STATE_RESEND, 3);
    due(MQTT_STATE_RESEND, 4);
    assert_null(mqtt_inflight_next_due(f));
    answer(MQTT_PUBACK, 4, MQTT_EFFECT_DONE);
    answer(MQTT_PUBREC, 3, MQTT_EFFECT_RELEASE);
    answer(MQTT_PUBCOMP, 3, MQTT_EFFECT_DONE);
    assert_int_equal(mqtt_inflight_room(f), 4);
}

static void
without_the_session_all_is_forgotten(void **state)
{
    (void)state;
    add(2, 0);
    add(2, 1);
    answer(MQTT_PUBREC, 1, MQTT_EFFECT_RELEASE);
    mqtt_inflight_reconnected(f, false);
    assert_null(mqtt_inflight_next_due(f));
    assert_int_equal(mqtt_inflight_waiting(f), 0);
    assert_int_equal(mqtt_inflight_room(f), 4);
    answer(MQTT_PUBCOMP, 1, MQTT_EFFECT_NONE);
    assert_int_equal(add(2, 0), 3);
}

static void
orphans_keep_their_identifiers(void **state)
{
    (void)state;
    add(1, 0);
    add(2, 1);
    add(2, 2);
    answer(MQTT_PUBREC, 2, MQTT_EFFECT_RELEASE);
    mqtt_inflight_orphan_all(f);
    assert_int_equal(mqtt_inflight_waiting(f), 0);
    assert_int_equal(mqtt_inflight_room(f), 1);
    assert_true(answer(MQTT_PUBACK, 1, MQTT_EFFECT_DONE).orphan);
    mqtt_inflight_reconnected(f, true); /* a PUBREL closes what the broker may hold */
    due(MQTT_STATE_RERELEASE, 2);
    due(MQTT_STATE_RERELEASE, 3);
    answer(MQTT_PUBCOMP, 2, MQTT_EFFECT_DONE);
    answer(MQTT_PUBCOMP, 3, MQTT_EFFECT_DONE);
    assert_int_equal(mqtt_inflight_room(f), 4);
}

static void
what_lost_its_points_is_abandoned(void **state)
{
    (void)state;
    add(1, 0);
    add(2, 1);
    mqtt_inflight_reconnected(f, true);
    mqtt_inflight_abandon(f, mqtt_inflight_next_due(f));
    assert_int_equal(mqtt_inflight_room(f), 3);
    mqtt_inflight_abandon(f, mqtt_inflight_next_due(f));
    assert_int_equal(mqtt_inflight_waiting(f), 0);
    due(MQTT_STATE_RERELEASE, 2);
    answer(MQTT_PUBCOMP, 2, MQTT_EFFECT_DONE);
    assert_int_equal(mqtt_inflight_room(f), 4);
}

static void
what_is_behind_a_refused_message_is_forgotten(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++)
        add(2, i);
    answer(MQTT_PUBREC, 1, MQTT_EFFECT_RELEASE);
    answer(MQTT_PUBREC, 3, MQTT_EFFECT_RELEASE);
    mqtt_inflight_forget_from(f, mqtt_inflight_first_unanswered(f));
    assert_int_equal(mqtt_inflight_waiting(f), 2);
    assert_int_equal(mqtt_inflight_unanswered(f), 0);
    assert_null(mqtt_inflight_first_unanswered(f));
    answer(MQTT_PUBCOMP, 1, MQTT_EFFECT_DONE);
    answer(MQTT_PUBCOMP, 3, MQTT_EFFECT_DONE);
    assert_int_equal(mqtt_inflight_room(f), 4);
    assert_int_equal(add(1, 0), 5);
}

static void
no_memory(void **state)
{
    struct mqtt_inflight *none = NULL;

    (void)state;
    for (size_t n = 1; n <= 2; n++) {
        mem_fail_at(n);
        assert_int_equal(mqtt_inflight_open(&none, 65535), ERR_NOMEM);
        mem_fail_at(0);
    }
    mqtt_inflight_close(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(qos_1_ends_with_its_puback),
        TEST(qos_2_takes_two_answers),
        TEST(answers_of_the_wrong_kind),
        TEST(answers_out_of_order),
        TEST(identifiers_go_round_without_zero),
        TEST(a_session_goes_on_where_it_was),
        TEST(without_the_session_all_is_forgotten),
        TEST(orphans_keep_their_identifiers),
        TEST(what_lost_its_points_is_abandoned),
        TEST(what_is_behind_a_refused_message_is_forgotten),
        TEST(no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
