/*
 * mqtt_sink.h: the sink type mqtt; see docs/user-guide/sinks.md.
 */
#ifndef SINKD_SINK_MQTT_SINK_H
#define SINKD_SINK_MQTT_SINK_H

#include "sink/sink.h"

extern const struct sink_type mqtt_sink;

#endif
