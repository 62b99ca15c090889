/*
 * Window attention: the claim and the forward pass. A block has a tile of queries and
 * loops over the keys: scores in registers, online softmax (Milakov & Gimelshein 2018,
 * arXiv 1805.02867; Dao et al. 2022, arXiv 2205.14135), weights in shared memory. Keys
 * and values share a tile. Bytes: qkv once for each tile of queries, y once.
 */
#include "cuda/window_attention.h"

#include "cuda/kernels.h"
#include "cuda/window_attention_scores.h"

static const float *option(const struct step *s, enum window_attention_option o)
{
    int slot = window_attention_slot(s->node, o);

    return slot < 0 ? nullptr : (const float *)s->in[slot];
}

attention attention_of_node(const struct node *n)
{
    const struct window_attention_attrs *a =
        (const struct window_attention_attrs *)n->attrs;
    struct window_attention_size z = window_attention_size(n);
    attention k = {};

    k.grid = z.grid;
    k.pixels = z.pixels;
    k.units = z.images * z.windows;
    k.heads = z.heads;
    k.head = z.head;
    k.channels = z.channels;
    k.windows = z.windows;
    k.tokens = z.tokens;
    k.offsets = window_grid_offsets(&z.grid);
    k.center = window_grid_offset(&z.grid, 0, 0);
    k.scale = a->scale;
    k.rate = a->dropout;
    k.salt = (uint32_t)a->salt;
    k.share = a->share;
    k.vectors = z.head % (16 / (int)dtype_size(n->in[0]->dtype)) == 0;
    return k;
}

attention attention_of(const struct step *s)
{
    attention k = attention_of_node(s->node);

    k.table = option(s, WINDOW_ATTENTION_TABLE);
    k.logit_scale = option(s, WINDOW_ATTENTION_LOGIT_SCALE);
    k.pad = option(s, WINDOW_ATTENTION_PAD);
    k.control = (const struct control *)option(s, WINDOW_ATTENTION_CONTROL);
    return k;
}

static const char *attention_claim(struct region *r, struct graph *, struct node *n,
                                   struct device *)
{
    if (n->op != &op_window_attention)
        return "no attention";
    if (n->in[WINDOW_ATTENTION_QKV]->dtype != n->out[WINDOW_ATTENTION_Y]->dtype)
        return "one type for qkv and the result";

    region_claim_node(r, n);
    return nullptr;
}

/* Computes the scores of all pairs of two tiles; -infinity for keys after the last. */
template <class S>
__device__ static inline void scores_of(const attention &k, const unit &u,
                                        const biases &b, const token *query,
                                        const token *key, int first,
                                        float (&s)[S::R][S::R])
{
    UNROLL_WHOLE
    for (int a = 0; a < S::R; a++)
        UNROLL_WHOLE
        for (int c = 0; c < S::R; c++) {
            int i = tile_gemm_row(a), j = tile_gemm_x() + TILE_GEMM_SIDE * c;

            s[a][c] = first + j < k.tokens
                          ? score(k, b, u.scale * s[a][c], query[i], key[j])
                          : -INFINITY;
        }
}

/* Online softmax: turns scores into unnormalized weights and rescales the running sum and
 * output. */
template <class S>
__device__ static inline void online_softmax(float (&s)[S::R][S::R],
                                             float (&row_max)[S::R], float (&sum)[S::R],
                                             float (&y)[S::R][S::C])
{
    UNROLL_WHOLE
    for (int a = 0; a < S::R; a++) {
        float new_max = row_max[a], rescale;

        UNROLL_WHOLE
        for (int c = 0; c < S::R; c++)
            new_max = fmaxf(new_max, s[a][c]);
        for (int lanes = TILE_GEMM_SIDE / 2; lanes > 0; lanes /= 2)
            new_max = fmaxf(new_max, __shfl_xor_sync(0xffffffffu, new_max, lanes));
        rescale = expf(row_max[a] - new_max);
        row_max[a] = new_max;
        sum[a] *= rescale;
        UNROLL_WHOLE
        for (int c = 0; c < S::C; c++)
            y[a][c] *= rescale;
        UNROLL_WHOLE
        for (int c = 0; c < S::R; c++) {
            s[a][c] = expf(s[a][c] - new_max);
            sum[a] += s[a][c];
        }
    }
}

