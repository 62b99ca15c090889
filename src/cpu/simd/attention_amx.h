/*
 * Attention within a window on AMX tiles, in bf16: `forward` and `grad` of
 * attention_loops.h for processors where amx_usable() (cpu/amx.h) and vectors have 16
 * lanes. Softmax, norms, and sums are fp32 as there, and scores use the unmodified q and
 * k. The weights, the gradient of the scores, and SwinV2's directions where these are
 * multiplied are rounded to bf16.
 */
#ifndef CPU_SIMD_ATTENTION_AMX_H
#define CPU_SIMD_ATTENTION_AMX_H

#include "cpu/simd/attention_args.h"

/* Returns the floats of a->scratch, which is aligned to 64 bytes. */
int64_t attention_amx_room(int tokens, int head, bool gradient);

void attention_amx_forward(const struct attention *a);
void attention_amx_grad(const struct attention *a);

#endif
