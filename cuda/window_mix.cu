/*
 * window_mix and its gradients, one GEMM per head: the rows are the tokens of a window,
 * the columns a head's features of all windows of all images. Roll, padding, and
 * partition are address arithmetic in the loads and stores. Bytes: x once for each SIDE
 * tokens of a window, the result once.
 *
 * The weight gradient is cut into chunks of columns; a second launch adds their sums in
 * order, in fp64.
 */
#include "ops/window_mix.h"

#include "cuda/kernels.h"
#include "cuda/tile_gemm.h"
#include "graph/kernel.h"

constexpr int SIDE = 64, DEPTH = 32, R = SIDE / TILE_GEMM_SIDE, BLOCKS = 4;
constexpr int WIDE_STRIDE = SIDE + 4, DEEP_STRIDE = DEPTH + 4;

struct mix_shape {
    window_grid grid;
    int64_t pixels, columns; /* columns: images * windows * head */
    int heads, head, channels, windows, tokens, tiles; /* tiles of SIDE tokens */
};

static mix_shape shape_of(const struct node *n, const struct tensor *map)
{
    struct window_mix_size z =
        window_mix_size((const struct window_mix_attrs *)n->attrs, map);
    mix_shape k = {};

    k.grid = z.grid;
    k.pixels = z.pixels;
    k.columns = z.images * z.windows * z.head;
    k.heads = z.heads;
    k.head = z.head;
    k.channels = z.channels;
    k.windows = z.windows;
    k.tokens = z.tokens;
    k.tiles = (z.tokens + SIDE - 1) / SIDE;
    return k;
}

/* One column of a head. */
struct column {
    int64_t index; /* element index of its first pixel */
    int window;
    bool valid;
};

__device__ static inline column column_of(const mix_shape &k, int head, int64_t i)
{
    int64_t unit = i / k.head;

    return {unit / k.windows * k.pixels * k.channels + (int64_t)head * k.head +
                i % k.head,
            (int)(unit % k.windows), i < k.columns};
}

/* Returns the element index of a column's token; -1: padding, or no such token. */
__device__ static inline int64_t element(const mix_shape &k, const column &c, int token)
{
    int p =
        c.valid && token < k.tokens ? window_grid_pixel(&k.grid, c.window, token) : -1;

    return p < 0 ? -1 : c.index + (int64_t)p * k.channels;
}

/* Loads to[token][column] for ROWS tokens and COLUMNS columns from the given ones on. */
template <int ROWS, int COLUMNS, class T>
__device__ static inline void load_map(const mix_shape &k, const T *x, int head,
                                       int token, int64_t first, float *dst)
{
    int i = (int)threadIdx.x % COLUMNS;
    column c = column_of(k, head, first + i);

    for (int r = (int)threadIdx.x / COLUMNS; r < ROWS; r += TILE_GEMM_THREADS / COLUMNS) {
        int64_t pos = element(k, c, token + r);

        dst[r * (COLUMNS + 4) + i] = pos < 0 ? 0 : to_float(x[pos]);
    }
}

/* Loads to[i][j]: SIDE rows and DEPTH columns of a head's matrix, or of its transpose. */
template <class T>
__device__ static inline void load_weight(const mix_shape &k, const T *w, bool transposed,
                                          int row, int column, float *dst)
{
    int n = k.tokens;

    for (int e = (int)threadIdx.x; e < SIDE * DEPTH; e += TILE_GEMM_THREADS) {
        int i = transposed ? e % SIDE : e / DEPTH, j = transposed ? e / SIDE : e % DEPTH;
        bool inside = row + i < n && column + j < n;
        int64_t pos = transposed ? (int64_t)(column + j) * n + row + i
                                 : (int64_t)(row + i) * n + column + j;

        dst[i * DEEP_STRIDE + j] = inside ? to_float(w[pos]) : 0;
    }
}

