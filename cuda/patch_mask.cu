/* patch_mask: a thread per image, since each draw depends on those before it. Bytes: the
 * masks once. */
#include "ops/patch_mask.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "graph/kernel.h"

enum { BLOCK = 32 };

static const char *patch_mask_claim(struct region *r, struct graph *, struct node *n,
                                    struct device *)
{
    if (n->op != &op_patch_mask)
        return "no patch_mask";

    region_claim_node(r, n);
    return nullptr;
}

__global__ void __launch_bounds__(BLOCK)
    mask_patches(const int32_t *keys, bool labels, int64_t images, int cells, int count,
                 float *mask)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i < images)
        patch_mask_image(keys, labels, i, cells, count, mask);
}

static void patch_mask_run(struct step *s, struct device *dev)
{
    auto *a = (const struct patch_mask_attrs *)s->node->attrs;
    const struct tensor *keys = s->node->in[PATCH_MASK_KEYS];
    int64_t images = keys->dim[0];

    LAUNCH(dev, mask_patches, cuda_blocks(images, BLOCK, 1), BLOCK, 0,
           (const int32_t *)s->in[PATCH_MASK_KEYS], keys->ndim == 1, images, a->cells,
           a->count, (float *)s->out[0]);
}

extern const struct kernel cuda_patch_mask = {
    .name = "cuda patch_mask",
    .claim = patch_mask_claim,
    .run = patch_mask_run,
};
