/*
 * kafka_cut_internal.h: what kafka_cut.c and kafka_cut_batch.c share.
 */
#ifndef SINKD_SINK_KAFKA_CUT_INTERNAL_H
#define SINKD_SINK_KAFKA_CUT_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "sink/kafka_cut.h"

#define KAFKA_CUT_NO_POINT UINT32_MAX

/* kafka_cut_give_up(cut): no batches any more; where one may have been written, its partition has a
 * gap. */
void kafka_cut_give_up(struct kafka_cut *cut);

/* kafka_cut_out_of_memory(cut, info): the same, and ERR_NOMEM. */
enum err kafka_cut_out_of_memory(struct kafka_cut *cut, struct errinfo *info);

/* kafka_cut_fill(cut, round, topic, partition, members): make batches of the points queued
 * there;
 * ${members} has room for them. ERR_NOMEM. */
enum err kafka_cut_fill(struct kafka_cut *cut, struct round *round, size_t topic,
                        uint32_t partition, uint32_t *members) MUST_USE;

#endif
