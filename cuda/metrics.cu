/*
 * metrics: reads the logits once, in one launch. Counters are integers and added
 * atomically, so their order does not matter; one thread sums the losses.
 */
#include "ops/metrics.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/rows.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/metrics_formula.h"

static const char *metrics_claim(struct region *r, struct graph *, struct node *n,
                                 struct device *)
{
    if (n->op != &op_metrics)
        return "no metrics";
    if (n->in[METRICS_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim(r, n);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r, n->in[i]);
    (void)region_write(r, n->out[METRICS_STATE]);
    return nullptr;
}

__device__ static inline void add_count(int64_t *dst, int n)
{
    if (n)
        atomicAdd(reinterpret_cast<unsigned long long *>(dst), (unsigned long long)n);
}

template <int THREADS, int N>
__global__ void __launch_bounds__(ROWS_BLOCK)
    count_right(const float *logits, const int32_t *label, const float *loss,
                int64_t samples, int64_t classes, struct metrics *m)
{
    __shared__ int shared[ROWS_BLOCK / 32];
    int top1 = 0, top5 = 0, count = 0;

    for (int64_t i = row_first<THREADS>(); i < samples; i += row_step<THREADS>()) {
        const float *z = logits + i * classes;
        int truth = label[i], rank = 0;

        if (truth < 0)
            continue; /* the same for all threads of the row */
        if (truth >= classes) {
            rank = METRICS_TOP;
        } else {
            float pos = z[truth];

            row_each<THREADS, N>(z, classes, [&](int64_t k, float v) {
                rank += metrics_beats(v, k, pos, truth);
            });
            if (!(pos >= pos))
                rank += METRICS_TOP; /* NaN ranks last */
        }
        rank = row_sum<THREADS>(rank, shared);
        if (row_thread<THREADS>() == 0) {
            top1 += rank < 1;
            top5 += rank < METRICS_TOP;
        }
    }
    top1 = block_sum<ROWS_BLOCK>(top1, shared);
    top5 = block_sum<ROWS_BLOCK>(top5, shared);
    if (threadIdx.x == 0) {
        add_count(&m->top1, top1);
        add_count(&m->top5, top5);
    }
    if (blockIdx.x)
        return;
    for (int64_t i = threadIdx.x; i < samples; i += ROWS_BLOCK)
        count += label[i] >= 0;
    count = block_sum<ROWS_BLOCK>(count, shared);
    if (threadIdx.x)
        return;
    metrics_count(m, count, (double)count, *loss);
}

static void metrics_run(struct step *s, struct device *dev)
{
    const struct tensor *t = s->in_tensor[METRICS_LOGITS];

    WITH_ROWS(t->dim[1], THREADS, N, {
        LAUNCH(dev, (count_right<THREADS, N>), row_blocks(dev, t->dim[0], THREADS),
               ROWS_BLOCK, 0, (const float *)s->in[METRICS_LOGITS],
               (const int32_t *)s->in[METRICS_LABELS], (const float *)s->in[METRICS_LOSS],
               t->dim[0], t->dim[1], (struct metrics *)s->out[METRICS_STATE]);
    });
}

extern const struct kernel cuda_metrics = {
    .name = "cuda metrics",
    .claim = metrics_claim,
    .run = metrics_run,
};
