/* The loops for any 64-bit processor: four floats at a time, SSE2 on x86. */
#define ISA        loops_base
#define ISA_NAME   "SSE2"
#define LANES      4
#define HAS_FMA    0
#define HAS_AVX512 0
#define HAS_BF16   0

#include "cpu/simd/all.inc"
