/*
 * kafka_verdict.c: see kafka_verdict.h.
 */
#include "sink/kafka_verdict.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "kafka/kafka_error.h"

/* Tries in a row after which a topic that is not there is the operator's business. */
#define UNKNOWN_TRIES 3

/* Restarts of a batch's sequence before it is left for later. */
#define RESTARTS_MAX 3

/* What is over sooner comes first: the status shows it, and the next try is not held up by the
 * rest. */
static int
rank(enum delivery what)
{
    switch (what) {
    case DELIVERY_TRANSIENT:
        return 4;
    case DELIVERY_THROTTLED:
        return 3;
    case DELIVERY_AUTH:
        return 2;
    case DELIVERY_TARGET:
    case DELIVERY_TOO_LARGE:
    case DELIVERY_REJECTED:
        return 1;
    case DELIVERY_DONE:
        break;
    }
    return 0;
}

void
kafka_verdict_trouble(struct kafka_produce *p, enum delivery what, enum store_error_kind kind,
                      const char *format, ...)
{
    struct kafka_trouble *t = &p->trouble;
    char text[sizeof(t->info.text)];
    va_list args;

    if (t->any && rank(t->outcome.what) >= rank(what))
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    t->any = true;
    outcome_is(&t->outcome, what, kind);
    errinfo_set(&t->info, ERR_BUSY, "%s", text);
}

void
kafka_verdict_link(struct kafka_produce *p, enum err err, const struct errinfo *info)
{
    enum delivery what = DELIVERY_TRANSIENT;
    enum store_error_kind kind = STORE_ERROR_CONNECT;

    if (err == ERR_DENIED) {
        what = DELIVERY_AUTH;
        kind = STORE_ERROR_AUTH;
    } else if (err == ERR_CONFIG) {
        what = DELIVERY_TARGET;
        kind = STORE_ERROR_TARGET;
    } else if (err == ERR_TIMEOUT) {
        kind = STORE_ERROR_TIMEOUT;
    } else if (err == ERR_BAD || err == ERR_RANGE || err == ERR_NOMEM) {
        kind = STORE_ERROR_PROTOCOL;
    }
    kafka_verdict_trouble(p, what, kind, "%s", info->text);
    p->trouble.refresh = p->trouble.moves = true;
}

static const char *
topic_name(const struct kafka_produce *p, size_t topic)
{
    return kafka_client_cluster(p->client)->topics[topic].name;
}

static void
unknown_topic(struct kafka_produce *p, size_t topic, const struct kafka_error *e)
{
    bool lasting = p->cut.topics[topic].unknown >= UNKNOWN_TRIES;

    p->trouble.refresh = p->trouble.moves = true;
    kafka_verdict_trouble(p, lasting ? DELIVERY_TARGET : DELIVERY_TRANSIENT, STORE_ERROR_TARGET,
                          "topic \"%.80s\" is not known to the cluster: %s", topic_name(p, topic),
                          e->hint);
}

/* A code that leaves the batch as it is. */
static void
keep(struct kafka_produce *p, size_t topic, const char *where, int16_t code)
{
    const struct kafka_error *e = kafka_error(code);
    enum delivery what = DELIVERY_TRANSIENT;
    enum store_error_kind kind = code == 7 ? STORE_ERROR_TIMEOUT : STORE_ERROR_TARGET;

    if (e->action == KAFKA_ERROR_UNKNOWN) {
        unknown_topic(p, topic, e);
        return;
    }
    if (e->action == KAFKA_ERROR_MOVES)
        p->trouble.refresh = p->trouble.moves = true;
    if (e->action == KAFKA_ERROR_DENIED || e->action == KAFKA_ERROR_SASL) {
        what = DELIVERY_AUTH;
        kind = STORE_ERROR_AUTH;
    } else if (e->action == KAFKA_ERROR_FAILS) {
        what = DELIVERY_TARGET;
    }
    kafka_verdict_trouble(p, what, kind, "%s: error %d, %s%s%s", where, code, e->name,
                          e->hint == NULL ? "" : ": ", e->hint == NULL ? "" : e->hint);
}

void
kafka_verdict_topic(struct kafka_produce *p, size_t topic)
{
    int16_t code = kafka_client_cluster(p->client)->topics[topic].error;
    char where[100];

    (void)snprintf(where, sizeof(where), "topic \"%.80s\"", topic_name(p, topic));
    keep(p, topic, where, code == 0 ? 5 : code);
}

/* ---- batches that are changed ---- */

static void
describe(const struct kafka_produce *p, size_t b, char *out, size_t size)
{
    const struct kafka_cut_batch *batch = &p->cut.batches[b];

    (void)snprintf(out, size, "partition %u of topic \"%.60s\"", (unsigned)batch->partition,
                   topic_name(p, batch->topic));
}

/* The broker will never take its points. */
static void
refuse_all(struct kafka_produce *p, struct round *round, size_t b, int16_t code)
{
    const struct kafka_cut_batch *batch = &p->cut.batches[b];
    const struct kafka_error *e = kafka_error(code);

    for (size_t i = 0; i < batch->count; i++)
        kafka_cut_refuse(&p->cut, round, p->cut.order[batch->first + i].point, "error %d, %s%s%s",
                         code, e->name, e->hint == NULL ? "" : ": ",
                         e->hint == NULL ? "" : e->hint);
    kafka_cut_unstamp(&p->cut, b);
    kafka_cut_resolve(&p->cut, round, b, VERDICT_REFUSED);
}

