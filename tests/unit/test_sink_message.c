/*
 * test_sink_message.c: points joined into messages: which go together, how large they get, made
 * again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sink/message.h"
#include "support/sink_drive.h"

static struct round points;
static struct message_set set;
static struct buf out;

/* ${count} points "m,t=a v=Ni"; group i % ${groups} each. */
static void
begin(size_t count, size_t groups)
{
    bool fresh;

    buf_init(&out, 4096);
    message_set_init(&set);
    sink_drive_round(&points, 1, count);
    assert_int_equal(message_set_begin(&set, &points, groups > 1, &fresh), ERR_OK);
    assert_true(fresh);
    for (size_t i = 0; i < count && groups > 1; i++) {
        char text[24];

        (void)snprintf(text, sizeof(text), "g%zu", i % groups);
        message_set_group(&set, i, slice_of(text));
    }
    assert_int_equal(message_set_begin(&set, &points, groups > 1, &fresh), ERR_OK);
    assert_false(fresh);
}

static void
end(void)
{
    round_free(&points);
    message_set_free(&set);
    buf_free(&out);
    assert_int_equal(mem_live(), 0);
}

static const struct message_form lines = {
    .mode = MESSAGE_LINES, .precision = PRECISION_S, .max_bytes = 100};

/* The next message is this text, over [from, to). */
static void
builds(const struct message_form *form, const char *text, size_t from, size_t to)
{
    struct message m;
    size_t next = message_next(&set, &points, 0, points.points.count);

    buf_clear(&out);
    assert_int_equal(next, from);
    assert_int_equal(message_build(form, &set, &points, next, points.points.count, &out, &m),
                     ERR_OK);
    assert_int_equal(buf_len(&out), strlen(text));
    assert_memory_equal(buf_peek(&out).p, text, strlen(text));
    assert_int_equal(m.from, from);
    assert_int_equal(m.to, to);
}

static void
individual_messages(void **state)
{
    const struct message_form form = {.precision = PRECISION_S, .max_bytes = 1000};

    (void)state;
    begin(2, 1);
    builds(&form, "m,t=a v=1i 1", 0, 1);
    builds(&form, "m,t=a v=2i 2", 1, 2);
    assert_int_equal(message_next(&set, &points, 0, 2), 2);
    end();
}

static void
lines_up_to_a_size(void **state)
{
    struct message_form form = lines;

    (void)state;
    begin(4, 1);
    form.max_bytes = 25; /* two lines of 12 and what joins them */
    builds(&form, "m,t=a v=1i 1\nm,t=a v=2i 2", 0, 2);
    form.max_bytes = 24;
    builds(&form, "m,t=a v=3i 3", 2, 3);
    form.max_bytes = 1; /* a larger point goes alone */
    builds(&form, "m,t=a v=4i 4", 3, 4);
    end();
}

static void
groups_stay_apart(void **state)
{
    struct message_form form = lines;

    (void)state;
    begin(6, 3);
    form.max_bytes = 25;
    builds(&form, "m,t=a v=1i 1\nm,t=a v=4i 4", 0, 4);
    builds(&form, "m,t=a v=2i 2\nm,t=a v=5i 5", 1, 5);
    message_settle(&set, &points, 0, 4, VERDICT_DELIVERED);
    assert_int_equal(points.verdicts[0], VERDICT_DELIVERED);
    assert_int_equal(points.verdicts[1], VERDICT_OPEN);
    assert_int_equal(points.verdicts[3], VERDICT_DELIVERED);
    assert_int_equal(points.verdicts[4], VERDICT_OPEN);
    message_release(&set, 1, 5);
    form.max_bytes = 12;
    builds(&form, "m,t=a v=2i 2", 1, 2); /* the released ones come anew */
    builds(&form, "m,t=a v=3i 3", 2, 3);
    builds(&form, "m,t=a v=5i 5", 4, 5);
    builds(&form, "m,t=a v=6i 6", 5, 6);
    end();
}

