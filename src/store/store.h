/*
 * store.h: the durable log as the rest of the program sees it.
 *
 * One environment on disk holds the points (as chunks, see chunk.h), the definitions (meta) and
 * one record a sink. lmdb_store.c is the implementation.
 *
 * A sequence number belongs to a point; the first is 1. A chunk's key is the number of its first
 * point. A cursor is the number of the last point that a sink has passed.
 *
 * Who may call what: exactly one thread (the committer) uses the write calls, between store_begin
 * and store_commit or store_abort. Readers are one a thread. Everything else is said beside it.
 */
#ifndef SINKD_STORE_STORE_H
#define SINKD_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/slice.h"
#include "store/batch.h"

struct store;
struct store_reader;

#define STORE_SINKS_MAX 256

enum store_sync { STORE_SYNC_ALWAYS, STORE_SYNC_INTERVAL, STORE_SYNC_NONE };

struct store_options {
    const char *dir;    /* created when it is missing, mode 0700 */
    uint64_t max_bytes; /* the file never grows past this */
    enum store_sync sync;
    const struct clock *clock;
};

/*
 * store_open(out, options, info):
 * Lock the folder, probe it, open or make the environment, load the state. What it had to do
 * (moved a damaged file aside, loaded meta.bak, halved the map) is logged in words. Errors, each
 * with a text that says what to do: ERR_BUSY (another process has it), ERR_CONFIG (a file system
 * that cannot map, another LMDB version, byte order or word size, an unknown schema, a map
 * smaller than the data), ERR_DENIED (permissions), ERR_IO, ERR_NOMEM.
 */
enum err store_open(struct store **out, const struct store_options *options,
                    struct errinfo *info) MUST_USE;
void store_close(struct store *s);

/* Facts that never change while it is open. */
bool store_is_new(const struct store *s);             /* nothing was there, meta.bak included */
uint32_t store_run(const struct store *s);            /* counts the starts: goes into every chunk */
const char *store_node_suffix(const struct store *s); /* random; new with an empty store */
size_t store_chunk_max(const struct store *s); /* the largest chunk that fits one page, in bytes */
uint64_t store_map_bytes(const struct store *s); /* may be less than asked for (32-bit) */
const char *store_library(void);                 /* "LMDB 0.9.24: ..." */

/* ---- one sink's record ---- */

enum store_drop {
    STORE_DROP_REJECTED,    /* the peer refused the point, on_reject = drop */
    STORE_DROP_FULL,        /* the log was full, on_full = drop_oldest */
    STORE_DROP_AGE,         /* older than max_age_secs */
    STORE_DROP_DEAD_LETTER, /* a dead letter that was dropped or expired */
    STORE_DROP_DAMAGED,     /* the chunk did not read back */
    STORE_DROPS
};
const char *store_drop_name(enum store_drop reason); /* the metric's label: "full", ... */

/* What a failed forward attempt is counted as. */
enum store_error_kind {
    STORE_ERROR_CONNECT,
    STORE_ERROR_TIMEOUT,
    STORE_ERROR_AUTH,
    STORE_ERROR_THROTTLED,
    STORE_ERROR_REJECTED,
    STORE_ERROR_TARGET,
    STORE_ERROR_PROTOCOL,
    STORE_ERRORS
};
const char *store_error_name(enum store_error_kind kind);

struct store_record {
    uint32_t sink; /* ids only rise */
    uint64_t start, cursor;
    uint64_t forwarded, filtered, dead, dropped[STORE_DROPS]; /* always sum to cursor - start */
    uint64_t errors[STORE_ERRORS], retries;                   /* not part of the sum */
    int64_t last_success_ns;                                  /* wall clock; 0: never */
    uint64_t learned_points; /* the batch size a peer taught; 0: none */
};

/* store_record_adds_up(r): the ledger's law. Asserted at every write. */
bool store_record_adds_up(const struct store_record *r);
uint64_t store_record_dropped(const struct store_record *r); /* of all reasons */

/* ---- reading: any thread with a reader of its own ---- */

enum err store_reader_open(struct store_reader **out, struct store *s,
                           struct errinfo *info) MUST_USE;
void store_reader_close(struct store_reader *r);

/* What a reader wants. Asked once a chunk and once a measurement of it. NULL: all. */
struct store_want {
    bool (*database)(void *arg, struct slice database);
    bool (*measurement)(void *arg, struct slice name);
    void *arg;
};

enum store_scan_end {
    STORE_SCAN_END,  /* the log's committed end */
    STORE_SCAN_FULL, /* the next point, or a damaged stretch, stands ahead and did not go in */
    STORE_SCAN_MORE  /* enough was looked at for one call: call again */
};

struct store_scan {
    enum store_scan_end end; /* why it returned */
    uint64_t passed;  /* the last sequence number looked at (or ${after} when there was none) */
    uint64_t damaged; /* points of chunks that did not read back, within what was passed */
    uint64_t missing; /* numbers that the log no longer holds, within what was passed */
    int64_t accepted_age_ms; /* age of the first point added to an empty batch */
};

/*
 * store_read(r, after, want, max_points, max_bytes, batch, scan, info):
 * Append the wanted points with numbers above ${after} to ${batch} until it holds ${max_points},
 * or the next would pass ${max_bytes} (the first always goes in), or the log's committed end, or
 * some milliseconds' worth of chunks were looked at (then scan->passed lets the caller go on: so
 * a stop is seen in time). No transaction outlives the call. Chunks without a wanted measurement
 * are skipped by their table. It stops before a damaged chunk, or numbers that are missing,
 * unless ${batch} is empty, and returns right after passing such a stretch: so whoever counts
 * knows that all else up to scan->passed, but for the points of the batch, was filtered. The
 * bytes of a damaged chunk are set aside in the folder, once, and it is logged.
 * Errors: ERR_IO, ERR_NOMEM; the batch then holds what was added so far and ${scan} says up to
 * where.
 */
