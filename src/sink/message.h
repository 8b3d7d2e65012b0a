/*
 * message.h: points made into messages for a broker: how each is written, which go together.
 *
 * A message holds one point, or several of one group (what goes to one topic) joined up to a size.
 * It is known by its range in the round: the points of its group in the range that are marked as
 * taken. So it can be made again after a reconnect without its bytes being kept.
 * Not for: topics and keys (template.h), protocols.
 */
#ifndef SINKD_SINK_MESSAGE_H
#define SINKD_SINK_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "point/precision.h"
#include "sink/round.h"
#include "sink/sink_def.h"

/* The words of the option `batch_mode`, in its order. */
#define MESSAGE_MODES "individual lines json_array"
enum message_mode { MESSAGE_INDIVIDUAL, MESSAGE_LINES, MESSAGE_JSON_ARRAY };

struct message_form {
    enum sink_format format;
    enum message_mode mode;
    enum precision precision;
    size_t max_bytes; /* of a joined message; a larger point goes alone */
};

/* message_form_check(def, info): whether FORMAT and batch_mode go together. ERR_CONFIG. */
enum err message_form_check(const struct sink_def *def, struct errinfo *info) MUST_USE;

/* message_form_of(def): of a type with the options batch_mode and max_message_bytes. */
struct message_form message_form_of(const struct sink_def *def);

/* message_put_point(form, point, out): append one point in the format, nothing behind it. ERR_BAD
 * (not a stored line), ERR_NOMEM; nothing was added then. */
enum err message_put_point(const struct message_form *form, const struct batch_point *point,
                           struct buf *out) MUST_USE;

/* What is known of the points of one round: groups, and which are in a message. */
struct message_set {
    uint64_t first_seq, last_seq; /* private, as all of it: of the round it is about */
    size_t count;
    size_t cap;       /* of the two arrays */
    uint32_t *groups; /* one a point, if grouped */
    uint8_t *taken;   /* one a point */
    bool grouped;
    uint32_t group_count;
    struct buf texts; /* of the groups */
    struct message_text *index;
    size_t index_cap;
};

void message_set_init(struct message_set *set);
void message_set_free(struct message_set *set);

/*
 * message_set_begin(set, round, grouped, fresh):
 * Make ${set} be about ${round}: nothing happens if it is already, else ${fresh} is true and no
 * point is taken. With ${grouped} the caller then says each point's group by message_set_group;
 * without, all points are of one. ERR_NOMEM, and then it is about no round.
 */
enum err message_set_begin(struct message_set *set, const struct round *round, bool grouped,
                           bool *fresh) MUST_USE;

/* message_set_group(set, i, text): point ${i} goes where all others with that text go; in order of
 * i. */
void message_set_group(struct message_set *set, size_t i, struct slice text);

/* A message: points of one group in [from, to) of the round. */
struct message {
    size_t from, to;
    size_t count; /* how many */
};

/* message_next(set, round, from, to): the index of the first point of [from, to) that is open and
 * in no message; ${to}: none. */
size_t message_next(const struct message_set *set, const struct round *round, size_t from,
                    size_t to);

/*
 * message_build(form, set, round, from, to, out, message):
 * Append the payload of the message that begins with point ${from}, as message_next gave it; points
 * behind it are joined, up to ${to}. They are taken from then on.
 * Errors: ERR_BAD (that point is no stored line), ERR_NOMEM; nothing was added or taken then.
 */
enum err message_build(const struct message_form *form, struct message_set *set,
                       const struct round *round, size_t from, size_t to, struct buf *out,
                       struct message *message) MUST_USE;

/* message_rebuild(form, set, round, message, out): append the payload again, of those of its points
 * that are still open; ${message} counts them. Errors as message_build. */
enum err message_rebuild(const struct message_form *form, const struct message_set *set,
                         const struct round *round, struct message *message,
                         struct buf *out) MUST_USE;

/* message_settle(set, round, from, to, verdict): of the open points of the message with that
 * range. */
void message_settle(const struct message_set *set, struct round *round, size_t from, size_t to,
                    enum verdict verdict);

/* message_release(set, from, to): the points of that message are in none any more. */
void message_release(struct message_set *set, size_t from, size_t to);

#endif
