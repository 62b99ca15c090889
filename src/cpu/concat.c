/* concat and slice: runs of bytes copied between rows of different length. */
#include "ops/concat.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

struct job {
    const struct device *dev;
    const struct step *s;
    int axis;
};

static const char *concat_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_concat && n->op != &op_slice)
        return "no concat, nor a slice";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype)
            return "types differ";

    region_claim_node(r, n);
    return NULL;
}

static int64_t row_bytes(const struct tensor *t, int axis)
{
    return t->dim[axis] * concat_step(t, axis) * (int64_t)dtype_size(t->dtype);
}

/* Rows [lo, hi). */
static void concat_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct step *s = j->s;
    int64_t row = row_bytes(s->out_tensor[0], j->axis);
    char *y = (char *)s->out[0] + lo * row;

    for (int i = 0; i < s->nin; i++) {
        int64_t n = row_bytes(s->in_tensor[i], j->axis);

        j->dev->loops->copy_rows(y, row, (const char *)s->in[i] + lo * n, n, n, hi - lo);
        y += n;
    }
}

static void slice_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct step *s = j->s;
    const struct slice_attrs *a = s->node->attrs;
    const struct tensor *x = s->in_tensor[0];
    int64_t n = row_bytes(s->out_tensor[0], j->axis), begin = row_bytes(x, j->axis);
    int64_t first = a->first * concat_step(x, j->axis) * (int64_t)dtype_size(x->dtype);

    j->dev->loops->copy_rows((char *)s->out[0] + lo * n, n,
                             (const char *)s->in[0] + lo * begin + first, begin, n,
                             hi - lo);
}

static void concat_run(struct step *s, struct device *dev)
{
    const struct tensor *y = s->out_tensor[0];
    bool slice = s->node->op == &op_slice;
    int axis = slice ? ((const struct slice_attrs *)s->node->attrs)->axis
                     : ((const struct concat_attrs *)s->node->attrs)->axis;
    struct job j = {dev, s, axis};
    int64_t row = row_bytes(y, axis), rows = (int64_t)tensor_size(y) / row;

    /* parts of short rows begin at a multiple of 64 rows, and so of a cache line */
    cpu_for(dev, rows, row < 65536 ? 64 : 1, slice ? slice_part : concat_part, &j);
}

const struct kernel cpu_concat = {
    .name = "cpu concat",
    .claim = concat_claim,
    .run = concat_run,
};
