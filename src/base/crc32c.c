/*
 * crc32c.c: CRC-32C by the processor's instruction, or eight bytes a step by tables.
 *
 * The instruction takes three cycles but one can begin in each: so three stretches are worked on
 * together, and joined by what as many zero bytes as a stretch has do to a value.
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

#define LANE 256u /* bytes of one of the three stretches */

static uint32_t tables[8][256];
static uint32_t shifts[4]
                      [256]; /* what byte b, k bytes from the low end, is after LANE zero bytes */
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
    for (unsigned k = 0; k < 4; k++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t value = byte << 8 * k;
            for (unsigned i = 0; i < LANE; i++)
                value = value >> 8 ^ tables[0][value & 0xff];
            shifts[k][byte] = value;
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

#if defined(SINKD_HAVE_SSE42_TARGET) || defined(__ARM_FEATURE_CRC32)

#if defined(SINKD_HAVE_SSE42_TARGET)
#define TARGET __attribute__((target("sse4.2")))
#define ADD_WORD(value, word) ((uint32_t)_mm_crc32_u64(value, word))
#define ADD_BYTE(value, byte) _mm_crc32_u8(value, byte)
#define HAS_INSTRUCTION() __builtin_cpu_supports("sse4.2")
#else
#define TARGET
#define ADD_WORD(value, word) __crc32cd(value, word)
#define ADD_BYTE(value, byte) __crc32cb(value, byte)
#define HAS_INSTRUCTION() 1
#endif

static uint32_t
shift(uint32_t value)
{
    return shifts[0][value & 0xff] ^ shifts[1][value >> 8 & 0xff] ^ shifts[2][value >> 16 & 0xff] ^
           shifts[3][value >> 24];
}

TARGET static uint32_t
three_lanes(uint32_t value, const uint8_t *at)
{
    uint32_t second = 0, third = 0;

    for (const uint8_t *end = at + LANE; at < end; at += 8) {
        value = ADD_WORD(value, load_le64(at));
        second = ADD_WORD(second, load_le64(at + LANE));
        third = ADD_WORD(third, load_le64(at + 2 * LANE));
    }
    return shift(shift(value) ^ second) ^ third;
}

TARGET static uint32_t
by_instruction(uint32_t crc, const uint8_t *at, size_t n)
{
    uint32_t value = ~crc;

    if (n >= 3 * LANE)
        (void)pthread_once(&once, build_tables);
    for (; n >= 3 * LANE; n -= 3 * LANE, at += 3 * LANE)
        value = three_lanes(value, at);
    for (; n >= 8; n -= 8, at += 8)
        value = ADD_WORD(value, load_le64(at));
    for (; n > 0; n--, at++)
        value = ADD_BYTE(value, *at);
    return ~value;
}

uint32_t
crc32c(uint32_t crc, const void *p, size_t n)
{
    return HAS_INSTRUCTION() ? by_instruction(crc, p, n) : crc32c_by_table(crc, p, n);
}

#else

uint32_t
crc32c(uint32_t crc, const void *p, size_t n)
{
    return crc32c_by_table(crc, p, n);
}

#endif
