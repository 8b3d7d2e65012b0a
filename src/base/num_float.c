/*
 * num_float.c: see num_float.h.
 *
 * Powers of ten are kept in two parts, a power of 10^16 with 128 bits and a small exact one; what
 * is lost in putting them together (at most 3 in the last place) is kept beside, two bits a power.
 */
#include "base/num_float.h"

#include <string.h>

struct wide {
    uint64_t high, low;
};

#define STEP 16
#define POWER_MIN (-352) /* the tables begin here */
#define POWER_MAX 335
#define POWER_EXACT 55 /* up to here from 0 on 128 bits hold it whole */

/* 10^(16 i - 352), the first 128 bits, cut. */
static const struct wide coarse[] = {
    {UINT64_C(0xcd42a11346f34f7d), UINT64_C(0x0092757bf2623727)},
    {UINT64_C(0xe3e27a444d8d98b7), UINT64_C(0xfd1b1b2308169b25)},
    {UINT64_C(0xfd00b897478238d0), UINT64_C(0x8920b098955522b4)},
    {UINT64_C(0x8c71dcd9ba0b4925), UINT64_C(0x9ff0c08b7f1d0b14)},
    {UINT64_C(0x9becce62836ac577), UINT64_C(0x4ee367f9430aec32)},
    {UINT64_C(0xad1c8eab5ee43b66), UINT64_C(0xda3243650005eecf)},
    {UINT64_C(0xc0314325637a1939), UINT64_C(0xfa911155fefb5308)},
    {UINT64_C(0xd5605fcdcf32e1d6), UINT64_C(0xfb1e4a9a90880a64)},
    {UINT64_C(0xece53cec4a314ebd), UINT64_C(0xa4f8bf5635246428)},
    {UINT64_C(0x8380dea93da4bc60), UINT64_C(0x4247cb9e59f71e6d)},
    {UINT64_C(0x91ff83775423cc06), UINT64_C(0x7b6306a34627ddcf)},
    {UINT64_C(0xa21727db38cb002f), UINT64_C(0xb8ada00e5a506a7c)},
    {UINT64_C(0xb3f4e093db73a093), UINT64_C(0x59ed216765690f56)},
    {UINT64_C(0xc7caba6e7c5382c8), UINT64_C(0xfe64a52ee96b8fc0)},
    {UINT64_C(0xddd0467c64bce4a0), UINT64_C(0xac7cb3f6d05ddbde)},
    {UINT64_C(0xf64335bcf065d37d), UINT64_C(0x4d4617b5ff4a16d5)},
    {UINT64_C(0x88b402f7fd75539b), UINT64_C(0x11dbcb0218ebb414)},
    {UINT64_C(0x97c560ba6b0919a5), UINT64_C(0xdccd879fc967d41a)},
    {UINT64_C(0xa87fea27a539e9a5), UINT64_C(0x3f2398d747b36224)},
    {UINT64_C(0xbb127c53b17ec159), UINT64_C(0x5560c018580d5d52)},
    {UINT64_C(0xcfb11ead453994ba), UINT64_C(0x67de18eda5814af2)},
    {UINT64_C(0xe69594bec44de15b), UINT64_C(0x4c2ebe687989a9b3)},
    {UINT64_C(0x8000000000000000), UINT64_C(0x0000000000000000)},
    {UINT64_C(0x8e1bc9bf04000000), UINT64_C(0x0000000000000000)},
    {UINT64_C(0x9dc5ada82b70b59d), UINT64_C(0xf020000000000000)},
    {UINT64_C(0xaf298d050e4395d6), UINT64_C(0x9670b12b7f410000)},
    {UINT64_C(0xc2781f49ffcfa6d5), UINT64_C(0x3cbf6b71c76b25fb)},
    {UINT64_C(0xd7e77a8f87daf7fb), UINT64_C(0xdc33745ec97be906)},
    {UINT64_C(0xefb3ab16c59b14a2), UINT64_C(0xc5cfe94ef3ea101e)},
    {UINT64_C(0x850fadc09923329e), UINT64_C(0x03e2cf6bc604ddb0)},
    {UINT64_C(0x93ba47c980e98cdf), UINT64_C(0xc66f336c36b10137)},
    {UINT64_C(0xa402b9c5a8d3a6e7), UINT64_C(0x5f16206c9c6209a6)},
    {UINT64_C(0xb616a12b7fe617aa), UINT64_C(0x577b986b314d6009)},
    {UINT64_C(0xca28a291859bbf93), UINT64_C(0x7d7b8f7503cfdcfe)},
    {UINT64_C(0xe070f78d3927556a), UINT64_C(0x85bbe253f47b1417)},
    {UINT64_C(0xf92e0c3537826145), UINT64_C(0xa7709a56ccdf8a82)},
    {UINT64_C(0x8a5296ffe33cc92f), UINT64_C(0x82bd6b70d99aaa6f)},
    {UINT64_C(0x9991a6f3d6bf1765), UINT64_C(0xacca6da1e0a8ef29)},
    {UINT64_C(0xaa7eebfb9df9de8d), UINT64_C(0xddbb901b98feeab7)},
    {UINT64_C(0xbd49d14aa79dbc82), UINT64_C(0x4b2d8644d8a74e18)},
    {UINT64_C(0xd226fc195c6a2f8c), UINT64_C(0x73832eec6fff3111)},
    {UINT64_C(0xe950df20247c83fd), UINT64_C(0x47c6b82ef32a2069)},
    {UINT64_C(0x81842f29f2cce375), UINT64_C(0xe6a1158300d46640)},
};

