/*
 * kafka_partition.c: see kafka_partition.h.
 */
#include "kafka/kafka_partition.h"

#include "base/wire.h"

#define SEED 0x9747b28cU
#define MULTIPLIER 0x5bd1e995U

uint32_t
kafka_partition_hash(struct slice key)
{
    uint32_t h = SEED ^ (uint32_t)key.n;
    const uint8_t *p = key.p;
    size_t left = key.n;

    for (; left >= 4; left -= 4, p += 4) {
        uint32_t k = load_le32(p) * MULTIPLIER;

        k = (k ^ k >> 24) * MULTIPLIER;
        h = (h * MULTIPLIER) ^ k;
    }
    if (left == 3)
        h ^= (uint32_t)p[2] << 16;
    if (left >= 2)
        h ^= (uint32_t)p[1] << 8;
    if (left >= 1)
        h = (h ^ p[0]) * MULTIPLIER;
    h = (h ^ h >> 13) * MULTIPLIER;
    return h ^ h >> 15;
}

int32_t
kafka_partition_of(struct slice key, uint32_t count)
{
    return (int32_t)((kafka_partition_hash(key) & INT32_MAX) % count);
}
