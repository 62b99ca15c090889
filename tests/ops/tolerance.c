#include "tests/ops/tolerance.h"

#include <stdlib.h>
#include <string.h>

bool tolerance_tf32(void)
{
    const char *value = getenv("TEST_TF32");

    return value && !strcmp(value, "1");
}

/* The unit roundoff of the type in which results (with TF32: factors) are stored. */
static double roundoff(enum dtype d)
{
    if (d == DTYPE_F32 && tolerance_tf32())
        return 1.0 / 1024;
    return d == DTYPE_BF16 ? 1.0 / 512 : d == DTYPE_F16 ? 1.0 / 4096 : 1.0 / 2e6;
}

/*
 * True if rounding may flip elements of a result. In a wide chain some input of a ReLU is
 * within rounding of its kink, so that the two sides mask different elements of the
 * gradient. Forward results are continuous there and never flip.
 */
static bool may_flip(const struct op_case *row, enum dtype d, bool forward)
{
    return !forward && row->chain && row->wide && (d != DTYPE_F32 || tolerance_tf32());
}

/*
 * Chains of ops round after each, and batch norm
 * amplifies earlier errors. A flip loses the square of one element, so the error is the
 * share of flips: the kink's input is normalized, its density is at most 0.4, and a chain
 * moves it by less than 10 roundoffs u to each side, hence 0.4 * 20 u. The CPU's worst
 * row has 4 u.
 */
double tolerance_nmse(const struct op_case *row, enum dtype d, bool tiles, bool forward)
{
    if (may_flip(row, d, forward))
        return 8 * roundoff(d);
    /* AMX tiles also round attention's weights, which other kernels keep in fp32. */
    return (row->chain                 ? 100
            : tiles && d == DTYPE_BF16 ? 8
                                       : 4) *
           roundoff(d) * roundoff(d);
}

/* A flip replaces a gradient by zero or zero by a gradient, so it adds at most the largest
 * element. */
double tolerance_max(const struct op_case *row, enum dtype d, bool forward)
{
    return (may_flip(row, d, forward) ? 1 : 0) + (row->chain ? 40 : 8) * roundoff(d);
}