static enum err
split(struct kafka_produce *p, struct round *round, size_t b, int16_t code, struct errinfo *info)
{
    struct kafka_cut_batch *batch = &p->cut.batches[b];
    size_t half = batch->raw_size / 2;

    if (batch->count == 1) {
        refuse_all(p, round, b, code);
        return ERR_OK;
    }
    p->cut.topics[batch->topic].max_bytes = half;
    kafka_cut_unstamp(&p->cut, b);
    return kafka_cut_again(&p->cut, round, b, half, UINT32_MAX, info);
}

/* Points of the records that the answer names. Returns how many records it named. */
static size_t
refuse_named(struct kafka_produce *p, struct round *round, size_t b,
             struct kafka_msg_result *result)
{
    const struct kafka_cut_batch *batch = &p->cut.batches[b];
    struct slice why;
    int32_t index;
    size_t named = 0;

    while (kafka_msg_next_refused(result, &index, &why)) {
        for (size_t i = 0; i < batch->count; i++) {
            struct kafka_cut_member m = p->cut.order[batch->first + i];

            if ((int64_t)m.record != index)
                continue;
            kafka_cut_refuse(&p->cut, round, m.point, "error %d, %s: %.*s", result->error,
                             kafka_error(result->error)->name, why.n > 80 ? 80 : (int)why.n,
                             (const char *)why.p);
            named++;
        }
    }
    return named;
}

static enum err
bad_records(struct kafka_produce *p, struct round *round, size_t b, struct kafka_msg_result *result,
            struct errinfo *info)
{
    struct kafka_cut_batch *batch = &p->cut.batches[b];
    size_t limit = p->cut.max_bytes;
    char where[120];

    if (refuse_named(p, round, b, result) > 0) {
        kafka_cut_unstamp(&p->cut, b);
        return kafka_cut_again(&p->cut, round, b, limit, UINT32_MAX, info);
    }
    if (batch->records > 1) {
        kafka_cut_unstamp(&p->cut, b);
        return kafka_cut_again(&p->cut, round, b, limit, batch->records / 2, info);
    }
    if (p->delivered_any) {
        refuse_all(p, round, b, result->error);
        return ERR_OK;
    }
    describe(p, b, where, sizeof(where));
    kafka_verdict_trouble(p, DELIVERY_TARGET, STORE_ERROR_REJECTED, "%s: error %d, %s: %s", where,
                          result->error, kafka_error(result->error)->name,
                          kafka_error(result->error)->hint);
    return ERR_OK;
}

/* Sequence numbers of the partition begin anew under the next epoch. Nothing of it is in flight. */
static void
restart(struct kafka_produce *p, size_t b, bool new_producer)
{
    struct kafka_cut_batch *batch = &p->cut.batches[b];
    struct kafka_cut_lane *lane = kafka_cut_lane(&p->cut, batch);

    batch->stamped = false;
    if (new_producer) {
        lane->producer = -1;
        p->producer = -1;
    } else {
        lane->gap = true;
    }
}

static void
go_plain(struct kafka_produce *p, size_t b)
{
    struct log_line line = {.event = "not_idempotent", .sink = p->sink};

    if (p->idempotent)
        log_event(
            LOG_WARN, &line,
            "the cluster does not let this user produce idempotently: duplicates are possible");
    p->idempotent = false;
    p->cut.batches[b].stamped = false;
}

enum err
kafka_verdict_result(struct kafka_produce *p, struct round *round, size_t b,
                     struct kafka_msg_result *result, struct errinfo *info)
{
    struct kafka_cut_batch *batch = &p->cut.batches[b];
    enum kafka_error_action action = kafka_error(result->error)->action;
    char where[120];

    switch (action) {
    case KAFKA_ERROR_NONE:
    case KAFKA_ERROR_WRITTEN:
        p->cut.topics[batch->topic].unknown = 0;
        p->delivered_any = true;
        kafka_cut_resolve(&p->cut, round, b, VERDICT_DELIVERED);
        return ERR_OK;
    case KAFKA_ERROR_SPLITS:
        return split(p, round, b, result->error, info);
    case KAFKA_ERROR_RECORDS:
        return bad_records(p, round, b, result, info);
    case KAFKA_ERROR_SEQUENCE:
    case KAFKA_ERROR_PRODUCER:
    case KAFKA_ERROR_PLAIN:
        if (batch->restarts++ < RESTARTS_MAX) {
            if (action == KAFKA_ERROR_PLAIN)
                go_plain(p, b);
            else
                restart(p, b, action == KAFKA_ERROR_PRODUCER);
            return ERR_OK;
        }
        batch->restarts = 0;
        break;
    case KAFKA_ERROR_RETRIES:
    case KAFKA_ERROR_MOVES:
    case KAFKA_ERROR_UNKNOWN:
    case KAFKA_ERROR_DENIED:
    case KAFKA_ERROR_SASL:
    case KAFKA_ERROR_VERSION:
    case KAFKA_ERROR_FAILS:
        break;
    }
    describe(p, b, where, sizeof(where));
    keep(p, batch->topic, where, result->error);
    return ERR_OK;
}
