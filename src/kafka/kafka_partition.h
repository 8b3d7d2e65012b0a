/*
 * kafka_partition.h: which partition a key belongs to, as Java's producer says.
 * Pure. Source: MurmurHash2 (public domain), with the seed and mask of Kafka's default partitioner.
 */
#ifndef SINKD_KAFKA_KAFKA_PARTITION_H
#define SINKD_KAFKA_KAFKA_PARTITION_H

#include <stdint.h>

#include "base/slice.h"

/* kafka_partition_hash(key): the 32 bits of murmur2. */
uint32_t kafka_partition_hash(struct slice key);

/* kafka_partition_of(key, count): of ${count} partitions (1 or more), with or without a leader. */
int32_t kafka_partition_of(struct slice key, uint32_t count);

#endif
