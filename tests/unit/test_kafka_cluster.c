/*
 * test_kafka_cluster.c: what is known of a cluster, and the table of error codes.
 * The answer is syn.Metadata.v7.resp of tests/vectors/kafka/frames.jsonl: brokers 1 and 2, topic t1
 * of two partitions, the second without a leader.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "kafka/kafka_cluster.h"
#include "kafka/kafka_error.h"

#define BROKER(id, host) "\0\0\0" id "\0\002" host "\0\0\x23\x84\377\377"
#define PARTITION(index, leader) \
    "\0\0\0\0\0" index "\0\0\0" leader "\0\0\0\7\0\0\0\0\0\0\0\0\0\0\0\0"
#define NO_LEADER(index) "\0\5\0\0\0" index "\377\377\377\377\0\0\0\7\0\0\0\0\0\0\0\0\0\0\0\0"

/* Throttle 0, two brokers, no cluster id, controller 1, then the topics. */
#define HEAD "\0\0\0\0\0\0\0\2" BROKER("\1", "b1") BROKER("\2", "b2") "\377\377\0\0\0\1"

static const struct slice two =
    SLICE_INIT(HEAD "\0\0\0\1\0\0\0\2t1\0\0\0\0\2" NO_LEADER("\1") PARTITION("\0", "\2"));
static const struct slice one =
    SLICE_INIT(HEAD "\0\0\0\1\0\0\0\2t1\0\0\0\0\1" PARTITION("\0", "\1"));
static const struct slice gone = SLICE_INIT(HEAD "\0\0\0\1\0\3\0\2t1\0\0\0\0\0");

static void
leaders(void **state)
{
    struct kafka_cluster c;
    size_t index;

    (void)state;
    kafka_cluster_init(&c);
    assert_int_equal(kafka_cluster_topic(&c, SLICE("t1"), &index), ERR_OK);
    assert_int_equal(c.topics[index].error, 3);
    assert_null(kafka_cluster_leader(&c, index, 0));
    assert_int_equal(kafka_cluster_update(&c, two, 7), ERR_OK);
    assert_int_equal(c.topics[index].partition_count, 2);
    assert_string_equal(kafka_cluster_leader(&c, index, 0)->host, "b2");
    assert_int_equal(kafka_cluster_leader(&c, index, 0)->port, 9092);
    assert_int_equal(c.topics[index].partitions[0].leader_epoch, 7);
    assert_null(kafka_cluster_leader(&c, index, 1));
    assert_null(kafka_cluster_leader(&c, index, 2));
    assert_null(kafka_cluster_leader(&c, index, -1));
    assert_null(kafka_cluster_broker(&c, 3));
    kafka_cluster_free(&c);
}

/* A topic that was made anew has fewer; one that is gone keeps what is known, with its error. */
static void
topics_change(void **state)
{
    struct kafka_cluster c;
    size_t index;

    (void)state;
    kafka_cluster_init(&c);
    assert_int_equal(kafka_cluster_topic(&c, SLICE("t1"), &index), ERR_OK);
    assert_int_equal(kafka_cluster_update(&c, two, 7), ERR_OK);
    assert_int_equal(kafka_cluster_update(&c, gone, 7), ERR_OK);
    assert_int_equal(c.topics[index].error, 3);
    assert_int_equal(kafka_cluster_update(&c, one, 7), ERR_OK);
    assert_int_equal(c.topics[index].error, 0);
    assert_int_equal(c.topics[index].partition_count, 1);
    assert_int_equal(kafka_cluster_leader(&c, index, 0)->id, 1);
    assert_int_equal(kafka_cluster_update(&c, two, 7), ERR_OK);
    assert_int_equal(c.topics[index].partition_count, 2);
    kafka_cluster_free(&c);
}

/* Nothing of a broken answer is taken over, and topics that nobody asked for are passed over. */
static void
all_or_nothing(void **state)
{
    struct kafka_cluster c;
    size_t index;

    (void)state;
    kafka_cluster_init(&c);
    assert_int_equal(kafka_cluster_topic(&c, SLICE("other"), &index), ERR_OK);
    for (size_t n = 0; n < two.n; n++)
        assert_int_equal(kafka_cluster_update(&c, slice_to(two, n), 7), ERR_SHORT);
    assert_int_equal(c.broker_count, 0);
    assert_int_equal(kafka_cluster_update(&c, two, 7), ERR_OK);
    assert_int_equal(c.broker_count, 2);
    assert_int_equal(c.topic_count, 1);
    assert_int_equal(c.topics[index].partition_count, 0);
    kafka_cluster_free(&c);
}

static void
many_topics(void **state)
{
    struct kafka_cluster c;
    size_t index;
    char name[32];

    (void)state;
    kafka_cluster_init(&c);
    for (size_t i = 0; i < KAFKA_CLUSTER_TOPICS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "topic-%zu", i);
        assert_int_equal(kafka_cluster_topic(&c, slice_of(name), &index), ERR_OK);
        assert_int_equal(index, i);
    }
    assert_int_equal(kafka_cluster_topic(&c, SLICE("one more"), &index), ERR_RANGE);
    assert_int_equal(kafka_cluster_topic(&c, SLICE("topic-77"), &index), ERR_OK);
    assert_int_equal(index, 77);
    kafka_cluster_free(&c);
}

static void
no_memory(void **state)
{
    bool done = false;

    (void)state;
    for (size_t n = 1; !done; n++) {
        size_t live = mem_live(), index;
        struct kafka_cluster c;
        enum err err;

        kafka_cluster_init(&c);
        mem_fail_at(n);
        err = kafka_cluster_topic(&c, SLICE("t1"), &index);
        if (err == ERR_OK)
            err = kafka_cluster_update(&c, two, 7);
        mem_fail_at(0);
        done = err == ERR_OK;
        assert_true(done || err == ERR_NOMEM);
        assert_int_equal(kafka_cluster_topic(&c, SLICE("t1"), &index), ERR_OK);
        assert_int_equal(kafka_cluster_update(&c, two, 7), ERR_OK);
        assert_string_equal(kafka_cluster_leader(&c, index, 0)->host, "b2");
        kafka_cluster_free(&c);
        assert_int_equal(mem_live(), live);
        assert_in_range(n, 1, 20);
    }
}

static void
error_codes(void **state)
{
    (void)state;
    assert_int_equal(kafka_error(0)->action, KAFKA_ERROR_NONE);
    assert_int_equal(kafka_error(46)->action, KAFKA_ERROR_WRITTEN);
    assert_int_equal(kafka_error(10)->action, KAFKA_ERROR_SPLITS);
    assert_int_equal(kafka_error(6)->action, KAFKA_ERROR_MOVES);
    assert_int_equal(kafka_error(29)->action, KAFKA_ERROR_DENIED);
    assert_int_equal(kafka_error(45)->action, KAFKA_ERROR_SEQUENCE);
    assert_int_equal(kafka_error(9999)->action, KAFKA_ERROR_FAILS);
    assert_string_equal(kafka_error(58)->name, "SASL_AUTHENTICATION_FAILED");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaders),        cmocka_unit_test(topics_change),
        cmocka_unit_test(all_or_nothing), cmocka_unit_test(many_topics),
        cmocka_unit_test(no_memory),      cmocka_unit_test(error_codes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
