/*
 * stream.h: what a protocol client sees of a connection: blocking calls with absolute deadlines.
 *
 * A client (HTTP, MQTT, Kafka) never sees a socket. It reads, writes and waits on a stream; the
 * stream underneath is a TCP connection, or in tests a script with short reads, faults and silence.
 * Every wait also watches its owner's wake pipe, so stop, pause and new data are seen at once.
 *
 * Deadlines are on the monotonic clock, in ms. After any error but ERR_STOP, and ERR_TIMEOUT of a
 * read or wait, the stream is good for nothing but closing. One exception: after a write that
 * failed with ERR_EOF or ERR_IO a read may still give what the peer sent before it closed.
 */
#ifndef SINKD_NET_STREAM_H
#define SINKD_NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "net/stream_env.h"

struct tls_client; /* a TLS client configuration */

struct stream_ops {
    enum err (*read)(struct stream *s, uint8_t *p, size_t size, size_t *got, int64_t deadline,
                     struct errinfo *info);
    enum err (*write)(struct stream *s, const struct slice *parts, size_t count, int64_t deadline,
                      struct errinfo *info);
    enum err (*wait)(struct stream *s, int64_t deadline, struct errinfo *info);
    enum err (*wait_any)(struct stream *const *streams, size_t count, size_t *ready,
                         int64_t deadline, struct errinfo *info);
    void (*close)(struct stream *s);
};

struct stream {
    const struct stream_ops *ops;
};

/*
 * stream_read(s, p, size, got, deadline, info):
 * Wait for at least one byte and take what is there, at most ${size}.
 * Errors: ERR_EOF, ERR_TIMEOUT, ERR_STOP (the wake pipe; nothing was taken), ERR_IO, ERR_TLS.
 */
static inline enum err MUST_USE
stream_read(struct stream *s, uint8_t *p, size_t size, size_t *got, int64_t deadline,
            struct errinfo *info)
{
    return s->ops->read(s, p, size, got, deadline, info);
}

/*
 * stream_write(s, parts, count, deadline, info):
 * Write all of ${count} slices (at most 16), one behind the other. A stop does not interrupt it
 * (half a message would spoil the connection) unless the stream was told to abort: see
 * stream_env.aborted.
 * Errors: ERR_TIMEOUT, ERR_STOP (aborted), ERR_EOF (the peer closed), ERR_IO, ERR_TLS.
 */
static inline enum err MUST_USE
stream_write(struct stream *s, const struct slice *parts, size_t count, int64_t deadline,
             struct errinfo *info)
{
    return s->ops->write(s, parts, count, deadline, info);
}

/*
 * stream_wait(s, deadline, info):
 * Wait until a read would give something: bytes, or the news that the peer closed.
 * Errors: ERR_TIMEOUT (nothing until the deadline), ERR_STOP (the wake pipe), ERR_IO.
 */
static inline enum err MUST_USE
stream_wait(struct stream *s, int64_t deadline, struct errinfo *info)
{
    return s->ops->wait(s, deadline, info);
}

/* stream_close(s): close and free; NULL does nothing. */
static inline void
stream_close(struct stream *s)
{
    if (s != NULL)
        s->ops->close(s);
}

/* Where to connect. Borrowed for the time of the call. */
struct stream_target {
    struct slice host; /* a name, an IPv4 or IPv6 address (without brackets) */
    uint16_t port;
    const struct tls_client *tls; /* NULL: plain TCP */
    bool quick_ack; /* acknowledge what came before a read waits for more. For peers that send small
                       answers one by one and hold the next one back until then */
};

/*
 * stream_connect(out, env, target, deadline, info):
 * Resolve, then try every address in turn until one connects (each gets a fair part of the time
 * left), no delay on small writes, keep-alive probes and the unacknowledged-data timeout set, so
 * that a dead link is noticed. The look-up runs in a thread of its own; a stop or the deadline
 * leaves it behind.
 * Errors: ERR_NAME (does not resolve: the text names the host), ERR_TIMEOUT, ERR_STOP, ERR_IO
 * (refused, unreachable, ...: the text names host, port and address), ERR_TLS, ERR_NOMEM,
 * ERR_CONFIG (asks for TLS in a build without it).
 */
enum err stream_connect(struct stream **out, const struct stream_env *env,
                        const struct stream_target *target, int64_t deadline,
                        struct errinfo *info) MUST_USE;

/*
 * stream_wait_any(streams, count, ready, deadline, info):
 * Wait until one of the streams, at least 1 and at most 64, can be read; ${ready} is its index. All
 * are of one kind and share one env. Errors as stream_wait.
 */
static inline enum err MUST_USE
stream_wait_any(struct stream *const *streams, size_t count, size_t *ready, int64_t deadline,
                struct errinfo *info)
{
    return streams[0]->ops->wait_any(streams, count, ready, deadline, info);
}

/* stream_pause(env, deadline): sleep; ERR_TIMEOUT at the deadline, ERR_STOP when woken to stop. */
enum err stream_pause(const struct stream_env *env, int64_t deadline) MUST_USE;

#endif