/* What putting the parts together loses of 10^(i - 352), two bits each, the lowest first. */
static const uint64_t missing[] = {
    UINT64_C(0x0000001044051400), UINT64_C(0x0154555050115450), UINT64_C(0x0000000054551454),
    UINT64_C(0x4555954415540140), UINT64_C(0x5144101005000000), UINT64_C(0x5455556400500400),
    UINT64_C(0x4515014001540144), UINT64_C(0x5140400045055454), UINT64_C(0x0000000045540000),
    UINT64_C(0x0010000001400100), UINT64_C(0x0005105400000000), UINT64_C(0x0000000000000000),
    UINT64_C(0x0000000000000000), UINT64_C(0x0500014010044104), UINT64_C(0x5550544010001400),
    UINT64_C(0x0000040000000000), UINT64_C(0x4155451410000100), UINT64_C(0x5044014000004010),
    UINT64_C(0x0000000091555554), UINT64_C(0x1550141014500554), UINT64_C(0x5005100055654144),
    UINT64_C(0x0000000050041000),
};

static const uint64_t small[STEP] = {UINT64_C(1),
                                     UINT64_C(10),
                                     UINT64_C(100),
                                     UINT64_C(1000),
                                     UINT64_C(10000),
                                     UINT64_C(100000),
                                     UINT64_C(1000000),
                                     UINT64_C(10000000),
                                     UINT64_C(100000000),
                                     UINT64_C(1000000000),
                                     UINT64_C(10000000000),
                                     UINT64_C(100000000000),
                                     UINT64_C(1000000000000),
                                     UINT64_C(10000000000000),
                                     UINT64_C(100000000000000),
                                     UINT64_C(1000000000000000)};

static struct wide
multiply(uint64_t a, uint64_t b)
{
    uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
    uint64_t low = a0 * b0, mid = a1 * b0 + (low >> 32), other = a0 * b1 + (mid & 0xffffffff);

    return (struct wide){a1 * b1 + (mid >> 32) + (other >> 32), other << 32 | (low & 0xffffffff)};
}

static unsigned
leading_zeros(uint64_t v)
{
    unsigned n = 0;

    for (unsigned step = 32; step > 0; step /= 2) {
        if (v >> (64 - step) == 0) {
            n += step;
            v <<= step;
        }
    }
    return n;
}

/* n / 2^bits, rounded down. */
static int
shift_down(int n, unsigned bits)
{
    return n >= 0 ? n >> bits : -((-n + (1 << bits) - 1) >> bits);
}

/* The binary exponent of 10^k: 2^result <= 10^k < 2^(result + 1). */
static int
log2_of_power(int k)
{
    return shift_down(k * 1741647, 19);
}

/* The first 128 bits of 10^k, cut; the highest is set. */
static struct wide
power(int k)
{
    unsigned at = (unsigned)(k - POWER_MIN);
    const struct wide *base = &coarse[at / STEP];
    struct wide high = multiply(base->high, small[at % STEP]);
    struct wide low = multiply(base->low, small[at % STEP]);
    uint64_t mid = high.low + low.high, lost;
    unsigned shift;

    high.high += mid < high.low;
    if (high.high == 0) /* times one */
        return *base;
    shift = leading_zeros(high.high);
    if (shift > 0) {
        high.high = high.high << shift | mid >> (64 - shift);
        mid = mid << shift | low.low >> (64 - shift);
    }
    lost = missing[at / 32] >> (at % 32 * 2) & 3;
    mid += lost;
    high.high += mid < lost;
    return (struct wide){high.high, mid};
}

