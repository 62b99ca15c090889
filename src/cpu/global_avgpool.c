/* The mean over all pixels, its gradient, and the scaling of channels. */
#include "ops/global_avgpool.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/scale_channels.h"

struct global_state {
    int64_t pixels, channels; /* per image */
};

struct job {
    const struct global_state *st;
    struct step *s;
    const struct device *dev;
    bool streamed;
};

static bool is_global(const struct node *n)
{
    return n->op == &op_global_avgpool || n->op == &op_global_avgpool_grad ||
           n->op == &op_scale_channels || n->op == &op_scale_channels_scale_grad;
}

static const char *global_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    struct global_state *st = region_state(r);
    const struct tensor *big;

    (void)g;
    if (!is_global(n))
        return "nothing over all pixels of an image";
    for (int i = 0; i < n->nin; i++)
        if (!cpu_dtype(n->in[i]) || n->in[i]->dtype != n->out[0]->dtype)
            return "fp32 and bf16 only, and one of them for all";

    big = n->op == &op_global_avgpool_grad ? n->out[0] : n->in[0];
    st->pixels = big->dim[IMAGE_H] * big->dim[IMAGE_W];
    st->channels = big->dim[IMAGE_C];
    region_claim_node(r, n);
    if (n->op == &op_scale_channels)
        region_inplace(r, 0, SCALE_CHANNELS_X);
    region_workspace(r, (size_t)(dev->threads * st->channels) * sizeof(float));
    return NULL;
}

/* One image; `sum`: one float per channel. */
static void global_image(const struct job *j, int64_t n, float *sum)
{
    const struct loops *loops = j->dev->loops;
    const struct op *op = j->s->node->op;
    enum dtype t = j->s->out_tensor[0]->dtype;
    int64_t c = j->st->channels, pixels = j->st->pixels, first = n * pixels * c;
    const void *x = j->s->in[0];
    void *y = j->s->out[0];
    float share = 1 / (float)pixels;
    bool uncached = cpu_uncached(j->dev, j->s->in_tensor[0]);

    if (op == &op_scale_channels) {
        loops->scale_rows(t, cpu_at(x, t, first), cpu_at(j->s->in[1], t, n * c),
                          cpu_out(y, t, first), pixels, c, j->streamed);
        return;
    }
    memset(sum, 0, (size_t)c * sizeof(*sum));
    if (op == &op_global_avgpool_grad) {
        loops->sum_rows(t, cpu_at(x, t, n * c), 1, c, share, sum, false);
        loops->spread_rows(t, sum, cpu_out(y, t, first), pixels, c, j->streamed);
        return;
    }
    if (op == &op_global_avgpool)
        loops->sum_rows(t, cpu_at(x, t, first), pixels, c, share, sum, uncached);
    else
        loops->dot_rows(t, cpu_at(x, t, first), cpu_at(j->s->in[1], t, first), pixels, c,
                        sum, uncached);
    loops->cast(DTYPE_F32, t, sum, cpu_out(y, t, n * c), c, false);
}

static void global_thread(void *arg, int thread)
{
    const struct job *j = arg;
    float *sum = (float *)j->s->workspace + thread * j->st->channels;
    int64_t lo, hi;

    cpu_part(j->s->out_tensor[0]->dim[IMAGE_N], 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t n = lo; n < hi; n++)
        global_image(j, n, sum);
}

static void global_run(struct step *s, struct device *dev)
{
    const struct global_state *st = s->state;
    struct job j = {st, s, dev,
                    st->channels % dev->loops->lanes == 0 && cpu_streams(dev, s, 0)};

    cpu_parallel(dev, global_thread, &j);
}

const struct kernel cpu_global_avgpool = {
    .name = "cpu global_avgpool",
    .claim = global_claim,
    .run = global_run,
    .state_size = sizeof(struct global_state),
};
