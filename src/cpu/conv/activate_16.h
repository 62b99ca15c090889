/* An activation other than relu on 16 results, for loops in AVX-512 intrinsics. */
#ifndef CPU_CONV_ACTIVATE_16_H
#define CPU_CONV_ACTIVATE_16_H

#include "cpu/simd/loops.h"

/* A macro: this header comes before the pragma that allows AVX-512. v: __m512. */
#define ACTIVATE_16(loops_, t, act, v)                                                   \
    do {                                                                                 \
        float y_[16] __attribute__((aligned(64)));                                       \
                                                                                         \
        _mm512_store_ps(y_, v);                                                          \
        (loops_)->expr(t, (act).row->value, y_, y_, y_, (act).m, y_, 16);                \
        (v) = _mm512_load_ps(y_);                                                        \
    } while (0)

#endif
