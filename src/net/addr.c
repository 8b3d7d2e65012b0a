/*
 * addr.c: look-ups in detached threads.
 *
 * A request has two holders, the thread and the caller who waits, and goes when both let go. A
 * caller that gives up leaves it in the list; the next caller for the same name takes it up again
 * instead of starting another, so a dead name server costs one thread a sink, however often it
 * retries.
 */
#include "net/addr.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define HOST_MAX 254     /* RFC 1035: a name has at most 253 bytes */
#define REQUESTS_MAX 300 /* as many sinks as there may be, and some for the commands */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_BYTES (1024u * 1024u)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STACK_BYTES (1024u * 1024u)
#endif
#endif
#ifndef STACK_BYTES
#define STACK_BYTES (256u * 1024u)
#endif

struct request {
    struct request *next;
    char host[HOST_MAX];
    struct wake done_pipe; /* told once the result is there */
    bool running, waited;  /* held by its thread; held by a caller */
    int result, sys;       /* of getaddrinfo; written by the thread while running */
    struct addr_list found;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list and running, waited */
static struct request *requests;
static size_t request_count;

static enum err
look_up(struct addr_list *out, const char *host, int flags, int *result)
{
    struct addrinfo hints, *list = NULL, *a;

    memset(&hints, 0, sizeof(hints));
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    *result = getaddrinfo(host, NULL, &hints, &list);
    if (*result != 0)
        return ERR_NAME;
    out->count = 0;
    for (a = list; a != NULL && out->count < ADDR_MAX; a = a->ai_next) {
        if ((a->ai_family != AF_INET && a->ai_family != AF_INET6) ||
            a->ai_addrlen > sizeof(out->list[0].sa))
            continue;
        memset(&out->list[out->count], 0, sizeof(out->list[0]));
        memcpy(&out->list[out->count].sa, a->ai_addr, a->ai_addrlen);
        out->list[out->count].len = a->ai_addrlen;
        out->count++;
    }
    freeaddrinfo(list);
    return out->count > 0 ? ERR_OK : ERR_NAME;
}

/* let_go(r, thread): one holder leaves; the last one frees it. */
static void
let_go(struct request *r, bool thread)
{
    struct request **link;
    bool last;

    (void)pthread_mutex_lock(&lock);
    if (thread) {
        r->running = false;
        wake_signal(&r->done_pipe); /* under the lock: the other holder may free it right after */
    } else {
        r->waited = false;
    }
    last = !r->running && !r->waited;
    if (last) {
        for (link = &requests; *link != r; link = &(*link)->next)
            assert(*link != NULL);
        *link = r->next;
        request_count--;
    }
    (void)pthread_mutex_unlock(&lock);
    if (last) {
        wake_close(&r->done_pipe);
        mem_free(r);
    }
}

static void *
resolver(void *arg)
{
    struct request *r = arg;

    if (look_up(&r->found, r->host, 0, &r->result) != ERR_OK)
        r->sys = errno;
    let_go(r, true);
    return NULL;
}

/* start_thread(r): 0 or the errno value. All signals are blocked in it: they are the loop's. */
static int
start_thread(struct request *r)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, before;
    int sys = pthread_attr_init(&attr);

    if (sys != 0)
        return sys;
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    sys = pthread_create(&thread, &attr, resolver, r);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    return sys;
}

/* take_up(host): a look-up of ${host} that nobody waits for any more; NULL if there is none. */
static struct request *
take_up(struct slice host)
{
    struct request *r;

    (void)pthread_mutex_lock(&lock);
    for (r = requests; r != NULL; r = r->next) {
        if (!r->waited && slice_eq(slice_of(r->host), host))
            break;
    }
    if (r != NULL)
        r->waited = true;
    (void)pthread_mutex_unlock(&lock);
    return r;
}

/* enter(r): into the list, unless that is full. */
static bool
enter(struct request *r)
{
    bool ok;

    (void)pthread_mutex_lock(&lock);
    ok = request_count < REQUESTS_MAX;
    if (ok) {
        r->next = requests;
        requests = r;
        request_count++;
    }
    (void)pthread_mutex_unlock(&lock);
    return ok;
}

