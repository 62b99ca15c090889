#include "cpu/pack.h"

/* Describes oneDNN's packing to our loop; returns false if the loop does not support it. */
static bool pack_blocks(struct pack *p, const struct onednn_blocks *b)
{
    int64_t pair = p->t == DTYPE_BF16 ? 2 : 1, inner = 1;
    int n = b->count, o = 0;

    if (n < 1 || (pair == 2 && b->size[n - 1] != 2))
        return false;
    p->block_o = p->block_i = 16;
    p->transposed = n == (int)pair || (n == (int)pair + 1 && b->of_in[0]);
    if (!p->transposed) /* [16 o][16 i], or [8 o][16 i][2 o] */
        return n == (int)pair + 1 && !b->of_in[0] && b->of_in[1] && b->size[1] == 16 &&
               b->size[0] * pair == 16 && (pair == 1 || !b->of_in[2]);
    if (b->of_in[0]) { /* [i][o], or [i][o][2 i]: as if the outer i were 1 */
        inner = b->size[0];
        o = 1;
    }
    p->block_o = b->size[o];
    p->block_i = pair;
    p->stride_i = p->block_o * pair;
    return !b->of_in[o] && (pair == 1 || b->of_in[o + 1]) && p->block_o % 16 == 0 &&
           b->stride_i == inner * p->stride_i;
}

bool pack_plan(struct pack *p, const struct loops *loops, const struct onednn_prim *prim,
               enum dtype type, int ndim, const int64_t *dim)
{
    struct onednn_blocks b;

    if (!loops->pack || (type == DTYPE_BF16 && !loops->conv.gemm_pairs) ||
        !onednn_prim_blocks(prim, &b))
        return false;
    *p = (struct pack){
        .t = type,
        .out = dim[0],
        .in = dim[1],
        .out_padded = b.out_padded,
        .in_padded = b.in_padded,
        .taps = ndim == 4 ? dim[2] * dim[3] : 1,
        .kernel_w = ndim == 4 ? dim[3] : 1,
        .stride_o = b.stride_o,
        .stride_i = b.stride_i,
        .stride_h = b.stride_h,
        .stride_w = b.stride_w,
    };
    return pack_blocks(p, &b);
}
