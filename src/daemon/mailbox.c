/*
 * mailbox.c: see mailbox.h.
 */
#include "daemon/mailbox.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/mem.h"
#include "net/wake.h"

struct mailbox {
    struct loop *loop;
    struct loop_watch *watch;
    struct wake wake;
    pthread_mutex_t lock; /* guards the list */
    struct mail *first, **last;
};

static void
on_wake(void *arg, int events)
{
    (void)events;
    (void)mailbox_deliver(arg);
}

enum err
mailbox_open(struct mailbox **out, struct loop *loop, struct errinfo *info)
{
    struct mailbox *m = mem_zalloc(sizeof(*m));
    enum err err;

    if (m == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for the loop's mailbox");
    m->last = &m->first;
    err = wake_open(&m->wake, info);
    if (err != ERR_OK) {
        mem_free(m);
        return err;
    }
    m->watch = loop_add(loop, wake_fd(&m->wake), LOOP_READ, on_wake, m);
    if (m->watch == NULL) {
        wake_close(&m->wake);
        mem_free(m);
        return errinfo_set(info, ERR_NOMEM, "no memory for the loop's mailbox");
    }
    pthread_mutex_init(&m->lock, NULL);
    *out = m;
    return ERR_OK;
}

void
mailbox_close(struct mailbox *m)
{
    if (m == NULL)
        return;
    (void)mailbox_deliver(m);
    loop_remove(m->watch);
    wake_close(&m->wake);
    pthread_mutex_destroy(&m->lock);
    mem_free(m);
}

void
mailbox_post(struct mailbox *m, struct mail *mail)
{
    bool is_first;

    mail->next = NULL;
    pthread_mutex_lock(&m->lock);
    is_first = m->first == NULL;
    *m->last = mail;
    m->last = &mail->next;
    pthread_mutex_unlock(&m->lock);
    if (is_first) /* else the loop has been woken and has not looked yet */
        wake_signal(&m->wake);
}

bool
mailbox_deliver(struct mailbox *m)
{
    struct mail *mail, *next;
    bool any;

    wake_drain(&m->wake);
    pthread_mutex_lock(&m->lock);
    mail = m->first;
    m->first = NULL;
    m->last = &m->first;
    pthread_mutex_unlock(&m->lock);
    any = mail != NULL;
    for (; mail != NULL; mail = next) {
        next = mail->next;
        mail->call(mail);
    }
    return any;
}
