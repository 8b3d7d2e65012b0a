/*
 * store_record.h: the bytes of what the log keeps beside the points: its state and one record a
 * sink. Pure. The forms stand in docs/store.md; integers are little-endian, but for keys, which
 * sort.
 */
#ifndef SINKD_STORE_STORE_RECORD_H
#define SINKD_STORE_STORE_RECORD_H

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "store/store.h"

/* What is never derived from the log: an emptied one would start its numbers again. */
struct store_state {
    uint64_t next_seq;  /* the number of the next point */
    uint64_t first_seq; /* the first number still there; next_seq when the log is empty */
    uint64_t expired;   /* points deleted that no sink had passed or needed */
    uint64_t moved;     /* damaged files moved aside so far */
    uint32_t next_sink; /* the next sink's id */
    uint32_t run;       /* starts so far */
};

#define STORE_RECORD_STATE_SIZE 48u
#define STORE_RECORD_SIZE 184u

/* store_record_put_state(out, state), store_record_put(out, r): write the bytes. */
void store_record_put_state(uint8_t out[STORE_RECORD_STATE_SIZE], const struct store_state *state);
void store_record_put(uint8_t out[STORE_RECORD_SIZE], const struct store_record *r);

/*
 * store_record_get_state(bytes, state), store_record_get(bytes, sink, r):
 * Read them. Errors: ERR_BAD (size, or numbers that cannot be; a record that does not add up),
 * ERR_CONFIG (a version this program does not know).
 */
enum err store_record_get_state(struct slice bytes, struct store_state *state) MUST_USE;
enum err store_record_get(struct slice bytes, uint32_t sink, struct store_record *r) MUST_USE;

#endif
