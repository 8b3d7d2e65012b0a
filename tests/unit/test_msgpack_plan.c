/*
 * test_msgpack_plan.c: a round cut into bodies, confirmed in parts, cut otherwise the next time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "point/ingest.h"
#include "point/point_msgpack.h"
#include "sink/msgpack_plan.h"
#include "support/sink_drive.h"

#define POINTS 60

/* Two series in turn; each point has two floats and an integer. */
static void
fill(struct round *round)
{
    round_init(round);
    for (uint64_t i = 0; i < POINTS; i++) {
        char line[80];

        (void)snprintf(line, sizeof(line), "m,t=%u a=%u.5,n=%ui,b=2", (unsigned)(i % 2),
                       (unsigned)i, (unsigned)i);
        sink_drive_add(round, i + 1, i % 3 == 0 ? "db1" : "db0", "", "m", line);
    }
}

/* Of the plan opened last. */
static size_t limit;

static struct msgpack_plan *
open_plan(bool columnar, bool one_target, size_t max_bytes)
{
    const struct msgpack_plan_config config = {columnar, one_target, PRECISION_NS, max_bytes};
    struct msgpack_plan *plan = NULL;

    assert_int_equal(msgpack_plan_open(&plan, &config), ERR_OK);
    limit = max_bytes;
    return plan;
}

/* How many points the ingest finds in a body. */
static size_t
points_in(const struct msgpack_body *body, struct slice bytes)
{
    struct lineproto_point point;
    struct lineproto_bad bad;
    struct ingest in;
    struct buf line;
    enum ingest_event event;
    size_t n = 0;

    buf_init(&line, 1 << 20);
    if (slice_eq(slice_of(body->content_type), SLICE(POINT_MSGPACK_COLUMN_TYPE)))
        ingest_columns(&in, bytes, &line, PRECISION_NS, 0);
    else
        ingest_rows(&in, bytes, &line, PRECISION_NS, 0);
    while ((event = ingest_next(&in, &point, &bad)) == INGEST_POINT)
        n++;
    assert_int_equal(event, INGEST_END);
    buf_free(&line);
    return n;
}

struct total {
    size_t bodies, parts;
};

/* All bodies of [from, to); those whose number gives ${step} without a remainder are confirmed. */
static struct total
walk(struct msgpack_plan *plan, struct round *round, size_t from, size_t to, size_t step)
{
    struct msgpack_cursor cursor = {0};
    struct total total = {0, 0};
    struct msgpack_body body;
    size_t parts;
    struct buf out;
    enum err err;

    buf_init(&out, 1 << 20);
    assert_int_equal(msgpack_plan_use(plan, round), ERR_OK);
    while ((err = msgpack_plan_next(plan, round, from, to, &cursor, &body, &out)) == ERR_OK) {
        assert_true(body.from >= from && body.from < body.to && body.to <= to);
        parts = points_in(&body, buf_peek(&out));
        assert_true(parts == 1 || buf_len(&out) <= limit + 5); /* but for the head of an array */
        total.parts += parts;
        if (step > 0 && total.bodies % step == 0)
            msgpack_plan_confirm(plan, round, &body);
        total.bodies++;
    }
    assert_int_equal(err, ERR_EOF);
    buf_free(&out);
    return total;
}

static void
columns_and_the_rest(void **state)
{
    struct msgpack_plan *plan = open_plan(true, true, 1000000);
    struct round round;
    struct total total;

    (void)state;
    fill(&round);
    total = walk(plan, &round, 0, POINTS, 0);
    assert_int_equal(total.bodies, 5); /* two series of two fields, and the rows */
    assert_int_equal(total.parts, 3 * POINTS);
    assert_int_equal(round_count(&round, 0, POINTS, VERDICT_OPEN), POINTS);
    (void)walk(plan, &round, 0, POINTS, 1);
    assert_int_equal(round_count(&round, 0, POINTS, VERDICT_DELIVERED), POINTS);
    assert_int_equal(walk(plan, &round, 0, POINTS, 1).bodies, 0);
    msgpack_plan_close(plan);
    round_free(&round);
}

