/*
 * Weights into oneDNN's packings by our own loop (loops.h), which is four times as fast
 * as the library's reorders. The bytes are the same.
 */
#ifndef CPU_PACK_H
#define CPU_PACK_H

#include "cpu/onednn.h"
#include "cpu/simd/loops.h"

/*
 * Fills all of p but `from` and `to`, for weights O,I or O,I,H,W (dim as spelled by
 * graph/tensor.h, stored O,H,W,I) that prim wants in `type`. False: these loops, or the
 * packing, have no code of ours, and onednn_pack_run is the way.
 */
bool pack_plan(struct pack *p, const struct loops *loops, const struct onednn_prim *prim,
               enum dtype type, int ndim, const int64_t *dim);

#endif
