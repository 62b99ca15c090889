/* dropout, drop_path and sigmoid: element by element, by the formulas of ops/. */
#include "ops/dropout.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/scalar.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/dropout_formula.h"
#include "ops/pointwise.h"
#include "ops/sigmoid.h"

struct job {
    const struct device *dev;
    struct step *s;
    bool past;
};

static bool is_sigmoid(const struct node *n)
{
    return n->op == &op_sigmoid || n->op == &op_sigmoid_grad;
}

static const char *dropout_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_dropout && n->op != &op_drop_path && !is_sigmoid(n))
        return "no dropout, drop_path or sigmoid";
    if (!cpu_dtype(n->out[0]) || n->in[0]->dtype != n->out[0]->dtype)
        return "fp32 and bf16 only, and one of them for all";

    region_take(r, n);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r, n->in[i]);
    (void)region_write(r, n->out[0]);
    region_inplace(r, 0, 0);
    return NULL;
}

static void dropout_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct dropout_attrs *a = j->s->node->attrs;
    const struct control *c = j->s->in[DROPOUT_CONTROL];
    const struct dropout_key key = {c->seed, (uint64_t)c->micro, (uint32_t)a->salt,
                                    a->rate};

    j->dev->loops->mask(j->s->out_tensor[0]->dtype, j->s->in[DROPOUT_X], j->s->out[0],
                        &key, lo, hi, j->past);
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
                                   (uint64_t)n, a->rate);

        j->dev->loops->scale(y->dtype, cpu_at(j->s->in[DROPOUT_X], y->dtype, n * len), f,
                             cpu_out(j->s->out[0], y->dtype, n * len), len,
                             j->past && len * 2 % 64 == 0);
    }
}

static void sigmoid_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    enum dtype t = j->s->out_tensor[0]->dtype;
    bool grad = j->s->node->op == &op_sigmoid_grad;

    for (int64_t i = lo; i < hi; i++) {
        float x = scalar_get(j->s->in[0], t, i);

        scalar_put(j->s->out[0], t, i,
                   grad ? sigmoid_slope(x, scalar_get(j->s->in[SIGMOID_GRAD_DY], t, i))
                        : sigmoid_value(x));
    }
}

static void dropout_run(struct step *s, struct device *dev)
{
    const struct tensor *y = s->out_tensor[0];
    struct job j = {dev, s, cpu_past(dev, s, 0)};

    if (is_sigmoid(s->node))
        cpu_for(dev, tensor_len(y), 64, sigmoid_part, &j);
    else if (s->node->op == &op_dropout)
        cpu_for(dev, tensor_len(y), 64, dropout_part, &j);
    else
        cpu_for(dev, y->dim[0], 1, drop_path_part, &j);
}

const struct kernel cpu_dropout = {
    .name = "cpu dropout",
    .claim = dropout_claim,
    .run = dropout_run,
};
