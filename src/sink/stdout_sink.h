/*
 * stdout_sink.h: the sink type stdout; see docs/user-guide/sinks.md.
 */
#ifndef SINKD_SINK_STDOUT_SINK_H
#define SINKD_SINK_STDOUT_SINK_H

#include "sink/sink.h"

extern const struct sink_type stdout_sink;

#endif
