/* A factor per channel: a batch norm without shift. */
#include "ops/layer_scale.h"

#include "cpu/kernels.h"
#include "cpu/rows.h"
#include "graph/kernel.h"

struct job {
    struct step *s;
    const struct device *dev;
    struct rows rows;
    float *zero, *scale; /* tables in the workspace */
    bool streamed;
};

static const char *layer_scale_claim(struct region *r, struct graph *g, struct node *n,
                                     struct device *dev)
{
    const struct tensor *x;

    (void)g;
    if (n->op != &op_layer_scale)
        return "not a layer_scale";
    x = n->in[LAYER_SCALE_X];
    if (!cpu_dtype(x) || x->dtype != n->out[0]->dtype)
        return "fp32 and bf16 only, and one of them for all";

    region_claim_node(r, n);
    region_inplace(r, 0, LAYER_SCALE_X);
    region_workspace(r, 2 * (size_t)rows_of(x, dev).width * sizeof(float));
    return NULL;
}

static void layer_scale_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const float *gamma = j->s->in[LAYER_SCALE_GAMMA];
    enum dtype t = j->rows.t;
    int64_t lo, hi;

    cpu_part(j->rows.channels, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t c = lo; c < hi; c++) {
        rows_repeat(&j->rows, j->zero, c, 0);
        rows_repeat(&j->rows, j->scale, c, gamma[c]);
    }
    cpu_barrier();
    rows_part(&j->rows, j->dev, thread, &lo, &hi);
    j->dev->loops->bn_apply(&(const struct bn_apply){
        .t = t,
        .n = hi - lo,
        .width = j->rows.width,
        .x = cpu_at(j->s->in[LAYER_SCALE_X], t, lo),
        .y = cpu_out(j->s->out[0], t, lo),
        .mean = j->zero,
        .scale = j->scale,
        .shift = j->zero,
        .streamed = j->streamed,
    });
}

static void layer_scale_run(struct step *s, struct device *dev)
{
    struct job j = {.s = s,
                    .dev = dev,
                    .rows = rows_of(s->out_tensor[0], dev),
                    .zero = s->workspace,
                    .streamed = cpu_streams(dev, s, 0)};

    j.scale = j.zero + j.rows.width;
    cpu_parallel(dev, layer_scale_thread, &j);
}

const struct kernel cpu_layer_scale = {
    .name = "cpu layer_scale",
    .claim = layer_scale_claim,
    .run = layer_scale_run,
};
