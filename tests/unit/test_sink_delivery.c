/*
 * test_sink_delivery.c: rounds, their verdicts, and the pass that finds what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sink/delivery.h"

/* ---- a destination of the test's own ---- */

/* It judges a request by the numbers of the points in it. */
struct destination {
    struct sink base;
    uint64_t bad[8]; /* numbers it refuses */
    size_t bad_count;
    size_t too_large;      /* requests of more points than this are too large; 0: none */
    bool refuses_all;      /* 400 to everything */
    bool always_too_large; /* 413 to everything */
    bool names_points;     /* its refusals speak of points */
    size_t fails_at; /* the request of this number (1 is the first) fails for a while; 0: none */
    size_t most;     /* points in one request; 0: all of the range */
    size_t requests;
    uint64_t delivered[64]; /* in their order */
    size_t delivered_count;
};

static bool
is_bad(const struct destination *d, uint64_t seq)
{
    for (size_t i = 0; i < d->bad_count; i++) {
        if (d->bad[i] == seq)
            return true;
    }
    return d->refuses_all;
}

static enum err
request(struct destination *d, struct round *round, size_t from, size_t to, struct outcome *outcome,
        struct errinfo *info)
{
    size_t open = round_count(round, from, to, VERDICT_OPEN);
    bool bad = false;

    d->requests++;
    for (size_t i = from; i < to; i++)
        bad = bad || (round_is_open(round, i) && is_bad(d, batch_point(&round->points, i).seq));
    if (d->requests == d->fails_at) {
        outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_TIMEOUT);
        return errinfo_set(info, ERR_TIMEOUT, "no answer");
    }
    if (d->always_too_large || (d->too_large > 0 && open > d->too_large))
        outcome_is(outcome, DELIVERY_TOO_LARGE, STORE_ERROR_REJECTED);
    else if (bad)
        outcome_is(outcome, DELIVERY_REJECTED, STORE_ERROR_REJECTED);
    else {
        for (size_t i = from; i < to; i++) {
            if (round_is_open(round, i))
                d->delivered[d->delivered_count++] = batch_point(&round->points, i).seq;
        }
        round_set(round, from, to, VERDICT_DELIVERED);
        (void)errinfo_set(info, ERR_TIMEOUT, "of no meaning: all went well");
        return ERR_OK;
    }
    outcome->from = from;
    outcome->to = to;
    outcome->names_points = d->names_points;
    return errinfo_set(info, ERR_DENIED, "refused");
}

static enum err
deliver(struct sink *s, struct round *round, size_t from, size_t to, struct outcome *outcome,
        struct errinfo *info)
{
    struct destination *d = (struct destination *)s;

    while (from < to) {
        size_t end = d->most > 0 && to - from > d->most ? from + d->most : to;

        if (round_count(round, from, end, VERDICT_OPEN) > 0) {
            enum err err = request(d, round, from, end, outcome, info);

            if (err != ERR_OK)
                return err;
        }
        from = end;
    }
    outcome_is(outcome, DELIVERY_DONE, STORE_ERROR_TARGET);
    return ERR_OK;
}

static const struct sink_type type = {.name = "test", .deliver = deliver};

