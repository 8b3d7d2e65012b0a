/*
 * crc32c.h: CRC-32C (Castagnoli), as the log's chunks and Kafka's record batches use it.
 * Source: RFC 3720 appendix B.4. The processor's instruction where the compiler offers it, a table
 * of eight slices elsewhere; both give the same on any byte order.
 */
#ifndef SINKD_BASE_CRC32C_H
#define SINKD_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* crc32c(crc, p, n): continue ${crc} (0 at first) over ${n} bytes. */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);

/* crc32c_by_table(crc, p, n): the same without the instruction, so that a test can compare the
 * two. */
uint32_t crc32c_by_table(uint32_t crc, const void *p, size_t n);

#endif
