/* The loops with AVX2 and FMA. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#define ISA        loops_avx2
#define ISA_NAME   "AVX2"
#define LANES      8
#define HAS_FMA    1
#define HAS_AVX512 0
#define HAS_BF16   0

#include "cpu/simd/all.inc"

#ifdef __clang__
#pragma clang attribute pop
#endif
