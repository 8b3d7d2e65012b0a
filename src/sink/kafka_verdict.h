/*
 * kafka_verdict.h: what a broker's answer for one batch does to it.
 */
#ifndef SINKD_SINK_KAFKA_VERDICT_H
#define SINKD_SINK_KAFKA_VERDICT_H

#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "kafka/kafka_msg.h"
#include "sink/kafka_produce.h"
#include "sink/round.h"

/*
 * kafka_verdict_result(p, round, b, result, info):
 * Resolve, split or keep batch ${b} as ${result} says; what keeps it goes into p->trouble. A
 * refused point is named in ${info}. ERR_NOMEM.
 */
enum err kafka_verdict_result(struct kafka_produce *p, struct round *round, size_t b,
                              struct kafka_msg_result *result, struct errinfo *info) MUST_USE;

/* kafka_verdict_topic(p, topic): why a topic has no partitions that are known. */
void kafka_verdict_topic(struct kafka_produce *p, size_t topic);

/* kafka_verdict_link(p, err, info): a connection failed. */
void kafka_verdict_link(struct kafka_produce *p, enum err err, const struct errinfo *info);

/* kafka_verdict_trouble(p, what, kind, format, ...): note it, unless what is noted is over sooner.
 */
void kafka_verdict_trouble(struct kafka_produce *p, enum delivery what, enum store_error_kind kind,
                           const char *format, ...) PRINTF_LIKE(4, 5);

#endif
