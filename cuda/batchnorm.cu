/*
 * Batch norm's statistics and finalize (ops/batchnorm_parts.h): one region, two launches.
 *
 * The first launch reads x once. A thread sums x - k and (x - k)^2 over some dozens of
 * rows in fp32, where k is the first x it saw, so a large mean costs no precision. A
 * block rebases its threads' sums to one k and adds them. The second launch adds the
 * blocks' sums in fp64, in a fixed order, and writes mean, variance, rstd, scale, and
 * shift. Welford's update would need a division per element, and sums about 0 lose the
 * digits by which the mean exceeds the standard deviation.
 *
 * Bytes: x once. The blocks' sums are 12 bytes per channel and block, in the workspace.
 */
#include "cuda/batchnorm.h"
#include "cuda/conv2d_stats.h"
#include "cuda/kernels.h"
#include "ops/batchnorm_formula.h"
#include "ops/batchnorm_parts.h"

/* The sums of one block for all channels, about k: [chunks][channels] each. */
struct partial {
    float *k, *sum, *squares;
};

static partial partial_of(void *workspace, int64_t channels, int chunks)
{
    float *p = (float *)workspace;
    int64_t each = channels * chunks;

    return {p, p + each, p + 2 * each};
}

template <class T, int N>
__global__ void __launch_bounds__(TILE_THREADS, STATS_BLOCKS)
    batchnorm_stats(const T *x, partial dst, tile t, int chunks)
{
    enum { UNROLL = 4 };
    __shared__ __align__(16) float shared[TILE_THREADS * N], common[TILE_THREADS * N];
    int chunk = (int)blockIdx.x / t.tiles;
    place p = place_of<N>(t, (int)blockIdx.x % t.tiles);
    int64_t row = (int64_t)chunk * t.high + p.row, step = (int64_t)chunks * t.high;
    float k[N] = {}, sum[N] = {}, squares[N] = {};
    float n = 0;

    if (p.valid && row < t.rows) {
        const T *ptr = x + row * t.channels + p.channel;
        int64_t jump = step * t.channels, left = (t.rows - row + step - 1) / step;
        pack<T, N> first = pack_load<N>(ptr);

        n = (float)left;
        for (int i = 0; i < N; i++)
            k[i] = first.get(i);
        for (; left >= UNROLL; left -= UNROLL, ptr += UNROLL * jump) {
            pack<T, N> a[UNROLL];

            for (int u = 0; u < UNROLL; u++)
                a[u] = pack_load<N>(ptr + u * jump);
            for (int u = 0; u < UNROLL; u++)
                for (int i = 0; i < N; i++) {
                    float d = a[u].get(i) - k[i];

                    sum[i] += d;
                    squares[i] += d * d;
                }
        }
        for (; left > 0; left--, ptr += jump) {
            pack<T, N> a = pack_load<N>(ptr);

            for (int i = 0; i < N; i++) {
                float d = a.get(i) - k[i];

                sum[i] += d;
                squares[i] += d * d;
            }
        }
    }
    /* Rebases all sums to the k of the channel's first thread, whose row always exists. */
    if (p.row == 0)
        for (int i = 0; i < N; i++)
            common[threadIdx.x * N + i] = k[i];
    __syncthreads();
    for (int i = 0; i < N; i++) {
        float d = k[i] - common[threadIdx.x % t.wide * N + i];

        squares[i] += d * (2 * sum[i] + n * d);
        sum[i] += n * d;
    }

    float s = tile_sum<N>(t, p, sum, shared), q = tile_sum<N>(t, p, squares, shared);
    int c = p.tile * t.wide * N + (int)threadIdx.x;

    if ((int)threadIdx.x < t.wide * N && c < t.channels) {
        int64_t o = (int64_t)chunk * t.channels + c;

        dst.k[o] = common[threadIdx.x];
        dst.sum[o] = s;
        dst.squares[o] = q;
    }
}

/* Outputs of finalize; any may be NULL. sum and squares are outputs of the op stats. */
struct finals {
    const float *weight, *bias;
    float *sum, *squares, *mean, *var, *rstd, *scale, *shift;
};

