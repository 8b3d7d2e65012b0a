/*
 * template.h: texts with {db}, {rp}, {measurement}, {tag:NAME} and {tag:NAME|default} in them.
 *
 * Topics, keys and HTTP targets are made of a point by them. A value that is absent or empty
 * becomes the default, or "_". Bytes of a value that may not stand where it goes are replaced by a
 * rule; the text around is the user's and is not changed.
 */
#ifndef SINKD_SINK_TEMPLATE_H
#define SINKD_SINK_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "store/batch.h"

enum template_rule {
    TEMPLATE_AS_IS, /* a message key: any bytes */
    TEMPLATE_HTTP,  /* percent-encoded; only {db} and {rp} are known */
    TEMPLATE_MQTT, /* + # / and what is no text (control characters, non-characters, invalid UTF-8) become _
                       (MQTT 3.1.1, 1.5.3 and 4.7) */
    TEMPLATE_KAFKA /* all but [A-Za-z0-9._-] become _ */
};

struct template;

/*
 * template_open(out, text, rule, info):
 * Compile; the text is copied. "{{" and "}}" stand for the braces themselves.
 * Errors: ERR_CONFIG (an unknown or unclosed placeholder, with the list of known ones), ERR_NOMEM.
 */
enum err template_open(struct template **out, struct slice text, enum template_rule rule,
                       struct errinfo *info) MUST_USE;
void template_close(struct template *t);

/* template_is_constant(t): no placeholder in it: every point gives the same text. */
bool template_is_constant(const struct template *t);

/* template_put(t, point, out): append the text for ${point}. ERR_NOMEM (also: over the maximum of
 * ${out}). */
enum err template_put(const struct template *t, const struct batch_point *point,
                      struct buf *out) MUST_USE;

#endif
