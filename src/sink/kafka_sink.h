/*
 * kafka_sink.h: the sink type kafka; see docs/user-guide/sinks.md.
 */
#ifndef SINKD_SINK_KAFKA_SINK_H
#define SINKD_SINK_KAFKA_SINK_H

#include "sink/sink.h"

extern const struct sink_type kafka_sink;

#endif
