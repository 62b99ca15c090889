/* The loops of loops.h for one instruction set. */
#define ISA       loops_base
#define ATTENTION attention_base
#define LOOPS     "cpu/simd/all.inc"

#include "cpu/simd/isa_base.inc"