enum err store_read(struct store_reader *r, uint64_t after, const struct store_want *want,
                    size_t max_points, size_t max_bytes, struct batch *batch,
                    struct store_scan *scan, struct errinfo *info) MUST_USE;

/* store_age(r, after, age_ms): how long ago the first point above ${after} was accepted, by uptime
 * where the same run accepted it or a clock is not plausible; false when there is none. */
bool store_age(struct store_reader *r, uint64_t after, int64_t *age_ms);

/* ---- figures: any thread ---- */

struct store_usage {
    uint64_t first_seq, last_seq; /* committed; last = first - 1 when the log is empty */
    uint64_t map_bytes;           /* what may be used at most */
    uint64_t used_bytes;          /* pages in use x page size */
    uint64_t file_bytes;
    uint64_t log_bytes;      /* of these, the points */
    uint64_t room_bytes;     /* what may still be given to data: without the reserve */
    uint64_t expired_points; /* deleted while no sink needed them and none had passed them */
    uint64_t damaged_files;  /* data.mdb files that were moved aside, ever */
};
void store_usage(struct store *s, struct store_usage *out);

/* ---- definitions and records as last committed: any thread; meant for the start ---- */

/* store_each_record(s, call, arg), store_each_meta(s, prefix, call, arg): slices are valid during
 * the call. ${call} must not write to the store. ERR_IO, ERR_NOMEM. */
enum err store_each_record(struct store *s, void (*call)(void *arg, const struct store_record *),
                           void *arg, struct errinfo *info) MUST_USE;
enum err store_each_meta(struct store *s, struct slice prefix,
                         void (*call)(void *arg, struct slice key, struct slice value), void *arg,
                         struct errinfo *info) MUST_USE;
uint32_t store_next_sink(struct store *s); /* the smallest id not used so far */

/* ---- writing: the committer alone ---- */

/* store_begin(s, info): start the one write transaction. ERR_IO, ERR_NOMEM. */
enum err store_begin(struct store *s, struct errinfo *info) MUST_USE;

/*
 * store_append(s, chunks, first_seq, points, info):
 * Append one body: ${chunks} is a sequence as chunk_builder leaves it. All of it goes in or
 * nothing. The numbers given are first_seq .. first_seq + points - 1.
 * Errors: ERR_FULL (room is checked first; the transaction goes on), ERR_BAD (not chunks: our own
 * bug; likewise), ERR_AGAIN (LMDB found no pages although there was room: what is free lies
 * scattered, or a reader pins it) and ERR_IO: the transaction can only be aborted.
 */
enum err store_append(struct store *s, struct slice chunks, uint64_t *first_seq, uint64_t *points,
                      struct errinfo *info) MUST_USE;

/* store_delete_through(s, seq, max_bytes, deleted, info): delete the log's chunks that end at or
 * before ${seq}, oldest first, at most ${max_bytes} of them but one chunk at least. ${deleted}
 * gets how many bytes. ERR_IO, ERR_FULL (LMDB found no page to copy to: abort, then call with
 * less). expired: count the points as expired. */
enum err store_delete_through(struct store *s, uint64_t seq, uint64_t max_bytes, bool expired,
                              uint64_t *deleted, struct errinfo *info) MUST_USE;

/* store_oldest(s, first_seq, last_seq, age_ms): the oldest chunk, as this transaction sees it;
 * false when the log is empty. */
bool store_oldest(struct store *s, uint64_t *first_seq, uint64_t *last_seq, int64_t *age_ms);

/* store_ends(s, first_seq, last_seq): the log as this transaction sees it; last = first - 1:
 * empty. */
void store_ends(const struct store *s, uint64_t *first_seq, uint64_t *last_seq);

/* store_chunk_at(s, after, last_seq, age_ms): likewise the chunk that holds the first point above
 * ${after}. */
bool store_chunk_at(struct store *s, uint64_t after, uint64_t *last_seq, int64_t *age_ms);

enum err store_put_record(struct store *s, const struct store_record *r,
                          struct errinfo *info) MUST_USE;
enum err store_delete_record(struct store *s, uint32_t sink, struct errinfo *info) MUST_USE;
enum err store_put_meta(struct store *s, struct slice key, struct slice value,
                        struct errinfo *info) MUST_USE; /* keys up to 500 bytes */
enum err store_delete_meta(struct store *s, struct slice key, struct errinfo *info) MUST_USE;

/*
 * store_commit(s, info):
 * Commit and sync (unless sync is none). Afterwards readers see it. When definitions
 * changed, meta.bak is written anew (its failure is logged, not returned).
 * Errors: ERR_IO (also a full disk), ERR_FULL; nothing of the transaction is then in force, and the
 * store goes on working (after a failed meta page it reopens itself behind a gate).
 */
enum err store_commit(struct store *s, struct errinfo *info) MUST_USE;
void store_abort(struct store *s);

/*
 * Room, in bytes of whole pages. store_room(s): what the present transaction can still take.
 * store_room_soon(s): what a later one could when nothing else happened: pages that a transaction
 * frees can be used by the next but one, or when the readers of that time have ended.
 * store_room_max(s): what an empty log takes. store_need(s, chunks): what appending a body takes.
 */
uint64_t store_room(struct store *s);
uint64_t store_room_soon(struct store *s);
uint64_t store_room_max(const struct store *s);
uint64_t store_need(const struct store *s, struct slice chunks);

#endif
