/*
 * patch_mask: for each image, which patches are masked (SimMIM, Xie et al. 2021, arXiv
 * 2111.09886): 1 for `count` of `cells` patches, 0 for the others, in random order
 * (ops/patch_mask_formula.h).
 *
 *   mask = patch_mask(&b, keys, "mask", .cells = 36, .count = 22)
 *
 * keys is int32 [N, AUGMENT_KEY_WORDS], a struct augment_key per image, or, for
 * evaluations, the labels int32 [N]: then the mask depends only on the place in the batch.
 * An image whose sample or label is below 0 has no masked patch. The mask is fp32 [N,
 * cells]. No gradient.
 */
#ifndef OPS_PATCH_MASK_H
#define OPS_PATCH_MASK_H

#include "graph/graph.h"
#include "ops/patch_mask_formula.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PATCH_MASK_KEYS };
enum { PATCH_MASK_CELLS = 1 << 18 }; /* maximum: draws are below 2^16, with four words */

struct patch_mask_attrs {
    const char *layer;
    int cells, count;
};

#define patch_mask(b, keys, ...)                                                         \
    patch_mask_((b), (keys), &(const struct patch_mask_attrs){.layer = __VA_ARGS__})
struct tensor *patch_mask_(struct builder *b, struct tensor *keys,
                           const struct patch_mask_attrs *a);

/* Fills the mask of image i; `keys`: the data of the input, of one or two dims. */
HOST_DEVICE static inline void patch_mask_image(const int32_t *keys, bool labels,
                                                int64_t i, int cells, int count,
                                                float *mask)
{
    struct augment_key k = {0, 0, i};

    if (!labels)
        k = ((const struct augment_key *)(const void *)keys)[i];
    else if (keys[i] < 0)
        k.sample = -1;
    mask += i * cells;
    if (k.sample >= 0)
        patch_mask_fill(&k, cells, count, mask);
    else
        for (int c = 0; c < cells; c++)
            mask[c] = 0;
}

extern const struct op op_patch_mask;

#ifdef __cplusplus
}
#endif

#endif
