/*
 * http_retry.h: the Retry-After header as a time to wait.
 * Source: RFC 9110 sections 10.2.3 and 5.6.7 (all three date forms).
 */
#ifndef SINKD_HTTP_HTTP_RETRY_H
#define SINKD_HTTP_HTTP_RETRY_H

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

/*
 * http_retry_after(value, date, wall_ns):
 * Milliseconds to wait from now, at most 30 days, or -1: not understood.
 * A date is taken relative to the answer's own Date header (${date}, may be empty), which serves a
 * device without a clock too; without one relative to ${wall_ns}, if that is plausible.
 */
int64_t http_retry_after(struct slice value, struct slice date, int64_t wall_ns);

/* http_retry_date(s, seconds): an HTTP date as seconds since 1970. ERR_BAD. */
enum err http_retry_date(struct slice s, int64_t *seconds) MUST_USE;

#endif
