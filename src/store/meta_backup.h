/*
 * meta_backup.h: the bytes of meta.bak: the definitions once more, outside of the log's file, for
 * the day that one is damaged. Pure. The form stands in docs/store.md.
 *
 *   0 "SKMB" | 4 u32 version (1) | 8 u32 CRC-32C of all that follows
 * 12 u32 next sink id | 16 u64 damaged files so far | 24 u32 count of sinks | 28 u32 count of
 * pairs 32 sink ids, u32 each | pairs: u32 key length | u32 value length | key | value
 */
#ifndef SINKD_STORE_META_BACKUP_H
#define SINKD_STORE_META_BACKUP_H

#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define META_BACKUP_HEAD 32u
#define META_BACKUP_MAX (32u * 1024 * 1024)

struct meta_backup {
    uint32_t next_sink;
    uint64_t moved;
    uint32_t sinks, pairs;
    struct slice rest; /* of a backup that is read: the ids and pairs */
};

/*
 * meta_backup_begin(out), meta_backup_sink(out, id), meta_backup_pair(out, key, value),
 * meta_backup_end(out, b): write one, all sinks before all pairs; ${out} is empty at first. ${b}
 * says how many of each there were. ERR_NOMEM.
 */
enum err meta_backup_begin(struct buf *out) MUST_USE;
enum err meta_backup_sink(struct buf *out, uint32_t id) MUST_USE;
enum err meta_backup_pair(struct buf *out, struct slice key, struct slice value) MUST_USE;
void meta_backup_end(struct buf *out, const struct meta_backup *b);

/* meta_backup_open(bytes, b): check all of it; after ERR_OK b->sinks ids and then b->pairs pairs
 * can be taken from b->rest. ERR_BAD: damaged; ERR_CONFIG: another version. */
enum err meta_backup_open(struct slice bytes, struct meta_backup *b) MUST_USE;
uint32_t meta_backup_take_sink(struct meta_backup *b);
void meta_backup_take_pair(struct meta_backup *b, struct slice *key, struct slice *value);

#endif
