/*
 * server_listener.c: accepting, and pausing when neither a place nor a descriptor is left.
 *
 * While paused, clients wait in the kernel's queue and the loop is not woken for them.
 */
#include "daemon/server_listener.h"

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "net/sock.h"

/* Accepted in one turn of the loop, so that those who are in are served as well. */
#define ACCEPTS_A_TURN 32
/* Paused for want of descriptors, which others may give back: look again after this time. */
#define PAUSE_MS 500

void
server_listener_resume(struct server_listener *l)
{
    if (!l->paused || l->watch == NULL)
        return;
    l->paused = false;
    loop_timer_clear(l->loop, &l->retry);
    loop_change(l->watch, LOOP_READ);
}

static void
on_retry(void *arg)
{
    server_listener_resume(arg);
}

static void
pause_accepting(struct server_listener *l, const char *why)
{
    int64_t now = loop_now_ms(l->loop);

    if (log_allow(&l->limit, now))
        log_warn("accept_paused", "%s, and no connection is idle", why);
    l->paused = true;
    loop_change(l->watch, 0);
    if (loop_timer_set(l->loop, &l->retry, now + PAUSE_MS, on_retry, l) != ERR_OK)
        server_listener_resume(l);
}

static void
on_accept(void *arg, int events)
{
    struct server_listener *l = arg;
    struct errinfo info;
    struct addr peer;
    enum err err;
    int fd, i;

    (void)events;
    for (i = 0; i < ACCEPTS_A_TURN; i++) {
        if (!l->has_room(l->arg)) {
            pause_accepting(l, "max_connections is reached");
            return;
        }
        err = sock_accept(l->fd, &fd, &peer, &info);
        if (err == ERR_AGAIN)
            return;
        if (err == ERR_OK) {
            l->let_in(l->arg, fd, &peer);
        } else if (err != ERR_BUSY || !l->make_room(l->arg)) {
            pause_accepting(l, info.text);
            return;
        }
    }
}

static uint16_t
port_of(const struct addr *a)
{
    struct sockaddr_in six_or_four; /* the port lies at the same place in both families */

    memcpy(&six_or_four, &a->sa, sizeof(six_or_four));
    return ntohs(six_or_four.sin_port);
}

enum err
server_listener_open(struct server_listener *l, const char *address, uint16_t port,
                     struct errinfo *info)
{
    struct addr local;
    enum err err = sock_listen(&l->fd, address, port, info);

    if (err != ERR_OK)
        return err;
    err = sock_local(l->fd, &local, info);
    if (err != ERR_OK)
        return err;
    l->port = port_of(&local);
    l->limit = (struct log_limit){.burst = 1, .every_ms = 60000};
    l->watch = loop_add(l->loop, l->fd, LOOP_READ, on_accept, l);
    if (l->watch == NULL)
        return errinfo_set(info, ERR_NOMEM, "out of memory");
    return ERR_OK;
}

void
server_listener_close(struct server_listener *l)
{
    loop_timer_clear(l->loop, &l->retry);
    loop_remove(l->watch);
    l->watch = NULL;
    if (l->fd != -1)
        (void)close(l->fd);
    l->fd = -1;
}
