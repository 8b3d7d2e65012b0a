/*
 * http_msgpack_sink.h: the sink type http_msgpack; see docs/user-guide/sinks.md.
 */
#ifndef SINKD_SINK_HTTP_MSGPACK_SINK_H
#define SINKD_SINK_HTTP_MSGPACK_SINK_H

#include "sink/sink.h"

extern const struct sink_type http_msgpack_sink;

#endif
