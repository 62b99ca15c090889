#include "cpu/simd/loops.h"

#include <stdbool.h>

#ifdef __x86_64__
static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

const struct loops *loops_best(void)
{
    if (has_avx512())
        return __builtin_cpu_supports("avx512bf16") ? &loops_avx512bf16 : &loops_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &loops_avx2;
    return &loops_base;
}

/* vdpbf16ps does twice the work of an fp32 FMA. Zen 4 and 5 execute as many of them; Intel's
 * processors a quarter as many (measured on an Emerald Rapids: 170 instead of 322 GFLOP/s). */
bool loops_dot_is_fast(const struct loops *l)
{
    return l->conv.gemm_pairs && !__builtin_cpu_is("intel");
}
#else
const struct loops *loops_best(void)
{
    return &loops_base;
}

bool loops_dot_is_fast(const struct loops *l)
{
    (void)l;
    return false;
}
#endif
