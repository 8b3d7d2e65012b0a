/*
 * kafka_produce_pass.c: one batch of each partition sent and answered for. See kafka_produce.h.
 */
#include "sink/kafka_produce_internal.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "kafka/kafka_error.h"
#include "kafka/kafka_record.h"
#include "sink/kafka_verdict.h"

/* Bytes of one request, unless one batch alone has more: all that the smallest of brokers takes. */
#define REQUEST_BYTES 1000000

/* A batch that is next in its partition, and where it goes. */
struct kafka_item {
    size_t batch, topic;
    int32_t node;
    bool sent;
};

/* A request that waits for its answer: items [first, first + count). */
struct flight {
    struct kafka_client_conn *conn;
    size_t first, count;
    int16_t version;
    int64_t deadline;
};

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

/* ---- the producer's id ---- */

static void
say_plain(struct kafka_produce *p, const char *why)
{
    struct log_line line = {.event = "not_idempotent", .sink = p->sink};

    p->idempotent = false;
    log_event(LOG_WARN, &line, "%s: duplicates are possible", why);
}

/* False: there is none now; p->trouble says why. */
static bool
have_producer(struct kafka_produce *p)
{
    struct kafka_msg_producer producer;
    const struct kafka_error *e;
    struct errinfo info = {ERR_OK, 0, ""};
    enum err err;

    if (!p->idempotent || p->producer >= 0)
        return true;
    err = kafka_client_producer(p->client, &producer, answer_deadline(p), &info);
    if (err == ERR_CONFIG) {
        say_plain(p, "the cluster has no idempotent producers");
        return true;
    }
    if (err != ERR_OK) {
        kafka_verdict_link(p, err, &info);
        return false;
    }
    e = kafka_error(producer.error);
    if (e->action == KAFKA_ERROR_PLAIN) {
        say_plain(p, "the cluster does not let this user produce idempotently");
        return true;
    }
    if (producer.error != 0 || producer.id < 0 || producer.epoch < 0) {
        kafka_verdict_trouble(p, DELIVERY_TRANSIENT, STORE_ERROR_TARGET,
                              "no producer id: error %d, %s", producer.error, e->name);
        p->trouble.moves = e->action == KAFKA_ERROR_RETRIES;
        return false;
    }
    p->producer = producer.id;
    p->epoch = producer.epoch;
    return true;
}

/* The lane's id and epoch, made fit for its next batch. False: a new id is needed first. */
static bool
ready_lane(struct kafka_produce *p, struct kafka_cut_lane *lane)
{
    if (lane->gap && lane->producer >= 0 && lane->epoch == INT16_MAX) {
        if (lane->producer == p->producer)
            p->producer = -1;
        lane->producer = -1;
    }
    if (lane->producer < 0) {
        if (p->producer < 0)
            return false;
        lane->producer = p->producer;
        lane->epoch = p->epoch;
        lane->sequence = 0;
    } else if (lane->gap) {
        lane->epoch++;
        lane->sequence = 0;
    }
    lane->gap = false;
    return true;
}

/* Give a batch its number, once. */
static bool
stamp(struct kafka_produce *p, struct kafka_cut_batch *b)
{
    struct kafka_cut_lane *lane = kafka_cut_lane(&p->cut, b);
    uint8_t *bytes = p->cut.bytes.data + p->cut.bytes.head + b->at;

    if (b->stamped)
        return true;
    if (!p->idempotent) {
        kafka_record_stamp(bytes, b->size, -1, -1, -1);
    } else {
        if (!ready_lane(p, lane))
            return false;
        kafka_record_stamp(bytes, b->size, lane->producer, lane->epoch, lane->sequence);
        b->sequence = lane->sequence;
        lane->sequence = kafka_record_next_sequence(lane->sequence, b->records);
    }
    b->stamped = true;
    return true;
}

/* ---- what can be sent ---- */

static int
by_node(const void *left, const void *right)
{
    const struct kafka_item *a = left, *b = right;

    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->topic != b->topic)
        return a->topic < b->topic ? -1 : 1;
    return a->batch < b->batch ? -1 : a->batch > b->batch;
}

static bool
room_for_items(struct kafka_produce *p, size_t count)
{
    struct kafka_item *items;

    if (count <= p->items_cap)
        return true;
    items = mem_resize(p->items, count * sizeof(*items));
    if (items == NULL)
        return false;
    p->items = items;
    p->items_cap = count;
    return true;
}

