/*
 * http_msgpack_sink.c: points as MessagePack, POSTed to a HyperbyteDB or another sinkd.
 *
 * Its options are here and are checked; sending is not built yet.
 */
#include "sink/http_msgpack_sink.h"

#include "sink/http_post.h"

static const struct option options[] = {
    HTTP_POST_OPTIONS,
    {"layout", OPTION_CHOICE, "columnar", 0, 0, "columnar rows", "form of the bodies"},
};

const struct sink_type http_msgpack_sink = {
    .name = "http_msgpack",
    .options = {options, sizeof(options) / sizeof(options[0])},
    .has_url = true,
    .schemes = "http https",
    .formats = 1u << SINK_MSGPACK,
    .check = http_post_check,
};