static bool
is_exact(int k)
{
    return k >= 0 && k <= POWER_EXACT;
}

/* ---- reading ---- */

/* A mantissa of 53 bits, or 2^53 after rounding up, whose highest bit stands for 2^exponent. */
static bool
assemble(uint64_t mantissa, int exponent, double *out)
{
    uint64_t bits;

    if (exponent < -1022 || exponent > 1022)
        return false;
    bits = mantissa - (UINT64_C(1) << 52) + ((uint64_t)(exponent + 1023) << 52);
    memcpy(out, &bits, sizeof(bits));
    return true;
}

bool
num_float_read(uint64_t digits, int exponent, double *out)
{
    unsigned shift;
    uint64_t tail, low, half;
    struct wide p, high, cross;

    if (digits == 0) {
        *out = 0;
        return true;
    }
    if (exponent < POWER_MIN || exponent > POWER_MAX)
        return false;
    p = power(exponent);
    shift = leading_zeros(digits);
    digits <<= shift;
    high = multiply(digits, p.high);
    cross = multiply(digits, p.low);
    tail = high.low + cross.high; /* the product: high.high, tail, cross.low */
    high.high += tail < high.low;

    /* 53 bits, one to round by, and the rest, of which the lowest two may be wrong. */
    unsigned drop = high.high >> 63 == 0 ? 9 : 10;
    uint64_t kept = high.high >> drop;
    low = high.high & ((UINT64_C(1) << drop) - 1);
    if (!is_exact(exponent) && low == (UINT64_C(1) << drop) - 1 && tail >= UINT64_MAX - 1)
        return false;
    half = kept & 1;
    kept >>= 1;
    if (half != 0 && (low != 0 || tail != 0 || cross.low != 0 || !is_exact(exponent) || (kept & 1)))
        kept++;
    return assemble(kept, 54 + (int)drop + log2_of_power(exponent) - (int)shift, out);
}

/* ---- writing ---- */

/* The high 64 bits of a product of g and c; the lowest one is set when anything else is. */
static uint64_t
round_to_odd(struct wide g, uint64_t c)
{
    struct wide low = multiply(g.low, c), high = multiply(g.high, c);
    uint64_t mid = high.low + low.high;

    high.high += mid < high.low;
    return high.high | (mid > 1);
}

static struct num_float
without_zeros(uint64_t digits, int exponent)
{
    while (digits % 100000000 == 0) {
        digits /= 100000000;
        exponent += 8;
    }
    while (digits % 10 == 0) {
        digits /= 10;
        exponent++;
    }
    return (struct num_float){digits, exponent};
}

/* The mantissa ${c} times 2^${q}; ${narrow}: the next lower double is only half as far. */
static struct num_float
shortest(uint64_t c, int q, bool narrow)
{
    int k = shift_down(q * 1262611 - (narrow ? 524031 : 0), 22);
    unsigned h = (unsigned)(q + log2_of_power(-k) + 1);
    struct wide g = power(-k);
    uint64_t odd = c & 1, middle, lower, upper, s;

    if (!is_exact(-k)) {
        g.low++;
        g.high += g.low == 0;
    }
    lower = round_to_odd(g, (4 * c - 2 + narrow) << h) + odd;
    middle = round_to_odd(g, 4 * c << h);
    upper = round_to_odd(g, (4 * c + 2) << h) - odd;
    s = middle / 4;
    if (s >= 10) {
        uint64_t tens = s / 10;
        bool below = lower <= 40 * tens, above = 40 * tens + 40 <= upper;

        if (below != above)
            return without_zeros(tens + above, k + 1);
    }

    bool below = lower <= 4 * s, above = 4 * s + 4 <= upper;
    if (below != above)
        return without_zeros(s + above, k);
    return without_zeros(s + (middle > 4 * s + 2 || (middle == 4 * s + 2 && (s & 1) != 0)), k);
}

struct num_float
num_float_shortest(double v)
{
    const uint64_t hidden = UINT64_C(1) << 52;
    uint64_t bits, fraction;
    int biased;

    memcpy(&bits, &v, sizeof(bits));
    fraction = bits & (hidden - 1);
    biased = (int)(bits >> 52 & 0x7ff);
    if (biased == 0)
        return shortest(fraction, -1074, false);
    return shortest(fraction | hidden, biased - 1075, fraction == 0 && biased > 1);
}
