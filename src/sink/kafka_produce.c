/*
 * kafka_produce.c: see kafka_produce.h.
 */
#include "sink/kafka_produce.h"

#include "base/clock.h"
#include "base/mem.h"
#include "kafka/kafka_error.h"
#include "sink/kafka_produce_internal.h"
#include "sink/kafka_verdict.h"

/* Pauses before a leader is looked for again, within one try of the runner. */
#define FIND_PAUSE_MS 100
#define FIND_TRIES 4

void
kafka_produce_free(struct kafka_produce *p)
{
    kafka_client_close(p->client);
    kafka_cut_free(&p->cut);
    buf_free(&p->head);
    mem_free(p->items);
}

static int64_t
now_ms(const struct kafka_produce *p)
{
    return clock_mono_ms(p->env->stream.clock);
}

static int64_t
answer_deadline(const struct kafka_produce *p)
{
    return clock_after(now_ms(p), p->timeout_ms);
}

/* ---- a round ---- */

static enum err
refresh(struct kafka_produce *p, struct errinfo *info)
{
    struct errinfo cause = {ERR_OK, 0, ""};
    enum err err = kafka_client_refresh(p->client, answer_deadline(p), &cause);

    if (err == ERR_OK)
        return ERR_OK;
    if (err == ERR_STOP)
        return errinfo_set(info, err, "told to give up");
    p->trouble = (struct kafka_trouble){.any = false};
    kafka_verdict_link(p, err, &cause);
    p->trouble.moves = false; /* no broker at all: not over within a second */
    return err;
}

/* Topics of which nothing is known, now or still. */
static bool
some_unknown(struct kafka_produce *p)
{
    const struct kafka_cluster *cluster = kafka_client_cluster(p->client);

    for (size_t i = 0; i < cluster->topic_count; i++) {
        if (cluster->topics[i].partition_count == 0)
            return true;
    }
    return false;
}

/* Why points could not be cut. */
static void
blame_topics(struct kafka_produce *p, const struct round *round, size_t from, size_t to)
{
    size_t last = SIZE_MAX;

    for (size_t i = from; i < to; i++) {
        if (!round_is_open(round, i) || p->cut.taken[i] || p->cut.topic_of[i] == last)
            continue;
        last = p->cut.topic_of[i];
        kafka_verdict_topic(p, last);
    }
}

/* What is left of [from, to): cut, sent, answered. ERR_OK with p->trouble.any: something is in the
 * way. */
static enum err
drain(struct kafka_produce *p, struct round *round, size_t from, size_t to, struct errinfo *info)
{
    struct kafka_cluster *cluster = kafka_client_cluster(p->client);
    size_t left;
    enum err err;

    do {
        err = kafka_cut_make(&p->cut, round, from, to, cluster, &left, info);
        if (err == ERR_OK)
            err = kafka_produce_pass(p, round, info);
        if (err == ERR_OK && left > 0)
            blame_topics(p, round, from, to);
    } while (err == ERR_OK && !p->trouble.any && round_count(round, from, to, VERDICT_OPEN) > 0);
    return err;
}

static enum err
give_outcome(const struct kafka_produce *p, struct outcome *outcome, struct errinfo *info)
{
    *outcome = p->trouble.outcome;
    return errinfo_set(info, ERR_BUSY, "%s", p->trouble.info.text);
}

/* Each topic that is still not there, once a try. */
static void
count_unknown(struct kafka_produce *p)
{
    const struct kafka_cluster *cluster = kafka_client_cluster(p->client);

    for (size_t i = 0; i < cluster->topic_count && i < p->cut.topics_cap; i++) {
        if (kafka_error(cluster->topics[i].error)->action == KAFKA_ERROR_UNKNOWN)
            p->cut.topics[i].unknown++;
        else
            p->cut.topics[i].unknown = 0;
    }
}

static enum err
prepare(struct kafka_produce *p, struct round *round, size_t from, size_t to, struct errinfo *info)
{
    enum err err = kafka_cut_begin(&p->cut, round);

    if (err == ERR_OK)
        err = kafka_cut_name(&p->cut, round, from, to, kafka_client_cluster(p->client), info);
    else
        errinfo_set(info, err, "no memory for a round");
    if (err == ERR_OK && (kafka_client_stale(p->client) || some_unknown(p)))
        err = refresh(p, info);
    return err;
}

/* All points have their verdict. One of those refused is named, with the words that are shown for
 * it. */
static enum err
tell_refused(struct kafka_produce *p, struct round *round, struct outcome *outcome,
             struct errinfo *info)
{
    size_t i = p->cut.refused;

