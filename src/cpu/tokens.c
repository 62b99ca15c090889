/* Prepends tokens and removes them again: copies of runs. */
#include "ops/tokens.h"

#include <string.h>

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
    if (n->op != &op_prepend_token && n->op != &op_slice_tokens &&
        n->op != &op_slice_tokens_grad)
        return "no tokens before others, nor a slice of them";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "types differ";
    if (n->op == &op_prepend_token && !cpu_dtype(n->out[0]))
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

static void slice_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct step *s = j->s;
    const struct slice_tokens_attrs *a = s->node->attrs;
    bool grad = s->node->op == &op_slice_tokens_grad;
    const struct tensor *x = grad ? s->out_tensor[0] : s->in_tensor[0];
    int64_t each = x->dim[C] * (int64_t)dtype_size(x->dtype);
    int64_t all = x->dim[N] * each, some = a->len * each;

    if (grad) {
        char *dx = (char *)s->out[0] + lo * all;

        memset(dx, 0, (size_t)((hi - lo) * all));
        j->dev->loops->copy_rows(dx + a->first * each, all,
                                 (const char *)s->in[0] + lo * some, some, some, hi - lo);
    } else {
        j->dev->loops->copy_rows((char *)s->out[0] + lo * some, some,
                                 (const char *)s->in[0] + lo * all + a->first * each, all,
                                 some, hi - lo);
    }
}

static void tokens_run(struct step *s, struct device *dev)
{
    struct job j = {dev, s};

    cpu_for(dev, s->out_tensor[0]->dim[B], 1,
            s->node->op == &op_prepend_token ? prepend_part : slice_part, &j);
}

const struct kernel cpu_tokens = {
    .name = "cpu tokens",
    .claim = tokens_claim,
    .run = tokens_run,
};
