/*
 * http_verdict.h: what an HTTP status says of a delivery. Pure; docs/user-guide/delivery.md has the
 * table.
 */
#ifndef SINKD_SINK_HTTP_VERDICT_H
#define SINKD_SINK_HTTP_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "sink/sink.h"

/* The statuses that confirm, one bit each. */
struct http_success {
    uint8_t bits[75]; /* 0 to 599 */
};

/* http_verdict_parse(out, list, info): "200,204". ERR_CONFIG. */
enum err http_verdict_parse(struct http_success *out, struct slice list,
                            struct errinfo *info) MUST_USE;

/* http_verdict_of(success, status, retry_after_ms, body): the outcome of an answer;
 * ${retry_after_ms} is -1 where none was given. */
struct outcome http_verdict_of(const struct http_success *success, int status,
                               int64_t retry_after_ms, struct slice body);

#endif