__device__ static inline void finals_set(const finals &f, int c, double mean, double var,
                                         float eps)
{
    float v = (float)(var < 0 ? 0 : var); /* keeps NaN */
    float rstd = batchnorm_rstd(v, eps);

    if (f.mean)
        f.mean[c] = (float)mean;
    if (f.var)
        f.var[c] = v;
    if (f.rstd)
        f.rstd[c] = rstd;
    if (f.scale)
        f.scale[c] = batchnorm_scale(f.weight[c], rstd);
    if (f.shift)
        f.shift[c] =
            batchnorm_shift(f.bias[c], (float)mean, batchnorm_scale(f.weight[c], rstd));
}

/* A thread issues all its loads before it uses the first of them. */
__global__ void __launch_bounds__(COMBINE_THREADS)
    batchnorm_combine(partial start, finals f, int channels, double n, chunking split,
                      int chunks, float eps)
{
    enum { LOADS = 4, PARTS = COMBINE_THREADS / COMBINE_CHANNELS };
    int c = (int)blockIdx.x * COMBINE_CHANNELS + (int)threadIdx.x % COMBINE_CHANNELS;
    double sum = 0, squares = 0;

    if (c < channels)
        for (int i = (int)threadIdx.x / COMBINE_CHANNELS; i < chunks;
             i += LOADS * PARTS) {
            float k[LOADS], s[LOADS], q[LOADS];

            UNROLL_WHOLE
            for (int u = 0; u < LOADS; u++)
                if (i + u * PARTS < chunks) {
                    int64_t o = (int64_t)(i + u * PARTS) * channels + c;

                    k[u] = start.k[o];
                    s[u] = start.sum[o];
                    q[u] = start.squares[o];
                }
            UNROLL_WHOLE
            for (int u = 0; u < LOADS; u++)
                if (i + u * PARTS < chunks) {
                    double m = (double)chunk_rows(split, i + u * PARTS);
                    double d = (double)k[u], a = (double)s[u];

                    sum += a + m * d;
                    squares += (double)q[u] + d * (2 * a + m * d);
                }
        }
    sum = combine_sum(sum);
    squares = combine_sum(squares);
    if ((int)threadIdx.x >= COMBINE_CHANNELS || c >= channels)
        return;
    if (f.sum)
        f.sum[c] = (float)sum;
    if (f.squares)
        f.squares[c] = (float)squares;
    if (f.weight)
        finals_set(f, c, sum / n, squares / n - sum / n * (sum / n), eps);
}

/* finalize for sums computed elsewhere */
__global__ void __launch_bounds__(TILE_THREADS)
    batchnorm_finalize(const float *sum, const float *squares, finals f, int channels,
                       double n, float eps)
{
    int c = (int)(blockIdx.x * TILE_THREADS + threadIdx.x);

    if (c < channels) {
        double mean = sum[c] / n;

        finals_set(f, c, mean, squares[c] / n - mean * mean, eps);
    }
}

struct stats_state {
    tile t;
    int chunks;
    bool sums, finals; /* which of the two nodes the region has */
    float eps;
    double count;
    int x, sum, squares, weight, bias; /* indices of reads */
    int out_sum, out_finals;           /* indices of the first writes */
};

/* Returns the stats node of finalize f if f is the only reader of its sums, and its
 * convolution does not compute them. */
static struct node *stats_before(struct graph *g, const struct node *f,
                                 struct device *dev)
{
    const struct tensor *sum = f->in[BATCHNORM_FINALIZE_SUM];
    const struct tensor *squares = f->in[BATCHNORM_FINALIZE_SQUARES];
    struct node *s = sum->producer;

    return s && s == squares->producer && s->op == &op_batchnorm_stats && node_free(s) &&
                   tensor_only_reader(g, sum) && tensor_only_reader(g, squares) &&
                   !cuda_conv2d_sums(g, s, dev)
               ? s
               : nullptr;
}

static void claim_stats(struct region *r, stats_state *st, struct node *n,
                        struct device *dev, bool stored)
{
    struct tensor *x = n->in[BATCHNORM_STATS_X];

