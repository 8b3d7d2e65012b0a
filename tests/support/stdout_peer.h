/*
 * stdout_peer.h: a reader behind this process's standard output, that behaves as it is told.
 * What cmocka prints meanwhile goes to it too: nothing, unless a test fails.
 */
#ifndef SINKD_SUPPORT_STDOUT_PEER_H
#define SINKD_SUPPORT_STDOUT_PEER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stdout_peer {
    pthread_t thread;
    int saved, fd, quit[2]; /* the real standard output; the pipe's end that is read */

    pthread_mutex_t lock; /* guards what follows */
    bool silent, gone;
    unsigned turns; /* of the thread */
    char *bytes;    /* all that came */
    size_t n, cap;
};

void stdout_peer_start(struct stdout_peer *p);
void stdout_peer_stop(struct stdout_peer *p);

/* silence: read nothing for now. leave: close the pipe. back: a new pipe where it was left. */
void stdout_peer_silence(struct stdout_peer *p, bool silent);
void stdout_peer_leave(struct stdout_peer *p);
void stdout_peer_back(struct stdout_peer *p);

/* stdout_peer_lines(p, needle): lines with that text in them, once all that was written is read. */
unsigned stdout_peer_lines(struct stdout_peer *p, const char *needle);

/* stdout_peer_size(p): bytes that came, once all that was written is read. */
size_t stdout_peer_size(struct stdout_peer *p);

#endif
