/*
 * sink_types.c: see sink_types.h.
 */
#include "sink/sink_types.h"

#include "sink/http_line_sink.h"
#include "sink/http_msgpack_sink.h"
#include "sink/kafka_sink.h"
#include "sink/mqtt_sink.h"
#include "sink/stdout_sink.h"

static const struct sink_type *const types[] = {
    &http_line_sink, &http_msgpack_sink, &mqtt_sink, &kafka_sink, &stdout_sink,
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const struct sink_type *
sink_types_at(size_t i)
{
    return i < COUNT(types) ? types[i] : NULL;
}

const struct sink_type *
sink_types_find(struct slice name)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        if (slice_eq_nocase(slice_of(types[i]->name), name))
            return types[i];
    }
    return NULL;
}