/* A round of the points 1 to ${count}. */
static void
fill(struct round *round, size_t count)
{
    round_init(round);
    assert_int_equal(batch_source(&round->points, SLICE("db"), SLICE("")), ERR_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(batch_add(&round->points, i + 1, 0, SLICE("m"), SLICE("m v=1")), ERR_OK);
    assert_int_equal(round_open_new(round, 0), ERR_OK);
}

static enum err
pass(struct destination *d, struct round *round, struct delivery_memory *memory,
     struct outcome *outcome)
{
    struct errinfo info;

    d->base.type = &type;
    return delivery_pass(&d->base, round, memory, outcome, &info);
}

static void
assert_in_order(const struct destination *d)
{
    for (size_t i = 1; i < d->delivered_count; i++)
        assert_true(d->delivered[i - 1] < d->delivered[i]);
}

/* The words behind a pass are those of a refusal, whatever was delivered behind it. */
static void
words_are_those_of_the_refusal(void **state)
{
    struct destination d = {.bad = {3}, .bad_count = 1};
    struct delivery_memory memory = {false, 0};
    struct outcome outcome;
    struct errinfo info = {ERR_OK, 0, ""};
    struct round round;

    (void)state;
    d.base.type = &type;
    fill(&round, 8);
    assert_int_equal(delivery_pass(&d.base, &round, &memory, &outcome, &info), ERR_OK);
    assert_string_equal(info.text, "refused");
    round_free(&round);
    d.bad_count = 0;
    fill(&round, 8);
    assert_int_equal(delivery_pass(&d.base, &round, &memory, &outcome, &info), ERR_OK);
    assert_string_equal(info.text, "");
    round_free(&round);
}

/* ---- the pass ---- */

static void
good_points_go_in_one_request(void **state)
{
    struct destination d = {.bad_count = 0};
    struct delivery_memory memory = {false, 0};
    struct outcome outcome;
    struct round round;

    (void)state;
    fill(&round, 10);
    assert_int_equal(pass(&d, &round, &memory, &outcome), ERR_OK);
    assert_int_equal(outcome.what, DELIVERY_DONE);
    assert_int_equal(d.requests, 1);
    assert_int_equal(d.delivered_count, 10);
    assert_true(memory.delivered_any);
    round_free(&round);
}

static void
one_bad_point_is_found_and_the_rest_delivered_in_order(void **state)
{
    (void)state;
    for (uint64_t bad = 1; bad <= 40; bad++) {
        struct destination d = {.bad = {bad}, .bad_count = 1};
        struct delivery_memory memory = {false, 0};
        struct outcome outcome;
        struct round round;

        fill(&round, 40);
        assert_int_equal(pass(&d, &round, &memory, &outcome), ERR_OK);
        assert_int_equal(d.delivered_count, 39);
        assert_in_order(&d);
        assert_int_equal(round.verdicts[bad - 1], VERDICT_REFUSED);
        assert_int_equal(round_count(&round, 0, 40, VERDICT_DELIVERED), 39);
        assert_true(d.requests <= 1 + 2 * 6); /* two a level, log2(40) levels */
        round_free(&round);
    }
}

static void
several_bad_points_are_found(void **state)
{
    struct destination d = {.bad = {1, 2, 17, 32}, .bad_count = 4, .most = 7};
    struct delivery_memory memory = {false, 0};
    struct outcome outcome;
    struct round round;

    (void)state;
    fill(&round, 32);
    assert_int_equal(pass(&d, &round, &memory, &outcome), ERR_OK);
    assert_int_equal(d.delivered_count, 28);
    assert_int_equal(round_count(&round, 0, 32, VERDICT_REFUSED), 4);
    assert_in_order(&d);
    round_free(&round);
}

static void
a_request_fault_is_not_blamed_on_points(void **state)
{
    struct destination d = {.refuses_all = true};
    struct delivery_memory memory = {true, 0};
    struct outcome outcome;
    struct round round;

    (void)state;
    fill(&round, 16);
    assert_int_not_equal(pass(&d, &round, &memory, &outcome), ERR_OK);
    assert_int_equal(outcome.what, DELIVERY_TARGET);
    assert_int_equal(round_count(&round, 0, 16, VERDICT_OPEN), 16);
    round_free(&round);
}

static void
an_answer_that_names_points_is_believed(void **state)
{
    struct destination d = {.refuses_all = true, .names_points = true};
    struct delivery_memory memory = {false, 0};
    struct outcome outcome;
    struct round round;

    (void)state;
    fill(&round, 4);
    assert_int_equal(pass(&d, &round, &memory, &outcome), ERR_OK);
    assert_int_equal(round_count(&round, 0, 4, VERDICT_REFUSED), 4);
    round_free(&round);
}

static void
a_lone_point_is_believed_only_after_a_delivery(void **state)
{
    struct destination d = {.bad = {1}, .bad_count = 1};
    struct delivery_memory memory = {false, 0};
    struct outcome outcome;
    struct round round;

    (void)state;
    fill(&round, 1);
    assert_int_not_equal(pass(&d, &round, &memory, &outcome), ERR_OK);
    assert_int_equal(outcome.what, DELIVERY_TARGET);
    assert_true(round_is_open(&round, 0));
    memory.delivered_any = true;
    assert_int_equal(pass(&d, &round, &memory, &outcome), ERR_OK);
    assert_int_equal(round.verdicts[0], VERDICT_REFUSED);
    round_free(&round);
}

static void
too_large_halves_and_remembers(void **state)
{
    struct destination d = {.too_large = 5};
    struct delivery_memory memory = {false, 0};
    struct outcome outcome;
    struct round round;
    size_t requests;

    (void)state;
    fill(&round, 20);
    assert_int_equal(pass(&d, &round, &memory, &outcome), ERR_OK);
    assert_int_equal(d.delivered_count, 20);
    assert_in_order(&d);
    assert_int_equal(memory.learned_points, 5);
    round_free(&round);
    requests = d.requests;
    d.delivered_count = 0;
    fill(&round, 20);
    assert_int_equal(pass(&d, &round, &memory, &outcome), ERR_OK);
    assert_int_equal(d.requests - requests, 4); /* the size is known now */
    round_free(&round);
}

/* What answers 413 to everything has another fault than the size of points. */
static void
everything_too_large_is_not_blamed_on_points(void **state)
{
    struct destination d = {.always_too_large = true};
    struct delivery_memory memory = {true, 0};
    struct outcome outcome;
    struct round round;

    (void)state;
    fill(&round, 4);
    assert_int_not_equal(pass(&d, &round, &memory, &outcome), ERR_OK);
    assert_int_equal(outcome.what, DELIVERY_TARGET);
    assert_int_equal(round_count(&round, 0, 4, VERDICT_OPEN), 4);
    round_free(&round);
}

static void
a_single_point_too_large_is_refused(void **state)
{
    struct destination d = {.too_large = 1};
    struct delivery_memory memory = {false, 0};
    struct outcome outcome;
    struct round round;

    (void)state;
    fill(&round, 3);
    d.too_large = 1;
    assert_int_equal(pass(&d, &round, &memory, &outcome), ERR_OK);
    assert_int_equal(d.delivered_count, 3);
    assert_int_equal(memory.learned_points, 1);
    round_free(&round);
}

static void
a_failure_in_the_middle_keeps_what_was_confirmed(void **state)
{
    (void)state;
    for (size_t fails_at = 1; fails_at <= 12; fails_at++) {
        struct destination d = {.bad = {9}, .bad_count = 1, .most = 4, .fails_at = fails_at};
        struct delivery_memory memory = {false, 0};
        struct outcome outcome;
        struct round round;
        enum err err;

        fill(&round, 24);
        err = pass(&d, &round, &memory, &outcome);
        if (err != ERR_OK) {
            assert_int_equal(err, ERR_TIMEOUT);
            assert_int_equal(outcome.what, DELIVERY_TRANSIENT);
            assert_int_equal(outcome.kind, STORE_ERROR_TIMEOUT);
            assert_int_equal(pass(&d, &round, &memory, &outcome), ERR_OK);
        }
        assert_int_equal(d.delivered_count, 23); /* nothing twice, nothing left out */
        assert_int_equal(round_count(&round, 0, 24, VERDICT_DELIVERED), 23);
        assert_int_equal(round.verdicts[8], VERDICT_REFUSED);
        round_free(&round);
    }
}

/* ---- rounds ---- */

static void
the_resolved_run_ends_at_the_first_open_point(void **state)
{
    struct round round;
    struct round_tally tally;

    (void)state;
    fill(&round, 5);
    round_set(&round, 0, 2, VERDICT_DELIVERED);
    round_set(&round, 3, 5, VERDICT_DELIVERED);
    tally = round_resolved(&round, true);
    assert_int_equal(tally.upto, 2);
    assert_int_equal(tally.delivered, 2);
    round_set(&round, 2, 3, VERDICT_REFUSED);
    tally = round_resolved(&round, false);
    assert_int_equal(tally.upto, 2);
    tally = round_resolved(&round, true);
    assert_int_equal(tally.upto, 5);
    assert_int_equal(tally.delivered, 4);
    assert_int_equal(tally.refused, 1);
    round_free(&round);
}

static void
points_counted_by_others_are_skipped(void **state)
{
    struct round round;
    struct round_tally tally;

    (void)state;
    fill(&round, 5);
    round_set(&round, 0, 4, VERDICT_DELIVERED);
    round_skip_to(&round, 3);
    assert_int_equal(round.counted, 3);
    tally = round_resolved(&round, false);
    assert_int_equal(tally.upto, 4);
    assert_int_equal(tally.delivered, 1);
    round_skip_to(&round, 5);
    assert_int_equal(round.counted, 5);
    assert_false(round_is_open(&round, 4));
    round_free(&round);
}

static void
a_verdict_is_given_once(void **state)
{
    struct round round;

    (void)state;
    fill(&round, 3);
    round_set(&round, 1, 2, VERDICT_REFUSED);
    round_set(&round, 0, 3, VERDICT_DELIVERED);
    assert_int_equal(round.verdicts[1], VERDICT_REFUSED);
    round_reopen(&round, VERDICT_REFUSED);
    assert_true(round_is_open(&round, 1));
    assert_int_equal(round.verdicts[0], VERDICT_DELIVERED);
    round_free(&round);
}

static void
memory_runs_out_cleanly(void **state)
{
    (void)state;
    for (size_t n = 1; n < 20; n++) {
        struct round round;
        bool ok;

        round_init(&round);
        mem_fail_at(n);
        ok = batch_source(&round.points, SLICE("db"), SLICE("")) == ERR_OK &&
             batch_add(&round.points, 1, 0, SLICE("m"), SLICE("m v=1")) == ERR_OK &&
             round_open_new(&round, 0) == ERR_OK;
        mem_fail_at(0);
        round_free(&round);
        assert_int_equal(mem_live(), 0);
        if (ok)
            return;
    }
    fail();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_the_refusal),
        cmocka_unit_test(good_points_go_in_one_request),
        cmocka_unit_test(one_bad_point_is_found_and_the_rest_delivered_in_order),
        cmocka_unit_test(several_bad_points_are_found),
        cmocka_unit_test(a_request_fault_is_not_blamed_on_points),
        cmocka_unit_test(an_answer_that_names_points_is_believed),
        cmocka_unit_test(a_lone_point_is_believed_only_after_a_delivery),
        cmocka_unit_test(too_large_halves_and_remembers),
        cmocka_unit_test(everything_too_large_is_not_blamed_on_points),
        cmocka_unit_test(a_single_point_too_large_is_refused),
        cmocka_unit_test(a_failure_in_the_middle_keeps_what_was_confirmed),
        cmocka_unit_test(the_resolved_run_ends_at_the_first_open_point),
        cmocka_unit_test(points_counted_by_others_are_skipped),
        cmocka_unit_test(a_verdict_is_given_once),
        cmocka_unit_test(memory_runs_out_cleanly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
