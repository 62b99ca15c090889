/*
 * Packs weights for oneDNN with our own loop (loops.h), four times as fast as the
 * library's reorders. The bytes are the same.
 */
#ifndef CPU_PACK_H
#define CPU_PACK_H

#include "cpu/onednn.h"
#include "cpu/simd/loops.h"

/*
 * Fills all of p except `src` and `dst`, for weights O,I or O,I,H,W (dims as in
 * graph/tensor.h, stored O,H,W,I) that prim wants in `type`. Returns false if our loops
 * do not support the instruction set or the packing; then use onednn_pack_run.
 */
bool pack_plan(struct pack *p, const struct loops *loops, const struct onednn_prim *prim,
               enum dtype type, int ndim, const int64_t *dim);

#endif
