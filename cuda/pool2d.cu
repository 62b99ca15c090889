/*
 * Max pools of any windows and their gradients: rectangular and adaptive ones, which
 * cuda/maxpool2d.cu leaves. A thread computes one pack of channels of one position; the
 * gradient finds the maximum of each window that covers the position again.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "cuda/pool.h"
#include "cuda/table.h"
#include "cuda/taps.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/maxpool2d.h"

/* Windows of the result's rows and columns, and, for the gradient, the windows that cover
 * a row or column of the image. */
enum { ROWS, COLUMNS, COVER_ROWS, COVER_COLUMNS, AXES };

struct pool_axes {
    tap_axis axis[AXES];
    int packs, in_h, in_w;
    unsigned blocks; /* per image of the result */
};

struct windows_state {
    int table; /* derived */
    tap_axis axis[AXES];
};

static const char *pool_claim(struct region *r, struct graph *, struct node *n,
                              struct device *dev)
{
    windows_state *st = (windows_state *)region_state(r);
    const struct pool2d_attrs *a = (const struct pool2d_attrs *)n->attrs;

    if (n->op != &op_maxpool2d && n->op != &op_maxpool2d_grad)
        return "not a maxpool2d";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype)
            return "one type for all";

    resample_taps t[AXES] = {pool2d_taps(a, IMAGE_H), pool2d_taps(a, IMAGE_W)};
    int words = 0, pos = 0;

    t[COVER_ROWS] = resample_taps_transposed(&t[ROWS], a->in_h);
    t[COVER_COLUMNS] = resample_taps_transposed(&t[COLUMNS], a->in_w);
    for (int i = 0; i < AXES; i++)
        words += taps_words(t[i]);

    tap_word *table = (tap_word *)xcalloc((size_t)words, sizeof(*table));

    for (int i = 0; i < AXES; i++) {
        st->axis[i] = taps_put(table, pos, t[i]);
        pos += taps_words(t[i]);
        resample_taps_release(&t[i]);
    }
    region_claim_node(r, n);
    st->table = cuda_table(r, dev, table, (size_t)words * sizeof(*table));
    free(table);
    return nullptr;
}

/* Finds each channel's largest value in window (h, w) and its pixel: the first of equal
 * ones, the last NaN. x: of the image and the pack */
template <int N, class T>
__device__ static inline void find_largest(const T *x, const tap_word *table,
                                           const pool_axes &p, int h, int w,
                                           float (&best)[N], int (&won)[N])
{
    taps_at rows = taps_of(table, p.axis[ROWS], h);
    taps_at columns = taps_of(table, p.axis[COLUMNS], w);

    for (int k = 0; k < N; k++) {
        best[k] = 0;
        won[k] = -1;
    }
    for (int i = 0; i < rows.count; i++)
        for (int j = 0; j < columns.count; j++) {
            int pos = (rows.first + i) * p.in_w + columns.first + j;
            pack<T, N> a = pack_load<N>(x + (int64_t)pos * p.packs * N);

            for (int k = 0; k < N; k++) {
                float v = a.get(k);

                if (won[k] < 0 || v > best[k] || v != v) {
                    best[k] = v;
                    won[k] = pos;
                }
            }
        }
}

template <class T, int N>
__global__ void __launch_bounds__(POOL_THREADS)
    largest_forward(const T *x, T *y, const tap_word *table, pool_axes p)
{
    int out_h = p.axis[ROWS].n, out_w = p.axis[COLUMNS].n, won[N];
    pixel_index s = pixel_index_of(p.blocks, p.packs, out_h, out_w);
    float best[N];
    pack<T, N> a;

    if (!s.valid)
        return;

    int64_t image = (int64_t)s.image * p.in_h * p.in_w;
    int64_t pos = ((int64_t)s.image * out_h + s.h) * out_w + s.w;

    find_largest<N>(x + (image * p.packs + s.pack) * N, table, p, s.h, s.w, best, won);
    for (int k = 0; k < N; k++)
        a.set(k, best[k]);
    pack_store<T, N>(y + (pos * p.packs + s.pack) * N, a);
}

template <class T, int N>
__global__ void __launch_bounds__(POOL_THREADS)
    largest_backward(const T *x, const T *dy, T *dx, const tap_word *table, pool_axes p)
{
    pixel_index s = pixel_index_of(p.blocks, p.packs, p.in_h, p.in_w);
    float best[N], sum[N] = {};
    int won[N];
    pack<T, N> a;

    if (!s.valid)
        return;

    int64_t image = (int64_t)s.image * p.in_h * p.in_w;
    taps_at rows = taps_of(table, p.axis[COVER_ROWS], s.h);
    taps_at columns = taps_of(table, p.axis[COVER_COLUMNS], s.w);

    for (int i = 0; i < rows.count; i++)
        for (int j = 0; j < columns.count; j++) {
            int h = rows.first + i, w = columns.first + j;
            int64_t pos = ((int64_t)s.image * p.axis[ROWS].n + h) * p.axis[COLUMNS].n + w;

            find_largest<N>(x + (image * p.packs + s.pack) * N, table, p, h, w, best,
                            won);
            a = pack_load<N>(dy + (pos * p.packs + s.pack) * N);
            for (int k = 0; k < N; k++)
                sum[k] += won[k] == s.h * p.in_w + s.w ? a.get(k) : 0;
        }
    for (int k = 0; k < N; k++)
        a.set(k, sum[k]);

    int64_t pos = image + s.h * p.in_w + s.w;

    pack_store<T, N>(dx + (pos * p.packs + s.pack) * N, a);
}

static void pool_run(struct step *s, struct device *dev)
{
    const windows_state *st = (const windows_state *)s->state;
    const struct tensor *x = s->in_tensor[0], *y = s->out_tensor[0];
    const tap_word *table = (const tap_word *)s->derived[st->table];
    bool grad = s->node->op == &op_maxpool2d_grad;
    pool_axes p = {};

    for (int i = 0; i < AXES; i++)
        p.axis[i] = st->axis[i];
    p.in_h = (int)x->dim[IMAGE_H];
    p.in_w = (int)x->dim[IMAGE_W];
    WITH_DTYPE(y->dtype, T, WITH_PACK(T, y->dim[IMAGE_C], N, {
                   p.packs = (int)y->dim[IMAGE_C] / N;
                   p.blocks =
                       spot_blocks(p.packs, (int)y->dim[IMAGE_H], (int)y->dim[IMAGE_W]);
                   unsigned grid = p.blocks * (unsigned)y->dim[IMAGE_N];

                   if (grad)
                       LAUNCH(dev, (largest_backward<T, N>), grid, POOL_THREADS, 0,
                              (const T *)s->in[0], (const T *)s->in[1], (T *)s->out[0],
                              table, p);
                   else
                       LAUNCH(dev, (largest_forward<T, N>), grid, POOL_THREADS, 0,
                              (const T *)s->in[0], (T *)s->out[0], table, p);
               }));
}

extern const struct kernel cuda_pool2d = {
    .name = "cuda pool2d",
    .claim = pool_claim,
    .run = pool_run,
    .state_size = sizeof(struct windows_state),
};
