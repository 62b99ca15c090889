/* The loops of loops.h for one instruction set. */
#define ISA       loops_avx512
#define ATTENTION attention_avx512
#define LOOPS     "cpu/simd/all.inc"

#include "cpu/simd/isa_avx512.inc"