/* bias: may be NULL */
template <class T>
__global__ void __launch_bounds__(TILE_GEMM_THREADS)
    mix_tokens(const T *x, const T *w, const float *bias, T *y, mix_shape k,
               bool transposed)
{
    __shared__ __align__(16) float weight[SIDE * DEEP_STRIDE], map[DEPTH * WIDE_STRIDE];
    int token = (int)(blockIdx.x % (unsigned)k.tiles) * SIDE;
    int head = (int)(blockIdx.x / (unsigned)k.tiles % (unsigned)k.heads);
    int64_t first = (int64_t)(blockIdx.x / (unsigned)(k.tiles * k.heads)) * SIDE;
    float sum[R][R] = {};

    for (int start = 0; start < k.tokens; start += DEPTH) {
        __syncthreads(); /* wait until the previous tiles have been read */
        load_weight(k, w + (int64_t)head * k.tokens * k.tokens, transposed, token, start,
                    weight);
        load_map<DEPTH, SIDE>(k, x, head, start, first, map);
        __syncthreads();
        tile_gemm_mul(sum, weight, DEEP_STRIDE, map, WIDE_STRIDE, DEPTH);
    }
    UNROLL_WHOLE
    for (int c = 0; c < R; c++) {
        column dst = column_of(k, head, first + tile_gemm_x() * R + c);

        UNROLL_WHOLE
        for (int a = 0; a < R; a++) {
            int i = token + tile_gemm_row(a);
            int64_t pos = element(k, dst, i);

            if (pos >= 0)
                y[pos] =
                    from_float<T>(sum[a][c] + (bias ? bias[head * k.tokens + i] : 0));
        }
    }
}

/* sums [chunks][heads][tokens][tokens + 1]: dw, and db in the last column */
template <class T>
__global__ void __launch_bounds__(TILE_GEMM_THREADS)
    mix_weights(const T *x, const T *dy, float *sums, mix_shape k, int chunks)
{
    __shared__ __align__(16) float left[SIDE * DEEP_STRIDE], right[SIDE * DEEP_STRIDE];
    unsigned b = blockIdx.x, tiles = (unsigned)k.tiles;
    int i = (int)(b % tiles) * SIDE, j = (int)(b / tiles % tiles) * SIDE;
    int head = (int)(b / (tiles * tiles) % (unsigned)k.heads);
    int chunk = (int)(b / (tiles * tiles * (unsigned)k.heads)), t = (int)threadIdx.x;
    float sum[R][R] = {}, bias = 0; /* bias: a quarter of row t / 4 */

    for (int64_t first = (int64_t)chunk * DEPTH; first < k.columns;
         first += (int64_t)chunks * DEPTH) {
        __syncthreads(); /* wait until the previous tiles have been read */
        load_map<SIDE, DEPTH>(k, dy, head, i, first, left);
        load_map<SIDE, DEPTH>(k, x, head, j, first, right);
        __syncthreads();
        tile_gemm_dot(sum, left, right, DEEP_STRIDE, DEPTH);
        for (int c = t % 4; c < DEPTH && j == 0; c += 4)
            bias += left[t / 4 * DEEP_STRIDE + c];
    }
    sums += ((int64_t)chunk * k.heads + head) * k.tokens * (k.tokens + 1);
    UNROLL_WHOLE
    for (int a = 0; a < R; a++)
        UNROLL_WHOLE
    for (int c = 0; c < R; c++) {
        int row = i + tile_gemm_row(a), pos = j + tile_gemm_x() + TILE_GEMM_SIDE * c;

        if (row < k.tokens && pos < k.tokens)
            sums[(int64_t)row * (k.tokens + 1) + pos] = sum[a][c];
    }
    bias += __shfl_xor_sync(0xffffffffu, bias, 1);
    bias += __shfl_xor_sync(0xffffffffu, bias, 2);
    if (j == 0 && t % 4 == 0 && i + t / 4 < k.tokens)
        sums[(int64_t)(i + t / 4) * (k.tokens + 1) + k.tokens] = bias;
}

