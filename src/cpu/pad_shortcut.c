/* The parameter-free shortcut and its gradient: copies of pixels. */
#include "ops/pad_shortcut.h"

#include <string.h>

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/image.h"

static const char *pad_shortcut_claim(struct region *r, struct graph *g, struct node *n,
                                      struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_pad_shortcut && n->op != &op_pad_shortcut_grad)
        return "not a pad_shortcut";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "types differ";

    region_claim(r, n);
    (void)region_read(r, n->in[0]);
    (void)region_write(r, n->out[0]);
    return NULL;
}

static char *pixel(void *p, const struct tensor *t, int64_t n, int64_t h, int64_t w)
{
    return (char *)p + (size_t)image_at(t, n, 0, h, w) * dtype_size(t->dtype);
}

/* Rows [lo, hi) of the result, counted over all images: zeros first, then the copies. */
static void pad_shortcut_part(void *arg, int64_t lo, int64_t hi)
{
    const struct step *s = arg;
    const struct pad_shortcut_attrs *a = s->node->attrs;
    const struct tensor *dst = s->out_tensor[0], *src = s->in_tensor[0];
    bool grad = s->node->op == &op_pad_shortcut_grad;
    size_t each = dtype_size(dst->dtype), before = (size_t)a->before * each;
    size_t pixel_to = (size_t)dst->dim[IMAGE_C] * each, old = (size_t)a->in_c * each;
    size_t pixel_from = (size_t)src->dim[IMAGE_C] * each;
    int64_t stride = a->stride, width = dst->dim[IMAGE_W];

    for (int64_t row = lo; row < hi; row++) {
        int64_t n = row / dst->dim[IMAGE_H], h = row % dst->dim[IMAGE_H];
        char *y = pixel(s->out[0], dst, n, h, 0);
        const char *x;

        memset(y, 0, (size_t)width * pixel_to);
        if (!grad) {
            x = pixel(s->in[0], src, n, h * stride, 0);
            for (int64_t w = 0; w < width; w++, y += pixel_to)
                memcpy(y + before, x + (size_t)(w * stride) * pixel_from, old);
        } else if (h % stride == 0) {
            x = pixel(s->in[0], src, n, h / stride, 0);
            for (int64_t w = 0; w < width; w += stride, x += pixel_from)
                memcpy(y + (size_t)w * pixel_to, x + before, old);
        }
    }
}

static void pad_shortcut_run(struct step *s, struct device *dev)
{
    const struct tensor *dst = s->out_tensor[0];

    cpu_for(dev, dst->dim[IMAGE_N] * dst->dim[IMAGE_H], 1, pad_shortcut_part, s);
}

const struct kernel cpu_pad_shortcut = {
    .name = "cpu pad_shortcut",
    .claim = pad_shortcut_claim,
    .run = pad_shortcut_run,
};
