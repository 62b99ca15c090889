/* Prepends tokens. */
#include "ops/tokens.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

enum { B, N, C };

struct job {
    const struct device *dev;
    const struct step *s;
};

static const char *tokens_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_prepend_token)
        return "no tokens before others";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "types differ";
    if (!cpu_dtype(n->out[0]))
        return "fp32 and bf16 only";

    region_claim_node(r, n);
    return NULL;
}

/* Samples [lo, hi). */
static void prepend_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct step *s = j->s;
    const struct tensor *x = s->in_tensor[PREPEND_TOKEN_X];
    int64_t n = x->dim[N] * x->dim[C];
    int64_t front = tensor_len(s->in_tensor[PREPEND_TOKEN_TOKEN]);

    for (int64_t i = lo; i < hi; i++) {
        char *y = cpu_out(s->out[0], x->dtype, i * (front + n));

        j->dev->loops->cast(DTYPE_F32, x->dtype, s->in[PREPEND_TOKEN_TOKEN], y, front,
                            false);
        j->dev->loops->copy(cpu_out(y, x->dtype, front),
                            cpu_at(s->in[PREPEND_TOKEN_X], x->dtype, i * n),
                            n * (int64_t)dtype_size(x->dtype), false);
    }
}

static void tokens_run(struct step *s, struct device *dev)
{
    struct job j = {dev, s};

    cpu_for(dev, s->out_tensor[0]->dim[B], 1, prepend_part, &j);
}

const struct kernel cpu_tokens = {
    .name = "cpu tokens",
    .claim = tokens_claim,
    .run = tokens_run,
};
