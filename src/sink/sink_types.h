/*
 * sink_types.h: the sink types there are.
 */
#ifndef SINKD_SINK_SINK_TYPES_H
#define SINKD_SINK_SINK_TYPES_H

#include <stddef.h>

#include "base/slice.h"
#include "sink/sink.h"

/* sink_types_find(name): the type of that name in any case, or NULL. sink_types_at(i): to walk
 * them; NULL beyond the last. */
const struct sink_type *sink_types_find(struct slice name);
const struct sink_type *sink_types_at(size_t i);

#endif
