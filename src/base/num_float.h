/*
 * num_float.h: doubles from and to decimal digits, exactly rounded and fast. For num.c alone.
 *
 * Both ways work with 128-bit powers of ten and never guess: reading says when 128 bits do not
 * decide, writing is proven exact. Sources: D. Lemire, "Number Parsing at a Gigabyte per Second"
 * (2021); R. Giulietti, "The Schubfach way to render doubles" (2020).
 */
#ifndef SINKD_BASE_NUM_FLOAT_H
#define SINKD_BASE_NUM_FLOAT_H

#include <stdbool.h>
#include <stdint.h>

/* num_float_read(digits, exponent, out): the double nearest to ${digits} times ten to the power of
 * ${exponent}. False where another way is needed: undecided, or no normal number. */
bool num_float_read(uint64_t digits, int exponent, double *out);

/* The shortest digits that read back to the same double; ${digits} does not end in 0. */
struct num_float {
    uint64_t digits; /* below 10^17 */
    int exponent;
};

/* num_float_shortest(v): of a finite ${v} above 0. */
struct num_float num_float_shortest(double v);

#endif