static void
no_leader(struct kafka_produce *p, const struct kafka_cut_batch *b)
{
    const struct kafka_cluster_topic *t = &kafka_client_cluster(p->client)->topics[b->topic];

    kafka_verdict_trouble(p, DELIVERY_TRANSIENT, STORE_ERROR_TARGET,
                          "partition %u of topic \"%.60s\" has no leader", (unsigned)b->partition,
                          t->name);
    p->trouble.refresh = p->trouble.moves = true;
}

/* The first batch of each partition that has a leader. A partition that is gone gives its points
 * back. */
static size_t
collect(struct kafka_produce *p)
{
    struct kafka_cluster *cluster = kafka_client_cluster(p->client);
    size_t count = 0;

    for (size_t i = 0; i < p->cut.batch_count; i++) {
        struct kafka_cut_batch *b = &p->cut.batches[i];
        const struct kafka_cluster_broker *leader;

        if (b->resolved || kafka_cut_lane(&p->cut, b)->batch != i)
            continue;
        if (b->partition >= cluster->topics[b->topic].partition_count) {
            kafka_cut_release(&p->cut, i);
            continue;
        }
        leader = kafka_cluster_leader(cluster, b->topic, (int32_t)b->partition);
        if (leader == NULL)
            no_leader(p, b);
        else if (stamp(p, b))
            p->items[count++] = (struct kafka_item){i, b->topic, leader->id, false};
    }
    if (count > 1)
        qsort(p->items, count, sizeof(*p->items), by_node);
    return count;
}

/* How many of the items from ${first} on go into one request. */
static size_t
request_size(const struct kafka_produce *p, size_t first, size_t count)
{
    size_t bytes = 0, n = 0;

    while (first + n < count && p->items[first + n].node == p->items[first].node) {
        bytes += p->cut.batches[p->items[first + n].batch].size;
        if (n > 0 && bytes > REQUEST_BYTES)
            break;
        n++;
    }
    return n;
}

static size_t
node_size(const struct kafka_produce *p, size_t first, size_t count)
{
    size_t n = 0;

    while (first + n < count && p->items[first + n].node == p->items[first].node)
        n++;
    return n;
}

/* ---- sending ---- */

/* The pieces of a request: its head between the batches. */
static enum err
write_request(struct kafka_produce *p, struct flight *f, struct errinfo *info)
{
    struct kafka_msg_head head = kafka_client_conn_head(f->conn, KAFKA_PROTO_PRODUCE);
    struct kafka_msg_part *parts = mem_array(f->count, sizeof(*parts));
    size_t *ends = mem_array(f->count, sizeof(*ends)), at = 0;
    struct slice *pieces = mem_array(f->count * 2, sizeof(*pieces));
    enum err err = parts == NULL || ends == NULL || pieces == NULL ? ERR_NOMEM : ERR_OK;

    for (size_t i = 0; err == ERR_OK && i < f->count; i++) {
        const struct kafka_cut_batch *b = &p->cut.batches[p->items[f->first + i].batch];

        parts[i] = (struct kafka_msg_part){
            slice_of(kafka_client_cluster(p->client)->topics[b->topic].name), (int32_t)b->partition,
            slice_make(buf_peek(&p->cut.bytes).p + b->at, b->size)};
    }
    buf_clear(&p->head);
    if (err == ERR_OK)
        err = kafka_msg_produce(&p->head, &head, p->acks, (int32_t)(p->timeout_ms / 4 * 3), parts,
                                f->count, ends);
    if (err != ERR_OK)
        errinfo_set(info, err, "no memory for a request");
    for (size_t i = 0; err == ERR_OK && i < f->count; at = ends[i++]) {
        pieces[2 * i] = slice_make(buf_peek(&p->head).p + at, ends[i] - at);
        pieces[2 * i + 1] = parts[i].records;
    }
    if (err == ERR_OK)
        err = kafka_client_conn_write(f->conn, pieces, f->count * 2, f->deadline, info);
    f->version = head.version;
    mem_free(parts);
    mem_free(ends);
    mem_free(pieces);
    return err;
}

/* Without acknowledgement what is written counts as delivered. */
static void
trust(struct kafka_produce *p, struct round *round, const struct flight *f)
{
    for (size_t i = f->first; i < f->first + f->count; i++)
        kafka_cut_resolve(&p->cut, round, p->items[i].batch, VERDICT_DELIVERED);
    p->delivered_any = true;
}

