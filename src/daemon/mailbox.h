/*
 * mailbox.h: how other threads hand something to the loop's thread.
 *
 * A mail lives in its sender's memory and is posted at most once at a time; its call runs on the
 * loop's thread, in the order of posting.
 */
#ifndef SINKD_DAEMON_MAILBOX_H
#define SINKD_DAEMON_MAILBOX_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"
#include "net/loop.h"

struct mailbox;

struct mail {
    void (*call)(struct mail *m); /* may free what the mail is part of */
    struct mail *next;            /* private */
};

/* mailbox_open(out, loop, info): watched by ${loop} from now on. ERR_IO, ERR_NOMEM. */
enum err mailbox_open(struct mailbox **out, struct loop *loop, struct errinfo *info) MUST_USE;

/* mailbox_close(m): deliver what is there, then free. Nobody may post any more. NULL does
 * nothing. */
void mailbox_close(struct mailbox *m);

/* mailbox_post(m, mail): from any thread; never waits. */
void mailbox_post(struct mailbox *m, struct mail *mail);

/* mailbox_deliver(m): run what was posted so far; the loop does it by itself. False: there was
 * nothing. */
bool mailbox_deliver(struct mailbox *m);

#endif
