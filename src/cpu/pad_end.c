/* pad_end and its gradient: rows copied, and zeros. */
#include "ops/pad_end.h"

#include <string.h>

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/image.h"

static const char *pad_end_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_pad_end && n->op != &op_pad_end_grad)
        return "no pad_end";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "types differ";

    region_claim_node(r, n);
    return NULL;
}

/* Rows [lo, hi) of the result, over all images. */
static void pad_end_part(void *arg, int64_t lo, int64_t hi)
{
    const struct step *s = arg;
    const struct tensor *x = s->in_tensor[0], *y = s->out_tensor[0];
    size_t pixel = (size_t)y->dim[IMAGE_C] * dtype_size(y->dtype);
    size_t begin = (size_t)x->dim[IMAGE_W] * pixel, end = (size_t)y->dim[IMAGE_W] * pixel;
    size_t both = begin < end ? begin : end;

    for (int64_t i = lo; i < hi; i++) {
        int64_t image = i / y->dim[IMAGE_H], h = i % y->dim[IMAGE_H];
        char *row = (char *)s->out[0] + (size_t)i * end;
        size_t n = h < x->dim[IMAGE_H] ? both : 0;

        if (n)
            memcpy(row,
                   (const char *)s->in[0] + (size_t)(image * x->dim[IMAGE_H] + h) * begin,
                   n);
        memset(row + n, 0, end - n);
    }
}

static void pad_end_run(struct step *s, struct device *dev)
{
    const struct tensor *y = s->out_tensor[0];

    cpu_for(dev, y->dim[IMAGE_N] * y->dim[IMAGE_H], 1, pad_end_part, s);
}

const struct kernel cpu_pad_end = {
    .name = "cpu pad_end",
    .claim = pad_end_claim,
    .run = pad_end_run,
};
