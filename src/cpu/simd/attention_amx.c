/* See attention_amx.h; the loops are in attention_amx.inc. */
#define LOOPS "cpu/simd/attention_amx.inc"

#include "cpu/simd/isa_amx.inc"
