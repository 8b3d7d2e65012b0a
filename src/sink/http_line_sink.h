/*
 * http_line_sink.h: the sink type http_line; see docs/user-guide/sinks.md.
 */
#ifndef SINKD_SINK_HTTP_LINE_SINK_H
#define SINKD_SINK_HTTP_LINE_SINK_H

#include "sink/sink.h"

extern const struct sink_type http_line_sink;

#endif