static enum err
start(struct request **out, struct slice host, struct errinfo *info)
{
    struct request *r = mem_zalloc(sizeof(*r));
    enum err err;
    int sys;

    if (r == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory to look up a name");
    slice_copy_text(host, r->host, sizeof(r->host));
    err = wake_open(&r->done_pipe, info);
    if (err != ERR_OK) {
        mem_free(r);
        return err;
    }
    r->running = r->waited = true;
    if (!enter(r)) {
        wake_close(&r->done_pipe);
        mem_free(r);
        return errinfo_set(info, ERR_NAME,
                           "cannot look up \"%.*s\": %d look-ups are under way; "
                           "does the name server answer?",
                           SLICE_PRI(host), REQUESTS_MAX);
    }
    sys = start_thread(r);
    if (sys != 0) {
        let_go(r, true);
        let_go(r, false);
        return errinfo_sys(info, ERR_NOMEM, sys, "cannot start a thread to look up a name");
    }
    *out = r;
    return ERR_OK;
}

static enum err
verdict(struct addr_list *out, const struct request *r, struct errinfo *info)
{
    if (r->result == EAI_SYSTEM)
        return errinfo_sys(info, ERR_NAME, r->sys, "cannot look up \"%s\"", r->host);
    if (r->result != 0)
        return errinfo_set(info, ERR_NAME, "cannot look up \"%s\": %s", r->host,
                           gai_strerror(r->result));
    if (r->found.count == 0)
        return errinfo_set(info, ERR_NAME, "\"%s\" has no IP address", r->host);
    *out = r->found;
    return ERR_OK;
}

static void
set_port(struct addr_list *list, uint16_t port)
{
    size_t i;

    for (i = 0; i < list->count; i++) {
        if (list->list[i].sa.ss_family == AF_INET6)
            ((struct sockaddr_in6 *)(void *)&list->list[i].sa)->sin6_port = htons(port);
        else
            ((struct sockaddr_in *)(void *)&list->list[i].sa)->sin_port = htons(port);
    }
}

static enum err
wait_for(struct addr_list *out, struct request *r, const struct stream_env *env, int64_t deadline,
         struct errinfo *info)
{
    struct pollfd done = {wake_fd(&r->done_pipe), POLLIN, 0};
    enum err err = stream_env_wait(env, &done, 1, false, deadline);

    if (err == ERR_OK) {
        /* The lock orders what the thread wrote before what is read here. */
        (void)pthread_mutex_lock(&lock);
        (void)pthread_mutex_unlock(&lock);
        return verdict(out, r, info);
    }
    if (err == ERR_TIMEOUT)
        return errinfo_set(info, err, "the look-up of \"%s\" took too long", r->host);
    return errinfo_set(info, err, "the look-up of \"%s\" was interrupted", r->host);
}

enum err
addr_resolve(struct addr_list *out, const struct stream_env *env, struct slice host, uint16_t port,
             int64_t deadline, struct errinfo *info)
{
    struct addr_list numeric;
    char text[HOST_MAX];
    struct request *r;
    enum err err;
    int result;

    if (host.n == 0 || host.n >= HOST_MAX || slice_find(host, '\0') != host.n)
        return errinfo_set(info, ERR_NAME, "\"%.*s\" cannot be a host name", SLICE_PRI(host));
    slice_copy_text(host, text, sizeof(text));
    if (look_up(&numeric, text, AI_NUMERICHOST, &result) == ERR_OK) {
        *out = numeric;
        set_port(out, port);
        return ERR_OK;
    }
    r = take_up(host);
    if (r == NULL) {
        err = start(&r, host, info);
        if (err != ERR_OK)
            return err;
    }
    err = wait_for(out, r, env, deadline, info);
    let_go(r, false);
    if (err == ERR_OK)
        set_port(out, port);
    return err;
}

char *
addr_text(char out[ADDR_TEXT], const struct addr *a)
{
    char host[48]; /* the longest IPv6 text has 45 bytes; a zone behind it may fail: "?" then */
    char port[8];
    int bad = getnameinfo((const struct sockaddr *)&a->sa, a->len, host, sizeof(host), port,
                          sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);

    if (bad != 0)
        (void)snprintf(out, ADDR_TEXT, "?");
    else
        (void)snprintf(out, ADDR_TEXT, a->sa.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
                       port);
    return out;
}

int
addr_is_loopback(const struct addr *a)
{
    static const uint8_t mapped[13] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
    struct sockaddr_in6 six;
    struct sockaddr_in four;

    if (a->sa.ss_family == AF_INET) {
        memcpy(&four, &a->sa, sizeof(four));
        return (ntohl(four.sin_addr.s_addr) >> 24) == 127;
    }
    if (a->sa.ss_family != AF_INET6)
        return 0;
    memcpy(&six, &a->sa, sizeof(six));
    return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) ||
           memcmp(six.sin6_addr.s6_addr, mapped, sizeof(mapped)) == 0;
}
