/* Downsamples a label map, one thread per label. */
#include "ops/label_down.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "graph/kernel.h"

enum { DOWN_BLOCK = 256 };

__global__ void __launch_bounds__(DOWN_BLOCK)
    labels_down(const uint8_t *y, int64_t n, int64_t height, int64_t width, int factor,
                uint8_t *dst)
{
    int64_t i = (int64_t)blockIdx.x * DOWN_BLOCK + threadIdx.x;
    int64_t w = i % width, h = i / width % height, image = i / width / height;

    if (i < n)
        dst[i] = y[((image * height + h) * factor + factor / 2) * width * factor +
                   w * factor + factor / 2];
}

static const char *label_down_claim(struct region *r, struct graph *, struct node *n,
                                    struct device *)
{
    if (n->op != &op_label_down)
        return "not a label map at a lower resolution";
    region_claim_node(r, n);
    return nullptr;
}

static void label_down_run(struct step *s, struct device *dev)
{
    const struct tensor *t = s->out_tensor[0];
    const struct label_down_attrs *a = (const struct label_down_attrs *)s->node->attrs;
    int64_t n = tensor_len(t);

    LAUNCH(dev, labels_down, (unsigned)((n + DOWN_BLOCK - 1) / DOWN_BLOCK), DOWN_BLOCK, 0,
           (const uint8_t *)s->in[0], n, t->dim[1], t->dim[2], a->factor,
           (uint8_t *)s->out[0]);
}

extern const struct kernel cuda_label_down = {
    .name = "cuda label_down",
    .claim = label_down_claim,
    .run = label_down_run,
};
