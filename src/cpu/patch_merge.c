/* patch_merge and its gradient: runs of channels copied between pixels. */
#include "ops/patch_merge.h"

#include <string.h>

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

enum { B, H, W, C };

struct job {
    const struct device *dev;
    const struct step *s;
};

static const char *patch_merge_claim(struct region *r, struct graph *g, struct node *n,
                                     struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_patch_merge && n->op != &op_patch_merge_grad)
        return "not a patch_merge";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "types differ";

    region_claim_node(r, n);
    return NULL;
}

/* Copies between a row of x of one parity and its quarters in y: columns of parity `odd`. */
static void copy_columns(const struct job *j, char *x, char *y, int64_t row, int odd)
{
    const struct step *s = j->s;
    bool grad = s->node->op == &op_patch_merge_grad;
    const struct tensor *t = grad ? s->out_tensor[0] : s->in_tensor[0];
    int64_t each = t->dim[C] * (int64_t)dtype_size(t->dtype);
    int64_t pixels = (t->dim[W] + 1 - odd) / 2;

    x += odd * each;
    y += (row % 2 + 2 * odd) * each;
    if (grad)
        j->dev->loops->copy_rows(x, 2 * each, y, 4 * each, each, pixels);
    else
        j->dev->loops->copy_rows(y, 4 * each, x, 2 * each, each, pixels);
}

/* Rows [lo, hi) of the merged tensor, counted over all samples. */
static void patch_merge_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    bool grad = j->s->node->op == &op_patch_merge_grad;
    const struct tensor *t = grad ? j->s->out_tensor[0] : j->s->in_tensor[0];
    int64_t each = t->dim[C] * (int64_t)dtype_size(t->dtype);
    int64_t high = (t->dim[H] + 1) / 2, wide = (t->dim[W] + 1) / 2 * 4 * each;

    for (int64_t i = lo; i < hi; i++) {
        int64_t row = i % high * 2,
                begin = (i / high * t->dim[H] + row) * t->dim[W] * each;
        char *x = (char *)(grad ? j->s->out[0] : j->s->in[0]) + begin;
        char *y = (char *)(grad ? j->s->in[0] : j->s->out[0]) + i * wide;

        if (!grad && (row + 1 == t->dim[H] || t->dim[W] % 2))
            memset(y, 0, (size_t)wide);
        for (int k = 0; k < 4; k++)
            if (row + k % 2 < t->dim[H])
                copy_columns(j, x + k % 2 * t->dim[W] * each, y, row + k % 2, k / 2);
    }
}

static void patch_merge_run(struct step *s, struct device *dev)
{
    const struct tensor *merged =
        s->node->op == &op_patch_merge ? s->out_tensor[0] : s->in_tensor[0];
    struct job j = {dev, s};

    cpu_for(dev, merged->dim[B] * merged->dim[H], 1, patch_merge_part, &j);
}

const struct kernel cpu_patch_merge = {
    .name = "cpu patch_merge",
    .claim = patch_merge_claim,
    .run = patch_merge_run,
};
