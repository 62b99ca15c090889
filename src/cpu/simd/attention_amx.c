/* attention_amx.h. Its loops are attention_amx.inc. */
#define LOOPS "cpu/simd/attention_amx.inc"

#include "cpu/simd/isa_amx.inc"
