/*
 * topic_url.h: URLs of the form scheme://host[:port][,host...]/topic, as the brokers' types have
 * them.
 */
#ifndef SINKD_SINK_TOPIC_URL_H
#define SINKD_SINK_TOPIC_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "sink/sink_def.h"
#include "sink/template.h"

/*
 * topic_url_check(def, rule, many_hosts, longest, info):
 * One host, or with ${many_hosts} several; a topic template that compiles, of at most ${longest}
 * bytes; no query. ERR_CONFIG, ERR_NOMEM.
 */
enum err topic_url_check(const struct sink_def *def, enum template_rule rule, bool many_hosts,
                         size_t longest, struct errinfo *info) MUST_USE;

/* topic_url_text(def, out, info): append the topic template, percent-encoding taken off.
 * ERR_CONFIG, ERR_NOMEM. */
enum err topic_url_text(const struct sink_def *def, struct buf *out, struct errinfo *info) MUST_USE;

/* topic_url_open(out, def, rule, info): the template of the topic. ERR_CONFIG, ERR_NOMEM. */
enum err topic_url_open(struct template **out, const struct sink_def *def, enum template_rule rule,
                        struct errinfo *info) MUST_USE;

#endif
