/*
 * folder.h: the folder that holds a store: its lock, its probes, its small files.
 * Not for: what lies in data.mdb, but for the few bytes that tell whose file it is.
 */
#ifndef SINKD_STORE_FOLDER_H
#define SINKD_STORE_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define FOLDER_PATH_MAX 1024u

struct folder {
    char dir[FOLDER_PATH_MAX];
    int lock_fd; /* -1: not locked */
};

/*
 * folder_open(f, dir, info):
 * Make ${dir} (0700) when it is missing, take its lock (sinkd.lock, which says who has it), and try
 * whether files in it can be mapped shared. folder_close() gives the lock back.
 * Errors: ERR_BUSY (another process has it), ERR_CONFIG (no place for a store), ERR_DENIED, ERR_IO.
 */
enum err folder_open(struct folder *f, const char *dir, struct errinfo *info) MUST_USE;
void folder_close(struct folder *f);

enum folder_data {
    FOLDER_DATA_NONE,  /* there is no data.mdb */
    FOLDER_DATA_EMPTY, /* it has no bytes: it was cut, or its making was */
    FOLDER_DATA_OURS,  /* it begins as LMDB's files on this kind of machine */
    FOLDER_DATA_WRONG  /* it begins with something else */
};

/* folder_peek(f, what, info): look at how data.mdb begins. ERR_CONFIG: it was written on another
 * kind of machine or by another LMDB; ERR_DENIED; ERR_IO. Never while LMDB has it open. */
enum err folder_peek(const struct folder *f, enum folder_data *what, struct errinfo *info) MUST_USE;

/* folder_move_aside(f, name, info): rename data.mdb so that it can be looked at later; ${name}
 * gets its new name. At most three are kept: the last one is written over. */
enum err folder_move_aside(const struct folder *f, char name[32], struct errinfo *info) MUST_USE;

/* folder_sync(f): the names in the folder survive a power cut. */
enum err folder_sync(const struct folder *f, struct errinfo *info) MUST_USE;

/* folder_write(f, name, bytes, info): the whole file or none of it, 0600, durable.
 * folder_read(f, name, out, info): ERR_EOF: there is none; ERR_NOMEM: over ${out}'s maximum. */
enum err folder_write(const struct folder *f, const char *name, struct slice bytes,
                      struct errinfo *info) MUST_USE;
enum err folder_read(const struct folder *f, const char *name, struct buf *out,
                     struct errinfo *info) MUST_USE;

/* folder_set_aside(f, seq, bytes): keep a damaged chunk as damaged-SEQ.chunk. ERR_BUSY: it is there
 * already; ERR_IO. Not durable: it is for a curious operator. */
enum err folder_set_aside(const struct folder *f, uint64_t seq, struct slice bytes) MUST_USE;

/* folder_free_bytes(f): what its file system still has; UINT64_MAX when it does not say. */
uint64_t folder_free_bytes(const struct folder *f);

#endif