/* Send one request to the leader of items[first]. True: its answer is to come. */
static bool
launch(struct kafka_produce *p, struct round *round, struct flight *f)
{
    struct errinfo info = {ERR_OK, 0, ""};
    enum err err;

    if (now_ms(p) < f->conn->muted_until) {
        kafka_verdict_trouble(p, DELIVERY_THROTTLED, STORE_ERROR_THROTTLED,
                              "%s:%u asks to be left alone: a quota", f->conn->host, f->conn->port);
        if (p->trouble.outcome.what == DELIVERY_THROTTLED)
            p->trouble.outcome.retry_after_ms = f->conn->muted_until - now_ms(p);
        return false;
    }
    if (kafka_proto_version(&f->conn->versions, KAFKA_PROTO_PRODUCE) < 0) {
        kafka_verdict_trouble(p, DELIVERY_TARGET, STORE_ERROR_TARGET,
                              "%s:%u is older than Kafka 0.11: it takes no record batches",
                              f->conn->host, f->conn->port);
        return false;
    }
    f->deadline = answer_deadline(p);
    err = write_request(p, f, &info);
    if (err != ERR_OK) {
        kafka_verdict_link(p, err, &info);
        return false;
    }
    for (size_t i = f->first; i < f->first + f->count; i++)
        p->items[i].sent = true;
    kafka_client_conn_sent(f->conn, p->acks != 0);
    if (p->acks == 0)
        trust(p, round, f);
    return p->acks != 0;
}

/* ---- answers ---- */

static struct kafka_item *
find_item(struct kafka_produce *p, const struct flight *f, const struct kafka_msg_result *result)
{
    for (size_t i = f->first; i < f->first + f->count; i++) {
        struct kafka_item *item = &p->items[i];
        const char *name = kafka_client_cluster(p->client)->topics[item->topic].name;

        if (item->sent && (int64_t)p->cut.batches[item->batch].partition == result->index &&
            slice_eq(slice_of(name), result->topic))
            return item;
    }
    return NULL;
}

/* The answer is read twice: whole first, so that half a verdict never counts. */
static bool
well_formed(struct slice body, int16_t version, int32_t *throttle_ms)
{
    struct kafka_msg_produced m;
    struct kafka_msg_result result;

    kafka_msg_produced_open(&m, body, version);
    while (kafka_msg_next_result(&m, &result))
        continue;
    if (kafka_msg_produced_end(&m) != ERR_OK)
        return false;
    *throttle_ms = m.throttle_ms;
    return true;
}

static enum err
take_answer(struct kafka_produce *p, struct round *round, struct flight *f, struct slice body,
            struct errinfo *info)
{
    struct kafka_msg_produced m;
    struct kafka_msg_result result;
    int32_t throttle_ms = 0;
    enum err err = ERR_OK;

    if (!well_formed(body, f->version, &throttle_ms)) {
        kafka_verdict_trouble(p, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL,
                              "%s:%u: a malformed answer to Produce", f->conn->host, f->conn->port);
        kafka_client_conn_close(f->conn);
        return ERR_OK;
    }
    if (f->version >= 6) /* older brokers have waited themselves */
        kafka_client_conn_mute(f->conn, throttle_ms);
    kafka_msg_produced_open(&m, body, f->version);
    while (err == ERR_OK && kafka_msg_next_result(&m, &result)) {
        struct kafka_item *item = find_item(p, f, &result);

        if (item == NULL)
            continue;
        item->sent = false;
        if (kafka_error(result.error)->action == KAFKA_ERROR_VERSION)
            kafka_client_conn_close(f->conn);
        err = kafka_verdict_result(p, round, item->batch, &result, info);
    }
    for (size_t i = f->first; i < f->first + f->count; i++) {
        if (p->items[i].sent)
            kafka_verdict_trouble(p, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL,
                                  "%s:%u does not answer for all partitions", f->conn->host,
                                  f->conn->port);
    }
    return err;
}

/* A connection that failed while its answer was waited for: what it carried may have been written.
 */
static void
crash(struct kafka_produce *p, struct flight *f, enum err err, const struct errinfo *info)
{
    kafka_client_conn_close(f->conn);
    kafka_verdict_link(p, err, info);
}

