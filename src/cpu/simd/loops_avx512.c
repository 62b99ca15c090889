/* The loops with AVX-512 without bf16 instructions: Skylake to Ice Lake. */
#ifdef __clang__
#pragma clang attribute push(                                                            \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))),              \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#endif

#define ISA        loops_avx512
#define ISA_NAME   "AVX-512"
#define LANES      16
#define HAS_FMA    1
#define HAS_AVX512 1
#define HAS_BF16   0

#include "cpu/simd/all.inc"

#ifdef __clang__
#pragma clang attribute pop
#endif
