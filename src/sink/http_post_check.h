/*
 * http_post_check.h: the option `headers`, as the check and the sending of HTTP sinks read it.
 *
 * For http_post*.c alone.
 */
#ifndef SINKD_SINK_HTTP_POST_CHECK_H
#define SINKD_SINK_HTTP_POST_CHECK_H

#include <stdbool.h>

#include "base/slice.h"

/* Lines that the option may have. */
#define HTTP_POST_HEADERS_MAX 32

/* http_post_next_header(rest, line): the next line of the option that is not empty, trimmed; false
 * at the end. */
bool http_post_next_header(struct slice *rest, struct slice *line);

/* http_post_is_field_value(s): no control byte but a tab, as the value of a header must be. */
bool http_post_is_field_value(struct slice s);

#endif
