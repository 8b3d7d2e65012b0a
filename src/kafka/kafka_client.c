/*
 * kafka_client.c: see kafka_client.h.
 */
#include "kafka/kafka_client.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/url.h"

#define REQUEST_MAX (8 * 1024 * 1024)
#define BOOTSTRAP (-1)

struct address {
    char *host;
    uint16_t port;
};

struct kafka_client {
    struct kafka_client_config config;
    struct address addresses[URL_HOSTS_MAX];
    size_t address_count, address_next; /* where the list is begun the next time */
    struct kafka_cluster cluster;
    bool known; /* metadata came at least once */
    int64_t refreshed_at;
    struct kafka_client_conn *conns[KAFKA_CLIENT_CONNS];
    size_t conn_count;
};

enum err
kafka_client_open(struct kafka_client **out, const struct kafka_client_config *config,
                  struct errinfo *info)
{
    struct kafka_client *c = mem_zalloc(sizeof(*c));

    if (c == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for a Kafka client");
    c->config = *config;
    kafka_cluster_init(&c->cluster);
    *out = c;
    return ERR_OK;
}

static void
drop_conn(struct kafka_client *c, size_t i)
{
    kafka_client_conn_free(c->conns[i]);
    mem_free(c->conns[i]);
    c->conns[i] = c->conns[--c->conn_count];
}

void
kafka_client_disconnect(struct kafka_client *c)
{
    while (c->conn_count > 0)
        drop_conn(c, c->conn_count - 1);
}

void
kafka_client_close(struct kafka_client *c)
{
    if (c == NULL)
        return;
    kafka_client_disconnect(c);
    kafka_cluster_free(&c->cluster);
    for (size_t i = 0; i < c->address_count; i++)
        mem_free(c->addresses[i].host);
    mem_free(c);
}

enum err
kafka_client_bootstrap(struct kafka_client *c, struct slice host, uint16_t port)
{
    struct address *address = &c->addresses[c->address_count];

    if (c->address_count == URL_HOSTS_MAX)
        return ERR_NOMEM;
    address->host = mem_text(host);
    address->port = port;
    if (address->host == NULL)
        return ERR_NOMEM;
    c->address_count++;
    return ERR_OK;
}

struct kafka_cluster *
kafka_client_cluster(struct kafka_client *c)
{
    return &c->cluster;
}

static int64_t
now_ms(const struct kafka_client *c)
{
    return clock_mono_ms(c->config.env->clock);
}

bool
kafka_client_stale(const struct kafka_client *c)
{
    return !c->known || now_ms(c) - c->refreshed_at >= KAFKA_CLIENT_AGE_MS;
}

/* ---- connections ---- */

/* A place for one more connection: the one that was used longest ago goes. */
static void
make_place(struct kafka_client *c)
{
    size_t oldest = 0;

    if (c->conn_count < KAFKA_CLIENT_CONNS)
        return;
    for (size_t i = 1; i < c->conn_count; i++) {
        const struct kafka_client_conn *a = c->conns[i], *b = c->conns[oldest];

        if (!a->waiting && (b->waiting || a->used_at < b->used_at))
            oldest = i;
    }
    drop_conn(c, oldest);
}

static enum err
add_conn(struct kafka_client *c, int32_t node, const char *host, uint16_t port,
         struct kafka_client_conn **out, int64_t deadline, struct errinfo *info)
{
    struct kafka_client_conn *conn = mem_alloc(sizeof(*conn));
    enum err err;

