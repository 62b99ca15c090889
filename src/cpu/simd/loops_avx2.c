/* The loops of loops.h for one instruction set. */
#define ISA       loops_avx2
#define ATTENTION attention_avx2
#define LOOPS     "cpu/simd/all.inc"

#include "cpu/simd/isa_avx2.inc"
