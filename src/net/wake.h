/*
 * wake.h: a pipe that ends another thread's wait.
 *
 * Any thread may wake; one thread waits, by having wake_fd() in its poll set, and drains. Wakes
 * between two drains fold into one.
 */
#ifndef SINKD_NET_WAKE_H
#define SINKD_NET_WAKE_H

#include "base/attr.h"
#include "base/err.h"

struct wake {
    int read_fd, write_fd; /* private; -1 when closed */
};

/* wake_open(w, info): both ends non-blocking and closed on exec. ERR_IO. */
enum err wake_open(struct wake *w, struct errinfo *info) MUST_USE;
void wake_close(struct wake *w);

/* wake_signal(w): safe in a signal handler; never blocks. */
void wake_signal(const struct wake *w);

/* wake_drain(w): forget the wakes so far. */
void wake_drain(const struct wake *w);

/* wake_fd(w): readable while a wake is pending. */
int wake_fd(const struct wake *w);

#endif
