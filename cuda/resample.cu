/*
 * resample, average pools of any windows, and their gradients, which differ only in their
 * taps: a thread computes one pack of channels of one pixel of the result. Taps overlap in L1 and L2. Bytes: x and y once.
 */
#include "ops/separable.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "cuda/pool.h"
#include "cuda/table.h"
#include "cuda/taps.h"
#include "graph/kernel.h"
#include "ops/image.h"

struct resampler {
    int packs, in_h, in_w;
    tap_axis rows, columns;
    unsigned blocks; /* per image of the result */
};

struct resample_state {
    int table; /* derived */
    tap_axis rows, columns;
};

static const char *resample_claim(struct region *r, struct graph *, struct node *n,
                                  struct device *dev)
{
    resample_state *st = (resample_state *)region_state(r);

    if (!is_separable(n))
        return "neither resample nor avgpool2d";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all";

    resample_taps rows = separable_taps(n, IMAGE_H);
    resample_taps columns = separable_taps(n, IMAGE_W);
    int words = taps_words(rows) + taps_words(columns);
    tap_word *table = (tap_word *)xcalloc((size_t)words, sizeof(*table));

    st->rows = taps_put(table, 0, rows);
    st->columns = taps_put(table, taps_words(rows), columns);
    region_claim_node(r, n);
    st->table = cuda_table(r, dev, table, (size_t)words * sizeof(*table));
    free(table);
    resample_taps_release(&rows);
    resample_taps_release(&columns);
    return nullptr;
}

template <class T, int N>
__global__ void __launch_bounds__(POOL_THREADS)
    resample_pixels(const T *x, T *y, const tap_word *table, resampler p)
{
    pixel_index s = pixel_index_of(p.blocks, p.packs, p.rows.n, p.columns.n);
    float sum[N] = {};
    pack<T, N> a;

    if (!s.valid)
        return;

    taps_at rows = taps_of(table, p.rows, s.h), columns = taps_of(table, p.columns, s.w);

    for (int h = 0; h < rows.count; h++) {
        int64_t pos =
            ((int64_t)s.image * p.in_h + rows.first + h) * p.in_w + columns.first;
        float part[N] = {};

        for (int w = 0; w < columns.count; w++) {
            a = pack_load<N>(x + ((pos + w) * p.packs + s.pack) * N);
            for (int k = 0; k < N; k++)
                part[k] += a.get(k) * columns.weight[w].f;
        }
        for (int k = 0; k < N; k++)
            sum[k] += part[k] * rows.weight[h].f;
    }
    for (int k = 0; k < N; k++)
        a.set(k, sum[k]);

    int64_t pos = ((int64_t)s.image * p.rows.n + s.h) * p.columns.n + s.w;

    pack_store<T, N>(y + (pos * p.packs + s.pack) * N, a);
}

static void resample_run(struct step *s, struct device *dev)
{
    const resample_state *st = (const resample_state *)s->state;
    const struct tensor *x = s->in_tensor[0], *y = s->out_tensor[0];
    resampler p = {};

    p.in_h = (int)x->dim[IMAGE_H];
    p.in_w = (int)x->dim[IMAGE_W];
    p.rows = st->rows;
    p.columns = st->columns;
    WITH_DTYPE(y->dtype, T, WITH_PACK(T, y->dim[IMAGE_C], N, {
                   p.packs = (int)y->dim[IMAGE_C] / N;
                   p.blocks = spot_blocks(p.packs, p.rows.n, p.columns.n);
                   LAUNCH(dev, (resample_pixels<T, N>),
                          p.blocks * (unsigned)y->dim[IMAGE_N], POOL_THREADS, 0,
                          (const T *)s->in[0], (T *)s->out[0],
                          (const tap_word *)s->derived[st->table], p);
               }));
}

extern const struct kernel cuda_resample = {
    .name = "cuda resample",
    .claim = resample_claim,
    .run = resample_run,
    .state_size = sizeof(struct resample_state),
};
