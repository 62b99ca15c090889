/* The loops of loops.h for one instruction set. */
#define ISA       loops_avx512bf16
#define ATTENTION attention_avx512bf16
#define LOOPS     "cpu/simd/all.inc"

#include "cpu/simd/isa_avx512bf16.inc"