    st->sums = true;
    st->t = tile_of_image(x);
    st->chunks = tile_chunks(st->t, dev->what.multiprocessors * STATS_BLOCKS);
    region_claim(r, n);
    st->x = region_read(r, x);
    region_workspace(r, 3 * sizeof(float) * (size_t)st->chunks * (size_t)st->t.channels);
    if (!stored)
        return;
    st->out_sum = region_write(r, n->out[BATCHNORM_STATS_SUM]);
    (void)region_write(r, n->out[BATCHNORM_STATS_SQUARES]);
}

static const char *stats_claim(struct region *r, struct graph *g, struct node *n,
                               struct device *dev)
{
    stats_state *st = (stats_state *)region_state(r);
    bool alone = n->op == &op_batchnorm_stats;
    struct node *s = alone ? n : nullptr;

    if (!alone && n->op != &op_batchnorm_finalize)
        return "not the statistics of a batch norm";
    if (!alone)
        s = stats_before(g, n, dev);

    st->out_sum = -1;
    if (s)
        claim_stats(r, st, s, dev, alone);
    if (alone)
        return nullptr;
    st->finals = true;
    st->eps = ((const struct batchnorm_part_attrs *)n->attrs)->eps;
    st->count = (double)((const struct batchnorm_part_attrs *)n->attrs)->count;
    region_claim(r, n);
    st->sum = s ? -1 : region_read(r, n->in[BATCHNORM_FINALIZE_SUM]);
    st->squares = s ? -1 : region_read(r, n->in[BATCHNORM_FINALIZE_SQUARES]);
    st->weight = region_read(r, n->in[BATCHNORM_FINALIZE_WEIGHT]);
    st->bias = region_read(r, n->in[BATCHNORM_FINALIZE_BIAS]);
    st->out_finals = region_write(r, n->out[0]);
    for (int i = 1; i < n->nout; i++)
        (void)region_write(r, n->out[i]);
    return nullptr;
}

static finals finals_of(const struct step *s, const stats_state *st)
{
    finals f = {};

    if (st->out_sum >= 0) {
        f.sum = (float *)s->out[st->out_sum + BATCHNORM_STATS_SUM];
        f.squares = (float *)s->out[st->out_sum + BATCHNORM_STATS_SQUARES];
    }
    if (st->finals) {
        float **out = (float **)s->out + st->out_finals;

        f.weight = (const float *)s->in[st->weight];
        f.bias = (const float *)s->in[st->bias];
        f.mean = out[BATCHNORM_FINALIZE_MEAN];
        f.var = out[BATCHNORM_FINALIZE_VAR];
        f.rstd = out[BATCHNORM_FINALIZE_RSTD];
        f.scale = out[BATCHNORM_FINALIZE_SCALE];
        f.shift = out[BATCHNORM_FINALIZE_SHIFT];
    }
    return f;
}

static void stats_run(struct step *s, struct device *dev)
{
    const stats_state *st = (const stats_state *)s->state;
    finals f = finals_of(s, st);
    const tile &t = st->t;

    if (!st->sums) {
        int c = (int)tensor_len(s->in_tensor[st->sum]);

        LAUNCH(dev, batchnorm_finalize, cuda_blocks(c, TILE_THREADS, 1), TILE_THREADS, 0,
               (const float *)s->in[st->sum], (const float *)s->in[st->squares], f, c,
               st->count, st->eps);
        return;
    }

    partial p = partial_of(s->workspace, t.channels, st->chunks);

    WITH_DTYPE(
        s->in_tensor[st->x]->dtype, T,
        WITH_PACK(T, t.channels, N,
                  LAUNCH(dev, (batchnorm_stats<T, N>), (unsigned)(t.tiles * st->chunks),
                         TILE_THREADS, 0, (const T *)s->in[st->x], p, t, st->chunks)));
    LAUNCH(dev, batchnorm_combine, combine_blocks(t.channels), COMBINE_THREADS, 0, p, f,
           t.channels, (double)t.rows, chunking_of(t, st->chunks), st->chunks, st->eps);
}

extern const struct kernel cuda_batchnorm_stats = {
    .name = "cuda batchnorm statistics",
    .claim = stats_claim,
    .run = stats_run,
    .state_size = sizeof(stats_state),
};
