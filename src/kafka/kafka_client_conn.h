/*
 * kafka_client_conn.h: one connection to one broker: dial, versions, SASL, a request and its
 * answer.
 *
 * At most one request is in flight. Whatever goes wrong but a wait that was told to stop closes the
 * connection: after half a frame nothing on it can be believed.
 * Not for: which broker, and what an answer means; that is kafka_client.h and its caller.
 */
#ifndef SINKD_KAFKA_KAFKA_CLIENT_CONN_H
#define SINKD_KAFKA_KAFKA_CLIENT_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/secret.h"
#include "base/slice.h"
#include "kafka/kafka_msg.h"
#include "kafka/kafka_proto.h"
#include "kafka/kafka_sasl.h"
#include "net/stream.h"

/* What all connections of a client share; outlives them, and so does what it points to. */
struct kafka_client_config {
    const struct stream_env *env;
    const struct tls_client *tls; /* NULL: plain TCP */
    struct slice client_id;
    enum kafka_sasl_mechanism mechanism;
    struct slice user;
    const struct secret *password;
};

/* A connection whose last use is this long ago is given up: load balancers and brokers drop idle
 * ones after 4 to 10 minutes, some without a word. */
#define KAFKA_CLIENT_CONN_IDLE_MS 180000

struct kafka_client_conn {
    const struct kafka_client_config *config;
    int32_t node;   /* -1: not known, a bootstrap address */
    char host[256]; /* where it goes */
    uint16_t port;
    struct stream *stream; /* NULL: closed */
    struct kafka_proto_versions versions;
    struct buf in;
    size_t used;         /* private: bytes of ${in} that the last answer took */
    int32_t correlation; /* private: of the last request */
    bool unanswered;     /* private: requests were sent that need no answer */
    bool waiting;        /* a request waits for its answer */
    int64_t used_at;
    int64_t renew_at;    /* the session ends then: connect again */
    int64_t muted_until; /* the broker asked to be left alone until then */
};

void kafka_client_conn_init(struct kafka_client_conn *c, const struct kafka_client_config *config,
                            int32_t node, struct slice host, uint16_t port);
void kafka_client_conn_free(struct kafka_client_conn *c);

/*
 * kafka_client_conn_open(c, deadline, info): dial and shake hands.
 * Errors: those of stream_connect; ERR_DENIED (credentials or mechanism refused); ERR_CONFIG (the
 * broker is too old for what is asked of it); ERR_BAD, ERR_RANGE, ERR_EOF, ERR_IO, ERR_TIMEOUT,
 * ERR_STOP, ERR_NOMEM.
 */
enum err kafka_client_conn_open(struct kafka_client_conn *c, int64_t deadline,
                                struct errinfo *info) MUST_USE;
void kafka_client_conn_close(struct kafka_client_conn *c);

/* kafka_client_conn_usable(c): open, and as far as can be seen without a wait still good. One that
 * is not is closed. */
bool kafka_client_conn_usable(struct kafka_client_conn *c);

/* kafka_client_conn_head(c, api): what the next request begins with. Its version is -1 when the
 * broker does not speak ${api}. */
struct kafka_msg_head kafka_client_conn_head(struct kafka_client_conn *c, enum kafka_proto_api api);

/* kafka_client_conn_write(c, parts, count, deadline, info): a piece of a request; any number of
 * parts. */
enum err kafka_client_conn_write(struct kafka_client_conn *c, const struct slice *parts,
                                 size_t count, int64_t deadline, struct errinfo *info) MUST_USE;

/* kafka_client_conn_sent(c, answered): the request is written whole; whether an answer will come.
 */
void kafka_client_conn_sent(struct kafka_client_conn *c, bool answered);

/*
 * kafka_client_conn_receive(c, body, deadline, info): the answer, behind its header; valid until
 * the next call on ${c}. Errors: ERR_STOP (closed as well), ERR_TIMEOUT, ERR_EOF, ERR_IO, ERR_BAD,
 * ERR_RANGE, ERR_NOMEM.
 */
enum err kafka_client_conn_receive(struct kafka_client_conn *c, struct slice *body,
                                   int64_t deadline, struct errinfo *info) MUST_USE;

/* kafka_client_conn_call(c, request, body, deadline, info): write a whole request, receive. */
enum err kafka_client_conn_call(struct kafka_client_conn *c, struct slice request,
                                struct slice *body, int64_t deadline,
                                struct errinfo *info) MUST_USE;

/* kafka_client_conn_mute(c, throttle_ms): obey what an answer asks for. */
void kafka_client_conn_mute(struct kafka_client_conn *c, int32_t throttle_ms);

#endif
