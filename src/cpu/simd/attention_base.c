/* The loops of attention_loops.h for one instruction set. */
#define ISA   attention_base
#define LOOPS "cpu/simd/attention_all.inc"

#include "cpu/simd/isa_base.inc"
