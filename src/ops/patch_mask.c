#include "ops/patch_mask.h"

#include "graph/kernel.h"
#include "ops/augment.h"

static const struct attr patch_mask_attr_table[] = {
    ATTR_INT(struct patch_mask_attrs, cells, 1, PATCH_MASK_CELLS, "patches of an image"),
    ATTR_INT(struct patch_mask_attrs, count, 0, PATCH_MASK_CELLS, "masked ones"),
    {0},
};

struct tensor *patch_mask_(struct builder *b, struct tensor *keys,
                           const struct patch_mask_attrs *a)
{
    return node(b, &op_patch_mask, a->layer, a, &keys, 1);
}

static const char *patch_mask_shape(struct node *n)
{
    const struct patch_mask_attrs *a = n->attrs;
    const struct tensor *keys = n->in[PATCH_MASK_KEYS];
    int64_t dim[] = {keys->dim[0], a->cells};

    if (keys->dtype != DTYPE_I32 || keys->ndim < 1 || keys->ndim > 2 ||
        (keys->ndim == 2 && keys->dim[1] != AUGMENT_KEY_WORDS))
        return "neither a key nor a label for each image";
    if (a->count > a->cells)
        return "more masked patches than there are";
    tensor_plain(n->out[0], DTYPE_F32, 2, dim);
    return NULL;
}

static void patch_mask_ref(const struct step *s)
{
    const struct patch_mask_attrs *a = s->node->attrs;
    const struct tensor *keys = s->node->in[PATCH_MASK_KEYS];

    for (int64_t i = 0; i < keys->dim[0]; i++)
        patch_mask_image(s->in[PATCH_MASK_KEYS], keys->ndim == 1, i, a->cells, a->count,
                         s->out[0]);
}

const struct op op_patch_mask = {
    .name = "patch_mask",
    .attrs = patch_mask_attr_table,
    .attrs_size = sizeof(struct patch_mask_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = patch_mask_shape,
    .ref = patch_mask_ref,
};
