/* dropout, dropout2d, and drop_path, by the formulas of ops/. */
#include "ops/dropout.h"

#include <string.h>

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/rows.h"
#include "cpu/scalar.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/dropout_formula.h"

struct job {
    const struct device *dev;
    struct step *s;
    bool streamed;
};

static bool is_shared(const struct node *n)
{
    return ((const struct dropout_attrs *)n->attrs)->share.every > 1;
}

static const char *dropout_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    (void)g;
    if (n->op != &op_dropout && n->op != &op_dropout2d && n->op != &op_drop_path)
        return "no dropout, dropout2d, or drop_path";
    if (!cpu_dtype(n->out[0]) || n->in[0]->dtype != n->out[0]->dtype)
        return "fp32 and bf16 only, and one of them for all";

    region_claim_node(r, n);
    region_inplace(r, 0, 0);
    if (n->op == &op_dropout2d) /* factors per sample, and zeros */
        region_workspace(r,
                         (size_t)((n->in[0]->dim[0] + 1) * rows_of(n->in[0], dev).width) *
                             sizeof(float));
    return NULL;
}

static void dropout_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct dropout_attrs *a = j->s->node->attrs;
    const struct control *c = j->s->in[DROPOUT_CONTROL];
    const struct dropout_key key = {c->seed, (uint64_t)c->micro, (uint32_t)a->salt,
                                    a->rate, 0};

    j->dev->loops->dropout_mask(j->s->out_tensor[0]->dtype, j->s->in[DROPOUT_X],
                                j->s->out[0], &key, lo, hi, j->streamed);
}

/* Elements [lo, hi) if the batch is one of several: image after image. */
static void shared_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct dropout_attrs *a = j->s->node->attrs;
    const struct control *c = j->s->in[DROPOUT_CONTROL];
    const struct tensor *y = j->s->out_tensor[0];
    int64_t len = tensor_len(y) / y->dim[0];
    struct dropout_key key = {c->seed, (uint64_t)c->micro, (uint32_t)a->salt, a->rate, 0};

    for (int64_t end; len % 4 == 0 && lo < hi; lo = end) {
        int64_t image = lo / len;

        end = (image + 1) * len < hi ? (image + 1) * len : hi;
        key.later = (share_image(a->share, image) - image) * (len / 4);
        j->dev->loops->dropout_mask(y->dtype, j->s->in[DROPOUT_X], j->s->out[0], &key, lo,
                                    end, j->streamed && len % 64 == 0);
    }
    for (int64_t i = lo; i < hi; i++) { /* images may start within a block of four */
        uint64_t pos = (uint64_t)share_element(a->share, i, len);
        struct philox r = dropout_block(key.seed, key.micro, key.salt, pos / 4);

        scalar_put(j->s->out[0], y->dtype, i,
                   scalar_get(j->s->in[DROPOUT_X], y->dtype, i) *
                       dropout_factor(r.v[pos % 4], a->rate));
    }
}

/* Samples [lo, hi). */
static void drop_path_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct dropout_attrs *a = j->s->node->attrs;
    const struct control *c = j->s->in[DROPOUT_CONTROL];
    const struct tensor *y = j->s->out_tensor[0];
    int64_t len = tensor_len(y) / y->dim[0];

    for (int64_t n = lo; n < hi; n++) {
        float f = drop_path_factor(c->seed, (uint64_t)c->micro, (uint32_t)a->salt,
                                   (uint64_t)share_image(a->share, n), a->rate);

        j->dev->loops->scale(y->dtype, cpu_at(j->s->in[DROPOUT_X], y->dtype, n * len), f,
                             cpu_out(j->s->out[0], y->dtype, n * len), len,
                             j->streamed && len * 2 % 64 == 0);
    }
}

/* A thread's part: the factors are the scales of a batch norm without shift. */
static void dropout2d_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct tensor *y = j->s->out_tensor[0];
    const struct dropout_attrs *a = j->s->node->attrs;
    const struct control *c = j->s->in[DROPOUT_CONTROL];
    const struct rows r = rows_of(y, j->dev);
    int64_t len = r.n / y->dim[0], lo, hi;
    float *zero = j->s->workspace, *table = zero + r.width;

    cpu_part(y->dim[0], 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t n = lo; n < hi; n++)
        for (int64_t k = 0, image = share_image(a->share, n); k < r.channels; k++)
            rows_repeat(&r, table + n * r.width, k,
                        dropout2d_factor(c->seed, (uint64_t)c->micro, (uint32_t)a->salt,
                                         (uint64_t)(image * r.channels + k), a->rate));
    if (thread == 0)
        memset(zero, 0, (size_t)r.width * sizeof(*zero));
    cpu_barrier();
    for (int64_t n = 0; n < y->dim[0]; n++) {
        struct bn_apply p = {.t = y->dtype,
                             .width = r.width,
                             .mean = zero,
                             .scale = table + n * r.width,
                             .shift = zero};

        cpu_part(len, r.width, thread, j->dev->threads, &lo, &hi);
        p.n = hi - lo;
        p.streamed =
            j->streamed && (n * len + lo) * (int64_t)dtype_size(y->dtype) % 64 == 0;
        p.x = cpu_at(j->s->in[DROPOUT_X], y->dtype, n * len + lo);
        p.y = cpu_out(j->s->out[0], y->dtype, n * len + lo);
        j->dev->loops->bn_apply(&p);
    }
}

static void dropout_run(struct step *s, struct device *dev)
{
    const struct tensor *y = s->out_tensor[0];
    struct job j = {dev, s, cpu_streams(dev, s, 0)};

    if (s->node->op == &op_dropout2d)
        cpu_parallel(dev, dropout2d_thread, &j);
    else if (s->node->op == &op_dropout)
        cpu_for(dev, tensor_len(y), 64, is_shared(s->node) ? shared_part : dropout_part,
                &j);
    else
        cpu_for(dev, y->dim[0], 1, drop_path_part, &j);
}

const struct kernel cpu_dropout = {
    .name = "cpu dropout",
    .claim = dropout_claim,
    .run = dropout_run,
};
