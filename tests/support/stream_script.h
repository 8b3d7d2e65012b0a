/*
 * stream_script.h: streams in memory that follow a script, for the tests of clients and sinks.
 *
 * A script_host stands where stream_env.connect stands: each connect takes the next of its
 * connections. A connection is a list of steps. What the client is to write and what it gets to
 * read are followed independently: bytes of a give step can be read once every expect step before
 * it was written in full. Waiting costs no real time: it turns the host's fake clock, to the moment
 * a step says or to the deadline.
 */
#ifndef SINKD_SUPPORT_STREAM_SCRIPT_H
#define SINKD_SUPPORT_STREAM_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "net/stream.h"
#include "support/fake_clock.h"

enum script_kind {
    SCRIPT_EXPECT,       /* the client writes exactly these bytes */
    SCRIPT_EXPECT_ANY,   /* the client writes `count` bytes of any content */
    SCRIPT_EXPECT_UNTIL, /* the client writes anything up to and with these bytes */
    SCRIPT_WRITE_FAILS,  /* the write that comes here fails with `err`, and all later ones */
    SCRIPT_GIVE,       /* the client reads these bytes, `piece` at a time (0: as many as it takes),
                           each piece after `delay_ms`; all of it `count` times (0 is 1) */
    SCRIPT_READ_FAILS, /* reads fail with `err` from here on: ERR_EOF (a close), ERR_IO */
    SCRIPT_ONCE        /* one read or wait ends with `err`: ERR_STOP, ERR_TIMEOUT */
};

struct script_step {
    enum script_kind kind;
    struct slice bytes;
    size_t count;
    size_t piece;
    int64_t delay_ms;
    enum err err;
};

#define SCRIPT_ENDLESS SIZE_MAX /* as `count` of a give step */

/* The usual steps, for initialisers. */
#define EXPECT(literal)                                     \
    {                                                       \
        .kind = SCRIPT_EXPECT, .bytes = SLICE_INIT(literal) \
    }
#define EXPECT_UNTIL(literal)                                     \
    {                                                             \
        .kind = SCRIPT_EXPECT_UNTIL, .bytes = SLICE_INIT(literal) \
    }
#define EXPECT_ANY(n)                           \
    {                                           \
        .kind = SCRIPT_EXPECT_ANY, .count = (n) \
    }
#define GIVE(literal)                                     \
    {                                                     \
        .kind = SCRIPT_GIVE, .bytes = SLICE_INIT(literal) \
    }
#define GIVE_EOF                                  \
    {                                             \
        .kind = SCRIPT_READ_FAILS, .err = ERR_EOF \
    }
#define GIVE_RESET                               \
    {                                            \
        .kind = SCRIPT_READ_FAILS, .err = ERR_IO \
    }
#define WRITE_FAILS(e)                         \
    {                                          \
        .kind = SCRIPT_WRITE_FAILS, .err = (e) \
    }
#define ONCE(e)                         \
    {                                   \
        .kind = SCRIPT_ONCE, .err = (e) \
    }

struct script_conn {
    const struct script_step *steps;
    size_t count;
    enum err refuse; /* not ERR_OK: the connect fails with it */

    /* What the script came to. */
    bool open, closed;        /* it was connected; the client closed it */
    char wrong[200];          /* the first thing the client did against the script; empty: none */
    size_t written;           /* bytes taken from the client */
    size_t write_at, read_at; /* private: the steps that come next */
    size_t write_done, read_done, rounds; /* private: how much of them is done */
    struct buf seen;                      /* private: what an EXPECT_UNTIL step looks through */
    bool due;                             /* private: the delay of the next piece is over */
    enum err broken;                      /* private: a fault that stays */
    bool write_failed;                    /* private: a SCRIPT_WRITE_FAILS step was reached */
};

struct script_host {
    struct stream_env env; /* hand out &h->env; clock, connect and pause are set */
    struct fake_clock clock;
    struct script_conn *conns;
    size_t count, next; /* connections; the one that comes next */
    size_t piece;       /* reads give at most this many bytes; 0: no limit of the host's own */
    size_t calls;       /* reads, writes, waits and connects so far */
    size_t fault_at;    /* the call of this number (1 is the first) fails with `fault`; 0: none */
    enum err fault;
    char host[80]; /* where the last connect went */
    uint16_t port;
    unsigned pauses; /* stream_pause: how often, and how long in all */
    int64_t paused_ms;
};

/* stream_script_init(h, conns, count): the clock starts at 1,000,000 ms and 2026-11-30T12:00:00Z.
 * Do not copy ${h} afterwards. */
void stream_script_init(struct script_host *h, struct script_conn *conns, size_t count);

/* stream_script_done(h): NULL if every connection was opened and closed, every expect step written,
 * nothing done against a script; else what is wrong. Give steps may be left over. */
const char *stream_script_done(const struct script_host *h);

/* stream_script_free(h): what the connections hold. */
void stream_script_free(struct script_host *h);

#endif
