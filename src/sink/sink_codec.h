/*
 * sink_codec.h: a sink's definition as bytes in the store: a MessagePack map, so that a newer
 * program can add keys. docs/store.md lists them.
 */
#ifndef SINKD_SINK_SINK_CODEC_H
#define SINKD_SINK_SINK_CODEC_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "sink/sink_def.h"

/* sink_codec_encode(d, out): append. ERR_NOMEM.
 * sink_codec_decode(d, bytes, info): ${d} is overwritten; its type is looked up, and nothing is
 * checked but shape. ERR_BAD (damaged, an unknown type or option), ERR_NOMEM. */
enum err sink_codec_encode(const struct sink_def *d, struct buf *out) MUST_USE;
enum err sink_codec_decode(struct sink_def *d, struct slice bytes, struct errinfo *info) MUST_USE;

#endif