/* dw, db: may be NULL */
__global__ void __launch_bounds__(TILE_GEMM_THREADS)
    mix_combine(const float *sums, float *dw, float *db, int64_t rows, int tokens,
                int chunks)
{
    int64_t i = (int64_t)blockIdx.x * TILE_GEMM_THREADS + threadIdx.x;
    int64_t n = rows * (tokens + 1), row = i / (tokens + 1), column = i % (tokens + 1);
    double sum = 0;

    if (i >= n)
        return;
    for (int c = 0; c < chunks; c++)
        sum += (double)sums[c * n + i];
    if (column < tokens && dw)
        dw[row * tokens + column] = (float)sum;
    else if (column == tokens && db)
        db[row] = (float)sum;
}

/* ---- claims and launches ---- */

static int chunks_of(const mix_shape &k, const struct device *dev)
{
    int64_t limit = (k.columns + DEPTH - 1) / DEPTH;
    int64_t each = (int64_t)k.tiles * k.tiles * k.heads;
    int64_t want = dev->what.multiprocessors * BLOCKS / each;

    return (int)(want > limit ? limit : want < 1 ? 1 : want);
}

static const char *window_mix_claim(struct region *r, struct graph *, struct node *n,
                                    struct device *dev)
{
    if (n->op != &op_window_mix && n->op != &op_window_mix_data_grad &&
        n->op != &op_window_mix_weight_grad)
        return "no mix of the tokens of windows";
    if (n->in[0]->dtype != n->in[1]->dtype)
        return "one type for both factors";

    region_claim_node(r, n);
    if (n->op == &op_window_mix_weight_grad) {
        mix_shape k = shape_of(n, n->in[WINDOW_MIX_WEIGHT_GRAD_X]);

        region_workspace(r, (size_t)chunks_of(k, dev) * (size_t)k.heads *
                                (size_t)k.tokens * (size_t)(k.tokens + 1) *
                                sizeof(float));
    }
    return nullptr;
}

template <class T> static void tokens_launch(const struct step *s, struct device *dev)
{
    bool grad = s->node->op == &op_window_mix_data_grad;
    int x = grad ? (int)WINDOW_MIX_DATA_GRAD_DY : (int)WINDOW_MIX_X;
    int w = grad ? (int)WINDOW_MIX_DATA_GRAD_WEIGHT : (int)WINDOW_MIX_WEIGHT;
    mix_shape k = shape_of(s->node, s->in_tensor[x]);
    int64_t columns = (k.columns + SIDE - 1) / SIDE;

    LAUNCH(dev, mix_tokens<T>, (unsigned)(columns * k.tiles * k.heads), TILE_GEMM_THREADS,
           0, (const T *)s->in[x], (const T *)s->in[w],
           grad ? nullptr : (const float *)s->in[WINDOW_MIX_BIAS], (T *)s->out[0], k,
           grad);
}

template <class T> static void weights_launch(const struct step *s, struct device *dev)
{
    mix_shape k = shape_of(s->node, s->in_tensor[WINDOW_MIX_WEIGHT_GRAD_X]);
    int chunks = chunks_of(k, dev);
    int64_t rows = (int64_t)k.heads * k.tokens;
    float *sums = (float *)s->workspace;

    LAUNCH(dev, mix_weights<T>, (unsigned)(k.tiles * k.tiles * k.heads * chunks),
           TILE_GEMM_THREADS, 0, (const T *)s->in[WINDOW_MIX_WEIGHT_GRAD_X],
           (const T *)s->in[WINDOW_MIX_WEIGHT_GRAD_DY], sums, k, chunks);
    LAUNCH(dev, mix_combine, cuda_blocks(rows * (k.tokens + 1), TILE_GEMM_THREADS, 1),
           TILE_GEMM_THREADS, 0, (const float *)sums,
           (float *)s->out[WINDOW_MIX_WEIGHT_GRAD_DW],
           (float *)s->out[WINDOW_MIX_WEIGHT_GRAD_DB], rows, k.tokens, chunks);
}

static void window_mix_run(struct step *s, struct device *dev)
{
    WITH_DTYPE(s->in_tensor[0]->dtype, T, {
        if (s->node->op == &op_window_mix_weight_grad)
            weights_launch<T>(s, dev);
        else
            tokens_launch<T>(s, dev);
    });
}

extern const struct kernel cuda_window_mix = {
    .name = "cuda window_mix",
    .claim = window_mix_claim,
    .run = window_mix_run,
};
