/*
 * addr.h: names to socket addresses, without ever holding up its caller past a deadline.
 *
 * getaddrinfo cannot be interrupted: it runs in a detached thread that owns its request, touches
 * nothing of ours and is never joined. Nothing is cached: each connect asks again, so a changed DNS
 * record is seen at the next reconnect.
 */
#ifndef SINKD_NET_ADDR_H
#define SINKD_NET_ADDR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "net/stream_env.h"

/* How many addresses of a name are tried at most. */
#define ADDR_MAX 16

struct addr {
    struct sockaddr_storage sa;
    socklen_t len;
};

struct addr_list {
    struct addr list[ADDR_MAX];
    size_t count;
};

/*
 * addr_resolve(out, env, host, port, deadline, info):
 * All addresses of a name, best first; numeric ones are taken as they are, without a look-up. A
 * look-up that was left behind and is still under way is taken up by the next caller for the same
 * name, so at most one per caller ever waits.
 * Errors: ERR_NAME (also: far too many look-ups under way), ERR_TIMEOUT, ERR_STOP, ERR_NOMEM,
 * ERR_IO.
 */
enum err addr_resolve(struct addr_list *out, const struct stream_env *env, struct slice host,
                      uint16_t port, int64_t deadline, struct errinfo *info) MUST_USE;

#define ADDR_TEXT 64

/* addr_text(out, a): "192.0.2.1:8086" or "[2001:db8::1]:8086". Returns ${out}. */
char *addr_text(char out[ADDR_TEXT], const struct addr *a);

/* addr_is_loopback(a): 127.0.0.0/8, ::1, and the former mapped into IPv6. */
int addr_is_loopback(const struct addr *a);

#endif
