/* The loops with AVX-512 and its bf16 instructions: Zen 4 and 5, Cooper Lake, Xeon 4. */
#ifdef __clang__
#pragma clang attribute push(                                                            \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma"))),   \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")
#endif

#define ISA        loops_avx512bf16
#define ISA_NAME   "AVX-512 BF16"
#define LANES      16
#define HAS_FMA    1
#define HAS_AVX512 1
#define HAS_BF16   1

#include "cpu/simd/all.inc"

#ifdef __clang__
#pragma clang attribute pop
#endif