    if (conn == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for a connection to %s:%u", host, port);
    make_place(c);
    kafka_client_conn_init(conn, &c->config, node, slice_of(host), port);
    err = kafka_client_conn_open(conn, deadline, info);
    if (err != ERR_OK) {
        kafka_client_conn_free(conn);
        mem_free(conn);
        return err;
    }
    c->conns[c->conn_count++] = conn;
    *out = conn;
    return ERR_OK;
}

/* One whose broker has another address by now is dropped. */
static bool
is_current(const struct kafka_client_conn *conn, const struct kafka_cluster_broker *broker)
{
    return broker == NULL ||
           (conn->port == broker->port && slice_eq(slice_of(conn->host), slice_of(broker->host)));
}

struct kafka_client_conn *
kafka_client_connected(struct kafka_client *c, int32_t node)
{
    for (size_t i = 0; i < c->conn_count; i++) {
        if (c->conns[i]->node != node)
            continue;
        if (is_current(c->conns[i], kafka_cluster_broker(&c->cluster, node)) &&
            kafka_client_conn_usable(c->conns[i]))
            return c->conns[i];
        drop_conn(c, i);
        return NULL;
    }
    return NULL;
}

enum err
kafka_client_dial(struct kafka_client *c, int32_t node, struct kafka_client_conn **out,
                  int64_t deadline, struct errinfo *info)
{
    const struct kafka_cluster_broker *broker = kafka_cluster_broker(&c->cluster, node);
    struct errinfo cause = {ERR_OK, 0, ""};
    enum err err;

    *out = kafka_client_connected(c, node);
    if (*out != NULL)
        return ERR_OK;
    if (broker == NULL)
        return errinfo_set(info, ERR_NAME, "broker %d is not in the cluster's list", (int)node);
    err = add_conn(c, node, broker->host, broker->port, out, deadline, &cause);
    if (err == ERR_OK || err == ERR_DENIED)
        return err == ERR_OK ? err : errinfo_set(info, err, "%s", cause.text);
    return errinfo_set(info, err, "broker %d, which is advertised as %s:%u: %s", (int)node,
                       broker->host, broker->port, cause.text);
}

/* ---- metadata ---- */

static enum err
put_metadata(struct kafka_client *c, const struct kafka_msg_head *head, struct buf *request)
{
    size_t count = c->cluster.topic_count;
    struct slice *names = mem_array(count + 1, sizeof(*names));
    enum err err;

    if (names == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        names[i] = slice_of(c->cluster.topics[i].name);
    err = kafka_msg_metadata(request, head, names, count, true);
    mem_free(names);
    return err;
}

/* Before SASL a broker closes at the first other request without a word. */
static enum err
explain(const struct kafka_client_conn *conn, enum err err, struct errinfo *info)
{
    if (err == ERR_EOF && conn->config->mechanism == KAFKA_SASL_NONE)
        return errinfo_set(info, err,
                           "%s:%u closed the connection; if it wants SASL, give USERNAME and "
                           "PASSWORD",
                           conn->host, conn->port);
    return err;
}

/* A bootstrap address that is a broker's own: its connection is that broker's, no second one is
 * made. */
static void
adopt(struct kafka_client *c, struct kafka_client_conn *conn)
{
    for (size_t i = 0; conn->node == BOOTSTRAP && i < c->cluster.broker_count; i++) {
        const struct kafka_cluster_broker *broker = &c->cluster.brokers[i];

        if (is_current(conn, broker) && kafka_client_connected(c, broker->id) == NULL)
            conn->node = broker->id;
    }
}

static enum err
ask(struct kafka_client *c, struct kafka_client_conn *conn, int64_t deadline, struct errinfo *info)
{
    struct kafka_msg_head head = kafka_client_conn_head(conn, KAFKA_PROTO_METADATA);
    struct buf request;
    struct slice body;
    enum err err;

    if (head.version < 0)
        return errinfo_set(info, ERR_CONFIG, "%s:%u is older than Kafka 0.11", conn->host,
                           conn->port);
    buf_init(&request, REQUEST_MAX);
    err = put_metadata(c, &head, &request);
    if (err == ERR_OK)
        err = kafka_client_conn_call(conn, buf_peek(&request), &body, deadline, info);
    else
        errinfo_set(info, err, "no memory to ask for metadata");
    buf_free(&request);
    if (err != ERR_OK)
        return explain(conn, err, info);
    err = kafka_cluster_update(&c->cluster, body, head.version);
    if (err != ERR_OK) {
        kafka_client_conn_close(conn);
        return errinfo_set(info, err == ERR_SHORT ? ERR_BAD : err,
                           "%s:%u: a malformed answer to Metadata", conn->host, conn->port);
    }
    adopt(c, conn);
    kafka_client_conn_mute(conn, c->cluster.throttle_ms);
    c->known = true;
    c->refreshed_at = now_ms(c);
    return ERR_OK;
}

/* Not worth asking the next one: it is the same everywhere, or nobody waits any more. */
static bool
is_final(enum err err)
{
    return err == ERR_OK || err == ERR_STOP || err == ERR_DENIED || err == ERR_NOMEM;
}

static enum err
ask_connected(struct kafka_client *c, int64_t deadline, struct errinfo *info)
{
    enum err err = ERR_NAME;

    for (size_t i = 0; i < c->conn_count;) {
        if (!c->conns[i]->waiting && kafka_client_conn_usable(c->conns[i])) {
            err = ask(c, c->conns[i], deadline, info);
            if (is_final(err))
                return err;
        }
        if (c->conns[i]->stream == NULL)
            drop_conn(c, i);
        else
            i++;
    }
    return err;
}

/* A fair part of the time left for one of ${left} brokers, so that a dead one does not use up all.
 */
static int64_t
share(const struct kafka_client *c, int64_t deadline, size_t left)
{
    int64_t now = now_ms(c);

    return deadline <= now ? deadline : now + (deadline - now) / (int64_t)left;
}

static enum err
ask_known(struct kafka_client *c, int64_t deadline, struct errinfo *info)
{
    struct kafka_client_conn *conn;
    size_t count = c->cluster.broker_count;
    enum err err = ERR_NAME;

    for (size_t i = 0; i < count && i < c->cluster.broker_count && now_ms(c) < deadline; i++) {
        int64_t until = share(c, deadline, count - i + c->address_count);

        err = kafka_client_dial(c, c->cluster.brokers[i].id, &conn, until, info);
        if (err == ERR_OK)
            err = ask(c, conn, until, info);
        if (is_final(err))
            return err;
    }
    return err;
}

static enum err
ask_bootstrap(struct kafka_client *c, int64_t deadline, struct errinfo *info)
{
    struct kafka_client_conn *conn;
    enum err err = ERR_NAME;

    for (size_t i = 0; i < c->address_count; i++) {
        const struct address *at = &c->addresses[c->address_next];
        int64_t until = share(c, deadline, c->address_count - i);

        c->address_next = (c->address_next + 1) % c->address_count;
        err = add_conn(c, BOOTSTRAP, at->host, at->port, &conn, until, info);
        if (err == ERR_OK)
            err = ask(c, conn, until, info);
        if (is_final(err))
            return err;
    }
    return err;
}

enum err
kafka_client_refresh(struct kafka_client *c, int64_t deadline, struct errinfo *info)
{
    enum err err = ask_connected(c, deadline, info);

    if (!is_final(err))
        err = ask_known(c, deadline, info);
    return is_final(err) ? err : ask_bootstrap(c, deadline, info);
}

/* ---- the producer's id ---- */

static struct kafka_client_conn *
any_conn(struct kafka_client *c)
{
    for (size_t i = 0; i < c->conn_count; i++) {
        if (!c->conns[i]->waiting && kafka_client_conn_usable(c->conns[i]))
            return c->conns[i];
    }
    return NULL;
}

enum err
kafka_client_producer(struct kafka_client *c, struct kafka_msg_producer *producer, int64_t deadline,
                      struct errinfo *info)
{
    struct kafka_client_conn *conn = any_conn(c);
    struct kafka_msg_head head;
    struct slice body;
    struct buf request;
    enum err err = ERR_OK;

    if (conn == NULL) {
        err = kafka_client_refresh(c, deadline, info);
        conn = any_conn(c);
        if (err != ERR_OK || conn == NULL)
            return err != ERR_OK ? err : errinfo_set(info, ERR_EOF, "the connection was closed");
    }
    head = kafka_client_conn_head(conn, KAFKA_PROTO_INIT_PRODUCER_ID);
    if (head.version < 0)
        return errinfo_set(info, ERR_CONFIG, "%s:%u gives no producer ids", conn->host, conn->port);
    buf_init(&request, 1024);
    err = kafka_msg_init_producer_id(&request, &head);
    if (err == ERR_OK)
        err = kafka_client_conn_call(conn, buf_peek(&request), &body, deadline, info);
    buf_free(&request);
    if (err != ERR_OK)
        return err;
    if (kafka_msg_producer_read(body, producer) != ERR_OK) {
        kafka_client_conn_close(conn);
        return errinfo_set(info, ERR_BAD, "%s:%u: a malformed answer to InitProducerId", conn->host,
                           conn->port);
    }
    kafka_client_conn_mute(conn, producer->throttle_ms);
    return ERR_OK;
}

/* ---- with nothing to do ---- */

/* The connections that are open; those that are not are dropped. */
static size_t
open_streams(struct kafka_client *c, struct stream **streams, int64_t *deadline)
{
    size_t n = 0;

    while (n < c->conn_count) {
        int64_t end = clock_after(c->conns[n]->used_at, KAFKA_CLIENT_CONN_IDLE_MS);

        if (c->conns[n]->stream == NULL) {
            drop_conn(c, n);
            continue;
        }
        if (end < *deadline)
            *deadline = end;
        streams[n] = c->conns[n]->stream;
        n++;
    }
    return n;
}

enum err
kafka_client_idle(struct kafka_client *c, int64_t until, struct errinfo *info)
{
    struct stream *streams[KAFKA_CLIENT_CONNS];
    size_t ready, count;
    enum err err;

    for (;;) {
        int64_t deadline = until;

        count = open_streams(c, streams, &deadline);
        if (count == 0)
            return errinfo_set(info, ERR_EOF, "all idle connections were closed");
        err = stream_wait_any(streams, count, &ready, deadline, info);
        if (err == ERR_STOP || (err == ERR_TIMEOUT && deadline == until))
            return err;
        if (err == ERR_OK)
            (void)kafka_client_conn_usable(c->conns[ready]);
        for (size_t i = 0; err != ERR_OK && i < c->conn_count; i++)
            (void)kafka_client_conn_usable(c->conns[i]);
    }
}