    p->cut.refused = KAFKA_CUT_NONE;
    round->verdicts[i] = VERDICT_OPEN;
    outcome_is(outcome, DELIVERY_REJECTED, STORE_ERROR_REJECTED);
    outcome->from = i;
    outcome->to = i + 1;
    outcome->names_points = true;
    return errinfo_set(info, ERR_DENIED, "%s", p->cut.why.text);
}

enum err
kafka_produce_deliver(struct kafka_produce *p, struct round *round, size_t from, size_t to,
                      struct outcome *outcome, struct errinfo *info)
{
    int64_t give_up_at = answer_deadline(p), pause_ms = FIND_PAUSE_MS;
    enum err err;

    outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
    p->trouble = (struct kafka_trouble){.any = false};
    err = prepare(p, round, from, to, info);
    for (int tries = 0; err == ERR_OK; tries++, pause_ms *= 2) {
        err = drain(p, round, from, to, info);
        if (err != ERR_OK || !p->trouble.any || !p->trouble.moves || tries == FIND_TRIES ||
            now_ms(p) >= give_up_at)
            break;
        if (stream_pause(&p->env->stream, clock_after(now_ms(p), pause_ms)) == ERR_STOP)
            return errinfo_set(info, ERR_STOP, "told to give up");
        err = refresh(p, info);
    }
    if (p->trouble.any) {
        count_unknown(p);
        return give_outcome(p, outcome, info);
    }
    if (err != ERR_OK)
        return err;
    if (p->cut.refused != KAFKA_CUT_NONE)
        return tell_refused(p, round, outcome, info);
    outcome_is(outcome, DELIVERY_DONE, STORE_ERROR_TARGET);
    return ERR_OK;
}

/* ---- connecting ---- */

/* One leader of the only topic is enough to say that it works: a second that is down is for the
 * round to see. */
static enum err
reach_a_leader(struct kafka_produce *p, size_t topic, int64_t deadline, struct errinfo *info)
{
    const struct kafka_cluster_topic *t = &kafka_client_cluster(p->client)->topics[topic];
    struct kafka_client_conn *conn;
    enum err err = ERR_OK;

    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct kafka_cluster_broker *leader =
            kafka_cluster_leader(kafka_client_cluster(p->client), topic, (int32_t)i);

        if (leader == NULL)
            continue;
        err = kafka_client_dial(p->client, leader->id, &conn, deadline, info);
        if (err == ERR_OK || err == ERR_STOP)
            break;
    }
    return err;
}

static enum err
look_at_topic(struct kafka_produce *p, int64_t deadline, struct outcome *outcome,
              struct errinfo *info)
{
    struct kafka_cluster *cluster = kafka_client_cluster(p->client);
    struct errinfo cause = {ERR_OK, 0, ""};
    size_t topic;
    enum err err = kafka_cluster_topic(cluster, p->topic, &topic);

    if (err == ERR_OK && cluster->topics[topic].partition_count == 0) {
        kafka_verdict_topic(p, topic);
        count_unknown(p);
        return give_outcome(p, outcome, info);
    }
    if (err == ERR_OK)
        err = reach_a_leader(p, topic, deadline, &cause);
    if (err == ERR_OK || err == ERR_STOP)
        return err;
    kafka_verdict_link(p, err, &cause);
    return give_outcome(p, outcome, info);
}

/* A topic that is made when it is asked for is there a moment later. */
static enum err
refresh_twice(struct kafka_produce *p, int64_t deadline, struct errinfo *info)
{
    struct errinfo cause = {ERR_OK, 0, ""};
    enum err err = ERR_OK;

    for (int tries = 0; err == ERR_OK && tries < 2; tries++) {
        err = kafka_client_refresh(p->client, deadline, &cause);
        if (err != ERR_OK || !some_unknown(p))
            break;
        if (tries == 0)
            err = stream_pause(&p->env->stream, clock_after(now_ms(p), 2 * FIND_PAUSE_MS));
        if (err == ERR_TIMEOUT)
            err = ERR_OK;
    }
    if (err != ERR_OK && err != ERR_STOP)
        kafka_verdict_link(p, err, &cause);
    return err == ERR_STOP ? errinfo_set(info, err, "told to stop") : err;
}

enum err
kafka_produce_connect(struct kafka_produce *p, int64_t deadline, struct outcome *outcome,
                      struct errinfo *info)
{
    size_t topic;
    enum err err = ERR_OK;

    outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_CONNECT);
    p->trouble = (struct kafka_trouble){.any = false};
    if (p->topic.n > 0)
        err = kafka_cut_topic(&p->cut, p->topic, kafka_client_cluster(p->client), &topic, info);
    if (err != ERR_OK)
        return err;
    err = refresh_twice(p, deadline, info);
    if (p->trouble.any)
        return give_outcome(p, outcome, info);
    if (err != ERR_OK || p->topic.n == 0)
        return err;
    return look_at_topic(p, deadline, outcome, info);
}
