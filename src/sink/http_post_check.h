/*
 * http_post_check.h: the option `headers` and the secrets of a definition, as the check and the
 * sending of HTTP sinks read them.
 *
 * For http_post*.c alone.
 */
#ifndef SINKD_SINK_HTTP_POST_CHECK_H
#define SINKD_SINK_HTTP_POST_CHECK_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/url.h"
#include "sink/sink_def.h"

/* Lines that the option may have. */
#define HTTP_POST_HEADERS_MAX 32

/* Values that must not be quoted from an answer: in headers, query and credentials together. */
#define HTTP_POST_SECRETS_MAX 64

/* http_post_next_header(rest, line): the next line of the option that is not empty, trimmed; false
 * at the end. */
bool http_post_next_header(struct slice *rest, struct slice *line);

/* http_post_is_field_value(s): no control byte but a tab, as the value of a header must be. */
bool http_post_is_field_value(struct slice s);

/* http_post_check_secrets(def, url, info): that there are no more than the limit; ${url} is the
 * definition's. ERR_CONFIG. */
enum err http_post_check_secrets(const struct sink_def *def, const struct url *url,
                                 struct errinfo *info) MUST_USE;

#endif
