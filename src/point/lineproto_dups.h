/*
 * lineproto_dups.h: names that come twice in one line. For the other lineproto files alone.
 *
 * Exact for any number of tags; no more than n log n steps and a fixed amount of stack, whatever a
 * client sends.
 */
#ifndef SINKD_POINT_LINEPROTO_DUPS_H
#define SINKD_POINT_LINEPROTO_DUPS_H

#include <stdbool.h>

#include "base/slice.h"

/* lineproto_dups_tags(tags): whether a raw tag key comes twice. ${tags} is checked text of less
 * than 64 KiB, without the first comma. */
bool lineproto_dups_tags(struct slice tags);

/* lineproto_dups_few(names, count): the same for a few names at hand, each compared with each. */
#define LINEPROTO_DUPS_FEW 16
bool lineproto_dups_few(const struct slice *names, size_t count);

enum lineproto_dups {
    LINEPROTO_DUPS_NONE,
    LINEPROTO_DUPS_TYPES, /* one name has two types */
    LINEPROTO_DUPS_MANY   /* too many fields of mixed types to tell */
};

/* lineproto_dups_fields(fields, key): for checked fields; ${key}: the name that has two types. */
enum lineproto_dups lineproto_dups_fields(struct slice fields, struct slice *key);

#endif
