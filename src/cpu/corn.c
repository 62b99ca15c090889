/* The conditional ordinal distribution on the CPU: samples are spread over threads. */
#include "ops/corn.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/corn_formula.h"

struct job {
    const float *z, *dy;
    int64_t classes;
    float *dst;
};

static const char *corn_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_corn && n->op != &op_corn_grad)
        return "not an ordinal distribution";
    if (n->in[CORN_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    return NULL;
}

static void forward_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    for (int64_t i = lo; i < hi; i++)
        corn_row(j->z + i * (j->classes - 1), j->classes, j->dst + i * j->classes);
}

static void grad_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    for (int64_t i = lo; i < hi; i++)
        corn_row_grad(j->z + i * (j->classes - 1), j->dy + i * j->classes, j->classes,
                      j->dst + i * (j->classes - 1));
}

static void corn_run(struct step *s, struct device *dev)
{
    bool grad = s->node->op == &op_corn_grad;
    const struct tensor *z = s->node->in[CORN_LOGITS];
    struct job j = {.z = s->in[CORN_LOGITS],
                    .dy = grad ? s->in[CORN_GRAD_DY] : NULL,
                    .classes = z->dim[1] + 1,
                    .dst = s->out[0]};

    cpu_for(dev, z->dim[0], 1, grad ? grad_part : forward_part, &j);
}

const struct kernel cpu_corn = {
    .name = "cpu corn",
    .claim = corn_claim,
    .run = corn_run,
};