static void
targets_are_kept_apart(void **state)
{
    struct msgpack_plan *columns = open_plan(true, false, 1000000);
    struct msgpack_plan *rows = open_plan(false, false, 1000000);
    struct round round;

    (void)state;
    fill(&round);
    assert_int_equal(walk(columns, &round, 0, POINTS, 0).bodies, 10);
    assert_int_equal(walk(rows, &round, 0, POINTS, 0).bodies, 2);
    assert_int_equal(walk(rows, &round, 0, POINTS, 0).parts, POINTS);
    msgpack_plan_close(columns);
    msgpack_plan_close(rows);
    round_free(&round);
}

/* However it is cut, each part is confirmed once and what was confirmed does not come again. */
static void
confirmed_parts_stay_so(void **state)
{
    (void)state;
    for (size_t max = 100; max < 3000; max += 371) {
        struct msgpack_plan *plan = open_plan(true, true, max);
        struct round round;
        size_t before = 3 * POINTS;

        fill(&round);
        assert_int_equal(walk(plan, &round, 0, POINTS, 3).parts, before);
        while (round_count(&round, 0, POINTS, VERDICT_OPEN) > 0) {
            size_t left = walk(plan, &round, 0, POINTS, 0).parts;

            assert_true(left < before);
            before = left;
            (void)walk(plan, &round, 7, 23, 2);
            (void)walk(plan, &round, 0, 11, 1);
            (void)walk(plan, &round, 20, POINTS, 2);
        }
        assert_int_equal(walk(plan, &round, 0, POINTS, 1).bodies, 0);
        msgpack_plan_close(plan);
        round_free(&round);
    }
}

/* A verdict that was taken back, though nothing is left to send. */
static void
what_was_confirmed_is_said_again(void **state)
{
    struct msgpack_plan *plan = open_plan(true, true, 1000000);
    struct round round;

    (void)state;
    fill(&round);
    (void)walk(plan, &round, 0, POINTS, 1);
    round_reopen(&round, VERDICT_DELIVERED);
    assert_int_equal(round_count(&round, 0, POINTS, VERDICT_OPEN), POINTS);
    assert_int_equal(walk(plan, &round, 0, POINTS, 1).bodies, 0);
    assert_int_equal(round_count(&round, 0, POINTS, VERDICT_DELIVERED), POINTS);
    msgpack_plan_close(plan);
    round_free(&round);
}

static void
odd_points(void **state)
{
    struct msgpack_plan *plan = open_plan(true, true, 1000000);
    struct round round;

    (void)state;
    round_init(&round);
    sink_drive_add(&round, 1, "db", "", "m", "m time=1,f=2"); /* goes whole */
    sink_drive_add(&round, 2, "db", "", "m", "nonsense");
    sink_drive_add(&round, 3, "db", "", "m", "m f=1,f=2");
    sink_drive_add(&round, 4, "db", "", "m", "m f=1,g=x");
    assert_int_equal(walk(plan, &round, 0, 4, 1).bodies, 2);
    assert_int_equal(round.verdicts[0], VERDICT_DELIVERED);
    assert_int_equal(round.verdicts[1], VERDICT_REFUSED);
    assert_int_equal(round.verdicts[2], VERDICT_DELIVERED);
    assert_int_equal(round.verdicts[3], VERDICT_REFUSED);
    msgpack_plan_close(plan);
    round_free(&round);
}

static void
want_of_memory(void **state)
{
    size_t live = mem_live();
    bool passed = false;

    (void)state;
    for (size_t n = 1; !passed; n++) {
        const struct msgpack_plan_config config = {true, false, PRECISION_NS, 1000};
        struct msgpack_plan *plan = NULL;
        struct round round;

        fill(&round);
        mem_fail_at(n);
        passed =
            msgpack_plan_open(&plan, &config) == ERR_OK && msgpack_plan_use(plan, &round) == ERR_OK;
        mem_fail_at(0);
        if (plan != NULL) {
            (void)walk(plan, &round, 0, POINTS, 1); /* it goes on once there is memory */
            assert_int_equal(round_count(&round, 0, POINTS, VERDICT_DELIVERED), POINTS);
        }
        msgpack_plan_close(plan);
        round_free(&round);
        assert_int_equal(mem_live(), live);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_and_the_rest),
        cmocka_unit_test(targets_are_kept_apart),
        cmocka_unit_test(confirmed_parts_stay_so),
        cmocka_unit_test(what_was_confirmed_is_said_again),
        cmocka_unit_test(odd_points),
        cmocka_unit_test(want_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
