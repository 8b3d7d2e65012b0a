/*
 * committer_internal.h: what the files that make up the committer share. Nobody else includes it.
 *
 *   committer.c       the queue and the thread          committer_txn.c   one round of transactions
 *   committer_sinks.c the sinks' records and wakes      committer_room.c  making room, max_age
 */
#ifndef SINKD_STORE_COMMITTER_INTERNAL_H
#define SINKD_STORE_COMMITTER_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/log.h"
#include "store/committer.h"

/* Bodies of one transaction, and what interval mode holds back at most. */
#define COMMITTER_GROUP_BYTES (8u * 1024 * 1024)
/* More bytes of bodies than this are not kept waiting for others. */
#define COMMITTER_SMALL_BYTES 65536u
/* After a commit that failed. */
#define COMMITTER_RETRY_MS 1000
/* Bytes deleted in one transaction when room is scarce. */
#define COMMITTER_DELETE_MIN (256u * 1024)

struct committer_sink {
    uint32_t id;
    bool live;     /* its record is committed; else it is being created */
    bool dropping; /* by the transaction at hand */
    bool may_lose;
    bool dirty;           /* next is not what is committed */
    uint64_t version;     /* of next */
    uint64_t taken;       /* the version in the transaction at hand */
    int64_t due_ms;       /* when it is dirty: by when it is to be committed */
    int64_t taken_due_ms; /* what due_ms was before the transaction at hand */
    struct store_record next, committed, in_txn;
    const struct wake *wake;
    uint64_t arm_seq; /* UINT64_MAX: not armed */
    bool arm_settled;
};

struct committer_list { /* of bodies */
    struct committer_body *first, *last;
};

struct committer {
    struct store *store;
    struct committer_options options;
    pthread_t thread;
    bool joined; /* its starter's */

    /* under the mutex */
    pthread_mutex_t mutex;
    pthread_cond_t work;
    bool stopping, ended, flush;
    struct committer_list queue;
    size_t queue_bytes;      /* of bodies not answered yet */
    size_t waiting_bytes;    /* of chunks answered, not committed */
    int64_t gather_until_us; /* commit_delay_us after the first of them */
    size_t gathered_bytes;   /* of bodies in the queue */
    size_t gathered;         /* how many they are */
    size_t expected;         /* so many are likely to be there soon ... */
    int64_t expected_us;     /* ... and are waited for until then */
    unsigned not_waiting;    /* so many commits to come do not wait: it was in vain */
    struct committer_change *changes, *changes_last;
    struct committer_sink *sinks[STORE_SINKS_MAX];
    size_t sink_count;
    uint64_t last_seq;     /* committed */
    uint64_t full_bytes;   /* a body of so many did not fit; 0: room is not known to be short */
    int64_t full_until_ms; /* then it is tried again anyway */
    uint64_t
        full_passed; /* what all sinks had passed then: no room comes of them before they pass more */
    struct committer_stats stats;

    /* the thread's own */
    struct buf waiting; /* interval mode: chunks answered, not committed */
    size_t waiting_max;
    uint64_t waiting_need; /* bytes of room, when there are some */
    int64_t waiting_due_ms;
    int64_t retry_ms;                    /* no retry of steps before */
    int64_t delete_ms;                   /* when to go on deleting; DEADLINE_NEVER: nothing known */
    int64_t age_ms;                      /* when to look for what is too old */
    uint64_t delete_budget;              /* halved when a deletion failed */
    struct log_limit failures, refusals; /* how often the log of the daemon tells of them */
    bool failure_told;
    bool failing; /* the last commit failed: the next one is due even if it has nothing to write */
};

/* One round: what was taken from the queue, until all of it is answered. The thread's own. */
struct committer_round {
    struct committer_list bodies;     /* not stored yet */
    struct committer_list stored;     /* in the transaction at hand */
    struct committer_change *changes; /* in the transaction at hand */
    bool waiting_stored;
    bool worth;        /* the transaction holds something */
    bool squeezed;     /* LMDB found no page: small steps */
    bool progress;     /* something was deleted */
    bool soon;         /* there is room, but in pages that cannot be used yet */
    bool steps;        /* dirty records were put */
    uint64_t blocked;  /* bytes the first body needs that did not fit; 0: all fit */
    uint64_t wanted;   /* what all of these need */
    uint64_t appended; /* points */
    unsigned spoilt, ticks;
};

static inline void
committer_list_add(struct committer_list *l, struct committer_body *body)
{
    body->next = NULL;
    if (l->last == NULL)
        l->first = body;
    else
        l->last->next = body;
    l->last = body;
}

static inline struct committer_body *
committer_list_take(struct committer_list *l)
{
    struct committer_body *body = l->first;

    if (body != NULL) {
        l->first = body->next;
        if (l->first == NULL)
            l->last = NULL;
    }
    return body;
}

/* ---- committer.c ---- */

int64_t committer_now_us(void);

/* committer_expect(c, stored, us): behind a commit of those bodies, which took so long: how many
 * more are likely to come, and until when to wait for them. The mutex is held. */
void committer_expect(struct committer *c, const struct committer_list *stored, int64_t us);

/* committer_answer(c, body, result, info): give a body back. Not under the mutex. */
void committer_answer(struct committer *c, struct committer_body *body, enum err result,
                      const struct errinfo *info);

/* Words for the operator, rate-limited: a commit failed, commits work again, the log is full. */
void committer_tell_failure(struct committer *c, const struct errinfo *info);
void committer_tell_success(struct committer *c);
void committer_tell_full(struct committer *c);

/* ---- committer_txn.c: the mutex is held at the call and at the return, not between ---- */

/* committer_work(c): take what is queued and due and commit it. */
void committer_work(struct committer *c);

/* ---- committer_sinks.c: the mutex is held unless said otherwise ---- */

struct committer_sink *committer_find(struct committer *c, uint32_t id);
struct committer_sink *committer_add_sink(struct committer *c, const struct store_record *record);
void committer_remove_sink(struct committer *c, struct committer_sink *sink);

/* committer_move(c, sink, to, reason): pass the points up to ${to} on behalf of its runner,
 * counted dropped. */
void committer_move(struct committer *c, struct committer_sink *sink, uint64_t to,
                    enum store_drop reason);

/* committer_put_records(c, info): put what is dirty into the transaction; takes the mutex itself.
 * ${any}: there was. */
enum err committer_put_records(struct committer *c, bool *any, struct errinfo *info) MUST_USE;

/* committer_settle_sinks(c, committed): the transaction at hand ended so. */
void committer_settle_sinks(struct committer *c, bool committed);
void committer_wake_sinks(struct committer *c);

/* committer_room_changed(c): what was refused for want of room may be tried again. */
void committer_room_changed(struct committer *c);

/* committer_passed(c, seq): the last number that all sinks have passed; false when there is no
 * sink. */
bool committer_passed(const struct committer *c, uint64_t *seq);

/* ---- committer_room.c: within a transaction; not under the mutex ---- */

/* committer_make_room(c, round, info): delete what may go, and for round->blocked make sinks that
 * may lose points lose the oldest. Bounded: what is left goes in the next transaction. */
enum err committer_make_room(struct committer *c, struct committer_round *round,
                             struct errinfo *info) MUST_USE;

/* committer_expire(c, round): move sinks past what is older than max_age; sets c->age_ms. */
void committer_expire(struct committer *c, struct committer_round *round);

#endif
