/* Shared by the kernels that quantize floats to 8 bits. */
#ifndef CPU_QUANTIZE_H
#define CPU_QUANTIZE_H

#include <stdbool.h>
#include <stdint.h>

enum { QUANTIZE_BLOCK = 256 };

/* Quantizes like ops/quantize_formula.h. */
void quantize_block(const float *v, int64_t n, float scale, bool is_unsigned, void *dst);

#endif