/* A message ends before a point of its group that is in another one. */
static void
ranges_of_a_group_do_not_cross(void **state)
{
    struct message_form form = lines;

    (void)state;
    begin(5, 1);
    form.max_bytes = 25;
    builds(&form, "m,t=a v=1i 1\nm,t=a v=2i 2", 0, 2);
    builds(&form, "m,t=a v=3i 3\nm,t=a v=4i 4", 2, 4);
    message_release(&set, 0, 2);
    form.max_bytes = 1000;
    builds(&form, "m,t=a v=1i 1\nm,t=a v=2i 2", 0, 2);
    builds(&form, "m,t=a v=5i 5", 4, 5);
    end();
}

static void
made_again_without_what_was_dropped(void **state)
{
    struct message m = {0, 3, 0};

    (void)state;
    begin(3, 1);
    builds(&lines, "m,t=a v=1i 1\nm,t=a v=2i 2\nm,t=a v=3i 3", 0, 3);
    points.verdicts[1] = VERDICT_REFUSED;
    buf_clear(&out);
    assert_int_equal(message_rebuild(&lines, &set, &points, &m, &out), ERR_OK);
    assert_true(slice_eq(buf_peek(&out), SLICE("m,t=a v=1i 1\nm,t=a v=3i 3")));
    assert_int_equal(m.count, 2);
    end();
}

static void
json_arrays(void **state)
{
    struct message_form form = {SINK_JSON, MESSAGE_JSON_ARRAY, PRECISION_S, 0};
    static const char one[] =
        "[{\"measurement\":\"m\",\"tags\":{\"t\":\"a\"},\"fields\":{\"v\":1},\"timestamp\":1}]";
    static const char two[] =
        "[{\"measurement\":\"m\",\"tags\":{\"t\":\"a\"},\"fields\":{\"v\":1},\"timestamp\":1},"
        "{\"measurement\":\"m\",\"tags\":{\"t\":\"a\"},\"fields\":{\"v\":2},\"timestamp\":2}]";

    (void)state;
    begin(2, 1);
    form.max_bytes = sizeof(two) - 2; /* one byte less than both need */
    builds(&form, one, 0, 1);
    message_release(&set, 0, 1);
    form.max_bytes = sizeof(two) - 1;
    builds(&form, two, 0, 2);
    end();
}

static void
long_and_many_texts_are_groups_of_their_own(void **state)
{
    static uint8_t text[5000];

    (void)state;
    memset(text, 'x', sizeof(text));
    begin(3, 2);
    message_set_group(&set, 0, slice_make(text, 4097));
    message_set_group(&set, 1, slice_make(text, 4097));
    message_set_group(&set, 2, SLICE(""));
    builds(&lines, "m,t=a v=1i 1", 0, 1);
    builds(&lines, "m,t=a v=2i 2", 1, 2);
    builds(&lines, "m,t=a v=3i 3", 2, 3);
    end();
}

static void
nothing_is_taken_without_room(void **state)
{
    struct message m;

    (void)state;
    begin(2, 1);
    buf_free(&out);
    buf_init(&out, 11);
    assert_int_equal(message_build(&lines, &set, &points, 0, 2, &out, &m), ERR_NOMEM);
    assert_int_equal(buf_len(&out), 0);
    assert_int_equal(message_next(&set, &points, 0, 2), 0);
    end();
}

static void
memory_runs_out_cleanly(void **state)
{
    bool fresh, done = false;

    (void)state;
    for (size_t n = 1; !done; n++) {
        assert_in_range(n, 1, 10);
        message_set_init(&set);
        sink_drive_round(&points, 1, 3);
        mem_fail_at(n);
        done = message_set_begin(&set, &points, true, &fresh) == ERR_OK;
        mem_fail_at(0);
        if (!done)
            assert_int_equal(message_set_begin(&set, &points, true, &fresh), ERR_OK);
        assert_true(fresh);
        end();
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(individual_messages),
        cmocka_unit_test(lines_up_to_a_size),
        cmocka_unit_test(groups_stay_apart),
        cmocka_unit_test(ranges_of_a_group_do_not_cross),
        cmocka_unit_test(made_again_without_what_was_dropped),
        cmocka_unit_test(json_arrays),
        cmocka_unit_test(long_and_many_texts_are_groups_of_their_own),
        cmocka_unit_test(nothing_is_taken_without_room),
        cmocka_unit_test(memory_runs_out_cleanly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
