/*
 * crc32c.c: CRC-32C by the processor's instruction, or eight bytes a step by tables.
 * The polynomial is 0x1EDC6F41 and is used bit-reversed; the value is inverted before and after.
 */
#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

#include "base/wire.h"
#include "config.h"

#if defined(SINKD_HAVE_SSE42_TARGET)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

#define POLYNOMIAL 0x82f63b78U

static uint32_t tables[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* tables[k][b] is what byte b does to the value when k more zero bytes follow it. */
static void
build_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ ((value & 1) != 0 ? POLYNOMIAL : 0);
        tables[0][byte] = value;
    }
    for (int k = 1; k < 8; k++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = tables[k - 1][byte];
            tables[k][byte] = before >> 8 ^ tables[0][before & 0xff];
        }
}

uint32_t
crc32c_by_table(uint32_t crc, const void *p, size_t n)
{
    const uint8_t *at = p;
    uint32_t value = ~crc;

    (void)pthread_once(&once, build_tables);
    for (; n >= 8; n -= 8, at += 8) {
        uint32_t low = value ^ load_le32(at), high = load_le32(at + 4);
        value = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^
                tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^
                tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
    }
    for (; n > 0; n--, at++)
        value = value >> 8 ^ tables[0][(value ^ *at) & 0xff];
    return ~value;
}

#if defined(SINKD_HAVE_SSE42_TARGET)

__attribute__((target("sse4.2"))) static uint32_t
by_instruction(uint32_t crc, const uint8_t *at, size_t n)
{
    uint64_t value = ~crc;

    for (; n >= 8; n -= 8, at += 8)
        value = _mm_crc32_u64(value, load_le64(at));

    uint32_t rest = (uint32_t)value;
    for (; n > 0; n--, at++)
        rest = _mm_crc32_u8(rest, *at);
    return ~rest;
}

uint32_t
crc32c(uint32_t crc, const void *p, size_t n)
{
    return __builtin_cpu_supports("sse4.2") ? by_instruction(crc, p, n)
                                            : crc32c_by_table(crc, p, n);
}

#elif defined(__ARM_FEATURE_CRC32)

uint32_t
crc32c(uint32_t crc, const void *p, size_t n)
{
    const uint8_t *at = p;
    uint32_t value = ~crc;

    for (; n >= 8; n -= 8, at += 8)
        value = __crc32cd(value, load_le64(at));
    for (; n > 0; n--, at++)
        value = __crc32cb(value, *at);
    return ~value;
}

#else

uint32_t
crc32c(uint32_t crc, const void *p, size_t n)
{
    return crc32c_by_table(crc, p, n);
}

#endif