/* Those that waited too long. */
static void
expire(struct kafka_produce *p, struct flight *flights, size_t *count)
{
    int64_t now = now_ms(p);

    for (size_t i = 0; i < *count;) {
        struct errinfo info = {ERR_OK, 0, ""};

        if (flights[i].deadline > now) {
            i++;
            continue;
        }
        errinfo_set(&info, ERR_TIMEOUT, "%s:%u did not answer in time", flights[i].conn->host,
                    flights[i].conn->port);
        crash(p, &flights[i], ERR_TIMEOUT, &info);
        flights[i] = flights[--*count];
    }
}

static enum err
next_ready(struct kafka_produce *p, struct flight *flights, size_t count, size_t *ready)
{
    struct stream *streams[KAFKA_PRODUCE_FLIGHTS];
    struct errinfo info = {ERR_OK, 0, ""};
    int64_t deadline = DEADLINE_NEVER;
    enum err err;

    for (size_t i = 0; i < count; i++) {
        streams[i] = flights[i].conn->stream;
        if (flights[i].deadline < deadline)
            deadline = flights[i].deadline;
    }
    err = stream_wait_any(streams, count, ready, deadline, &info);
    if (err == ERR_OK || err == ERR_TIMEOUT || err == ERR_STOP)
        return err;
    for (size_t i = 0; i < count; i++)
        crash(p, &flights[i], err, &info);
    return err;
}

/* Wait for all answers. ERR_STOP: told to give up. ERR_NOMEM. */
static enum err
land(struct kafka_produce *p, struct round *round, struct flight *flights, size_t count,
     struct errinfo *info)
{
    while (count > 0) {
        struct errinfo cause = {ERR_OK, 0, ""};
        struct slice body;
        size_t i;
        enum err err = next_ready(p, flights, count, &i);

        if (err == ERR_TIMEOUT) {
            expire(p, flights, &count);
            continue;
        }
        if (err != ERR_OK && err != ERR_STOP)
            return ERR_OK; /* all of them crashed */
        if (err == ERR_OK)
            err = kafka_client_conn_receive(flights[i].conn, &body, flights[i].deadline, &cause);
        if (err == ERR_STOP) {
            kafka_client_disconnect(p->client);
            return errinfo_set(info, ERR_STOP, "told to give up");
        }
        if (err != ERR_OK)
            crash(p, &flights[i], err, &cause);
        else if (take_answer(p, round, &flights[i], body, info) != ERR_OK)
            return ERR_NOMEM;
        flights[i] = flights[--count];
    }
    return ERR_OK;
}

/* Send to the leaders: first those that are connected, so that a dead one holds up nobody. */
static size_t
launch_all(struct kafka_produce *p, struct round *round, size_t count, bool connected,
           struct flight *flights, size_t in_flight)
{
    for (size_t first = 0; first < count && in_flight < KAFKA_PRODUCE_FLIGHTS;
         first += node_size(p, first, count)) {
        struct flight *f = &flights[in_flight];
        struct errinfo info = {ERR_OK, 0, ""};
        enum err err = ERR_OK;

        *f = (struct flight){.first = first, .count = request_size(p, first, count)};
        if (p->items[first].sent)
            continue;
        if (connected)
            f->conn = kafka_client_connected(p->client, p->items[first].node);
        else
            err = kafka_client_dial(p->client, p->items[first].node, &f->conn, answer_deadline(p),
                                    &info);
        if (err != ERR_OK)
            kafka_verdict_link(p, err, &info);
        else if (f->conn != NULL && launch(p, round, f))
            in_flight++;
    }
    return in_flight;
}

/* One batch of each partition. ERR_STOP, ERR_NOMEM; what else is in the way is in p->trouble. */
enum err
kafka_produce_pass(struct kafka_produce *p, struct round *round, struct errinfo *info)
{
    struct flight flights[KAFKA_PRODUCE_FLIGHTS];
    size_t count, in_flight;

    p->trouble = (struct kafka_trouble){.any = false};
    if (!have_producer(p))
        return ERR_OK;
    if (!room_for_items(p, p->cut.batch_count))
        return errinfo_set(info, ERR_NOMEM, "no memory for a list of requests");
    count = collect(p);
    in_flight = launch_all(p, round, count, true, flights, 0);
    in_flight = launch_all(p, round, count, false, flights, in_flight);
    return land(p, round, flights, in_flight, info);
}
