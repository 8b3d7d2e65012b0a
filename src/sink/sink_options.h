/*
 * sink_options.h: all options of a sink type: those of every type, those of every network type, its
 * own.
 */
#ifndef SINKD_SINK_SINK_OPTIONS_H
#define SINKD_SINK_SINK_OPTIONS_H

#include <stddef.h>

#include "sink/option.h"
#include "sink/sink.h"

/* sink_options_at(type, i): the i-th of them; NULL beyond the last. */
const struct option *sink_options_at(const struct sink_type *type, size_t i);
size_t sink_options_count(const struct sink_type *type);

#endif
