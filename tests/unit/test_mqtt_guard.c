/*
 * test_mqtt_guard.c: what is made of a broker that closes the connection.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mqtt/mqtt_guard.h"

static enum mqtt_blame
closes(struct mqtt_guard *g, size_t count, size_t largest, int64_t now_ms)
{
    struct mqtt_guard_end end = {true, count, largest};

    return mqtt_guard_ended(g, &end, now_ms);
}

static void
a_large_message_goes_alone_after_a_close(void **state)
{
    struct mqtt_guard g = {0};

    (void)state;
    mqtt_guard_taken(&g, 100);
    assert_false(mqtt_guard_alone(&g, 500));
    assert_int_equal(closes(&g, 3, 100, 0),
                     MQTT_BLAME_NONE); /* nothing large: no reason for care */
    assert_false(mqtt_guard_alone(&g, 500));
    assert_int_equal(closes(&g, 3, 500, 0), MQTT_BLAME_NONE);
    assert_true(mqtt_guard_alone(&g, 101));
    assert_false(mqtt_guard_alone(&g, 100));
    mqtt_guard_taken(&g, 300);
    assert_false(mqtt_guard_alone(&g, 300));
}

static void
two_closes_on_it_alone_refuse_it(void **state)
{
    struct mqtt_guard g = {.taken = 100, .careful = true};

    (void)state;
    assert_int_equal(closes(&g, 1, 500, 0), MQTT_BLAME_AGAIN);
    mqtt_guard_taken(&g, 50); /* something went well between: it starts anew */
    assert_int_equal(closes(&g, 1, 500, 0), MQTT_BLAME_AGAIN);
    assert_int_equal(closes(&g, 1, 500, 0), MQTT_BLAME_PACKET);
    assert_int_equal(closes(&g, 1, 500, 0), MQTT_BLAME_AGAIN);
    mqtt_guard_connect_failed(&g); /* it was down: that says nothing */
    assert_int_equal(closes(&g, 1, 500, 0), MQTT_BLAME_AGAIN);
    assert_int_equal(closes(&g, 1, 100, 0), MQTT_BLAME_NONE); /* such a size it has taken */
}

static void
silence_blames_nobody(void **state)
{
    struct mqtt_guard g = {.taken = 100, .careful = true, .strikes = 1, .short_lives = 9};
    struct mqtt_guard_end end = {false, 1, 500};

    (void)state;
    assert_int_equal(mqtt_guard_ended(&g, &end, 0), MQTT_BLAME_NONE);
    assert_int_equal(g.strikes, 0);
    assert_false(mqtt_guard_kicked(&g));
}

static void
three_refusals_make_a_limit_for_an_hour(void **state)
{
    struct mqtt_guard g = {.taken = 100, .careful = true};

    (void)state;
    mqtt_guard_refused(&g, 500, 1000);
    mqtt_guard_refused(&g, 700, 1000);
    assert_false(mqtt_guard_hopeless(&g, 700, 1000));
    mqtt_guard_refused(&g, 600, 1000);
    assert_true(mqtt_guard_hopeless(&g, 500, 1000));
    assert_false(mqtt_guard_hopeless(&g, 499, 1000));
    assert_true(mqtt_guard_hopeless(&g, 500, 1000 + 3599999));
    assert_false(mqtt_guard_hopeless(&g, 500, 1000 + 3600000));
    mqtt_guard_taken(&g, 499);
    assert_true(mqtt_guard_hopeless(&g, 500, 1000));
    mqtt_guard_taken(&g, 550); /* then it was not the size */
    assert_false(mqtt_guard_hopeless(&g, 700, 1000));
}

static void
refusals_before_anything_was_taken(void **state)
{
    struct mqtt_guard g = {0};

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_false(mqtt_guard_blind(&g));
        mqtt_guard_refused(&g, 500, 0);
        assert_false(mqtt_guard_hopeless(&g, 500, 0));
    }
    assert_true(mqtt_guard_blind(&g));
    mqtt_guard_taken(&g, 10);
    assert_false(mqtt_guard_blind(&g));
}

static void
five_short_lives_are_kicks(void **state)
{
    struct mqtt_guard g = {.taken = 100};
    int64_t now = 1000;

    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_false(mqtt_guard_kicked(&g));
        mqtt_guard_connected(&g, now);
        now += 9999;
        closes(&g, 0, 0, now);
    }
    assert_true(mqtt_guard_kicked(&g));
    assert_false(mqtt_guard_kicked(&g)); /* one more try */
    mqtt_guard_connected(&g, now);
    closes(&g, 2, 100, now + 1);
    assert_true(mqtt_guard_kicked(&g));
    mqtt_guard_connected(&g, now);
    closes(&g, 0, 0, now + 10000); /* that one lived */
    assert_false(mqtt_guard_kicked(&g));
    closes(&g, 0, 0, now + 1);
    assert_false(mqtt_guard_kicked(&g));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_message_goes_alone_after_a_close),
        cmocka_unit_test(two_closes_on_it_alone_refuse_it),
        cmocka_unit_test(silence_blames_nobody),
        cmocka_unit_test(three_refusals_make_a_limit_for_an_hour),
        cmocka_unit_test(refusals_before_anything_was_taken),
        cmocka_unit_test(five_short_lives_are_kicks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