/* lse: may be NULL */
template <class S, class T>
__device__ static inline void
store(const attention &k, const unit &u, const token *query, const float (&row_max)[S::R],
      const float (&sum)[S::R], const float (&y)[S::R][S::C], T *dst, float *lse)
{
    UNROLL_WHOLE
    for (int a = 0; a < S::R; a++) {
        float total = row_of_16_sum(sum[a]);
        int pixel = query[tile_gemm_row(a)].pixel;

        if (pixel < 0)
            continue;
        if (tile_gemm_x() == 0 && lse)
            lse[(u.pixel + pixel) * k.heads + u.head] = row_max[a] + logf(total);
        UNROLL_WHOLE
        for (int c = 0; c < S::C; c++) {
            int d = tile_gemm_x() * S::C + c;

            if (d < k.head)
                dst[result_at(k, u, pixel) + d] = from_float<T>(y[a][c] / total);
        }
    }
}

template <class S, class T>
__global__ void __launch_bounds__(TILE_GEMM_THREADS)
    attention_forward(const T *qkv, T *dst, float *lse, attention k)
{
    SHARED_BYTES(bytes);
    __shared__ token query[S::TILE], key[S::TILE];
    float *q = reinterpret_cast<float *>(bytes), *kv = q + S::FEATURES;
    float *weight = kv + S::FEATURES;
    attention_block block = attention_block_of<S>(k);
    unit u = block.u;
    biases b = biases_of(k, u.head, weight + S::SCORES);
    float y[S::R][S::C] = {}, row_max[S::R], sum[S::R] = {}, norm[S::R];
    int dot = (k.head + 3) / 4 * 4;

    UNROLL_WHOLE
    for (int a = 0; a < S::R; a++)
        row_max[a] = -INFINITY;
    load_tokens<S::TILE>(k, u, block.first, query);
    __syncthreads();
    load_features<S>(k, part_of(k, u, qkv, ATTENTION_Q), query, block.first, q);
    __syncthreads();
    if (k.logit_scale)
        normalize_rows<S>(k, q, norm);
    for (int first = 0; first < k.tokens; first += S::TILE) {
        float s[S::R][S::R] = {};

        load_tokens<S::TILE>(k, u, first, key);
        __syncthreads(); /* wait until the previous values have been read */
        load_features<S>(k, part_of(k, u, qkv, ATTENTION_K), key, first, kv);
        __syncthreads();
        if (k.logit_scale) {
            normalize_rows<S>(k, kv, norm);
            __syncthreads();
        }
        tile_gemm_dot(s, q, kv, S::STRIDE, dot);
        scores_of<S>(k, u, b, query, key, first, s);
        online_softmax<S>(s, row_max, sum, y);
        UNROLL_WHOLE
        for (int a = 0; a < S::R; a++) {
            UNROLL_WHOLE
            for (int c = 0; c < S::R; c++) {
                int i = tile_gemm_row(a), j = tile_gemm_x() + TILE_GEMM_SIDE * c;

                weight[i * S::PAIRS + j] =
                    s[a][c] * mask_of(k, u, query[i].pixel, first + j);
            }
        }
        __syncthreads(); /* wait until the keys have been read */
        load_features<S>(k, part_of(k, u, qkv, ATTENTION_V), key, first, kv);
        __syncthreads();
        tile_gemm_mul(y, weight, S::PAIRS, kv, S::STRIDE, S::TILE);
    }
    store<S>(k, u, query, row_max, sum, y, dst, lse);
}

template <class S, class T>
static void forward_launch(const struct step *s, struct device *dev, const attention &k)
{
    int64_t tiles = (k.tokens + S::TILE - 1) / S::TILE;

    ATTENTION_LAUNCH(dev, k, (attention_forward<S, T>),
                     (unsigned)(k.units * k.heads * tiles), TILE_GEMM_THREADS,
                     2 * S::FEATURES + S::SCORES,
                     (const T *)s->in[WINDOW_ATTENTION_QKV],
                     (T *)s->out[WINDOW_ATTENTION_Y],
                     (float *)s->out[WINDOW_ATTENTION_LSE], k);
}

static void attention_run(struct step *s, struct device *dev)
{
    attention k = attention_of(s);

    WITH_DTYPE(s->in_tensor[WINDOW_ATTENTION_QKV]->dtype, T,
               WITH_ATTENTION(k.head, S, forward_launch<S, T>(s, dev, k)));
}

extern const struct kernel cuda_window_attention = {
    .name = "cuda window_attention",
    .claim = attention_claim,
    .run = attention_run,
};
