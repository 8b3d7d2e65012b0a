/*
 * kafka_produce_internal.h: what kafka_produce.c and kafka_produce_pass.c share.
 */
#ifndef SINKD_SINK_KAFKA_PRODUCE_INTERNAL_H
#define SINKD_SINK_KAFKA_PRODUCE_INTERNAL_H

#include "base/attr.h"
#include "base/err.h"
#include "sink/kafka_produce.h"

/* kafka_produce_pass(p, round, info): send one batch of each partition that has a leader, and take
 * the answers. What is in the way of the others is in p->trouble. ERR_STOP, ERR_NOMEM. */
enum err kafka_produce_pass(struct kafka_produce *p, struct round *round,
                            struct errinfo *info) MUST_USE;

#endif
