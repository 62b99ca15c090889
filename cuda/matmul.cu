/*
 * matmul: a block computes a tile of TILE x TILE elements of the product of one matrix of
 * the batch, from tiles of both operands in shared memory; fp32 sums. Threads read along
 * the dim of an operand that is stored without gaps.
 */
#include "ops/matmul.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"

enum { TILE = 32, SIDE = 16, EACH = TILE / SIDE, BLOCK = SIDE * SIDE };

struct product {
    float alpha;
    unsigned tiles_i, tiles_j; /* per matrix */
    int64_t batch1, rows, columns, sums;
    int64_t a[MATMUL_STRIDES], b[MATMUL_STRIDES], y[MATMUL_STRIDES];
};

/* Reads a tile that begins at (row, column) of a matrix; what is outside is 0. */
template <class T>
__device__ static inline void
read_tile(float (*tile)[TILE + 1], const T *x, int64_t row_step, int64_t column_step,
          int64_t row, int64_t column, int64_t rows, int64_t columns)
{
    bool by_rows = column_step == 1;

    for (int k = (int)threadIdx.x; k < TILE * TILE; k += BLOCK) {
        int i = by_rows ? k / TILE : k % TILE, j = by_rows ? k % TILE : k / TILE;
        bool inside = row + i < rows && column + j < columns;

        tile[i][j] =
            inside ? to_float(x[(row + i) * row_step + (column + j) * column_step]) : 0;
    }
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    matmul_tiles(const T *a, const T *b, T *y, product p)
{
    __shared__ float a_tile[TILE][TILE + 1], b_tile[TILE][TILE + 1];
    unsigned tile = blockIdx.x % (p.tiles_i * p.tiles_j),
             matrix = blockIdx.x / (p.tiles_i * p.tiles_j);
    int64_t first = matrix / p.batch1, second = matrix % p.batch1;
    int64_t i = (int64_t)(tile / p.tiles_j) * TILE,
            j = (int64_t)(tile % p.tiles_j) * TILE;
    int ti = (int)threadIdx.x / SIDE, tj = (int)threadIdx.x % SIDE;
    float sum[EACH][EACH] = {};

    a += first * p.a[MATMUL_BATCH0] + second * p.a[MATMUL_BATCH1];
    b += first * p.b[MATMUL_BATCH0] + second * p.b[MATMUL_BATCH1];
    y += first * p.y[MATMUL_BATCH0] + second * p.y[MATMUL_BATCH1];
    for (int64_t l = 0; l < p.sums; l += TILE) {
        read_tile(a_tile, a, p.a[MATMUL_ROW], p.a[MATMUL_COLUMN], i, l, p.rows, p.sums);
        read_tile(b_tile, b, p.b[MATMUL_ROW], p.b[MATMUL_COLUMN], l, j, p.sums,
                  p.columns);
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            for (int u = 0; u < EACH; u++)
                for (int v = 0; v < EACH; v++)
                    sum[u][v] += a_tile[ti + u * SIDE][k] * b_tile[k][tj + v * SIDE];
        __syncthreads();
    }
    for (int u = 0; u < EACH; u++)
        for (int v = 0; v < EACH; v++) {
            int64_t row = i + ti + u * SIDE, column = j + tj + v * SIDE;

            if (row < p.rows && column < p.columns)
                y[row * p.y[MATMUL_ROW] + column * p.y[MATMUL_COLUMN]] =
                    from_float<T>(p.alpha * sum[u][v]);
        }
}

static const char *matmul_claim(struct region *r, struct graph *, struct node *n,
                                struct device *)
{
    if (n->op != &op_matmul)
        return "no matmul";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype)
            return "one type for all";

    region_claim_node(r, n);
    return nullptr;
}

static void matmul_run(struct step *s, struct device *dev)
{
    const struct matmul_attrs *m = (const struct matmul_attrs *)s->node->attrs;
    product p = {};
    unsigned blocks;

    p.alpha = m->alpha;
    p.tiles_i = (unsigned)((m->rows + TILE - 1) / TILE);
    p.tiles_j = (unsigned)((m->columns + TILE - 1) / TILE);
    p.batch1 = m->batch[1];
    p.rows = m->rows;
    p.columns = m->columns;
    p.sums = m->sums;
    for (int d = 0; d < MATMUL_STRIDES; d++) {
        p.a[d] = m->a[d];
        p.b[d] = m->b[d];
        p.y[d] = m->y[d];
    }
    blocks = (unsigned)(m->batch[0] * m->batch[1]) * p.tiles_i * p.tiles_j;
    WITH_DTYPE(s->out_tensor[0]->dtype, T,
               LAUNCH(dev, matmul_tiles<T>, blocks, BLOCK, 0, (const T *)s->in[MATMUL_A],
                      (const T *)s->in[MATMUL_B], (T *)s->out[0], p));
}

extern const struct kernel cuda_matmul = {
    .name = "cuda matmul",
    .claim = matmul_claim,
    .run = matmul_run,
};
