/*
 * flip, color_jitter, erase: augmentations of a batch's bytes on the device, with the
 * random numbers and formulas of the loader (base/augment_formula.h and its neighbors),
 * so that the pixels are identical.
 *
 *   flip           mirrors each image left to right with a given probability; or its label
 *                 map, which the same keys mirror together with the image
 *   color_jitter   brightness, contrast, and saturation in a random order; gray or RGB
 *   erase          random erasing: boxes of noise, of one color, or of the mean; gray or RGB
 *
 * `keys` is an int32 [N, AUGMENT_KEY_WORDS]: a struct augment_key per image. An image
 * whose sample is below 0 stays unchanged. No gradient.
 */
#ifndef OPS_AUGMENT_H
#define OPS_AUGMENT_H

#include "base/color_formula.h"
#include "base/erase_formula.h"
#include "graph/graph.h"
#include "ops/image.h"

enum { AUGMENT_X, AUGMENT_KEYS }; /* uint8 image [N,C,H,W], of flip or label maps
                                     [N,H,W]; keys */
enum { AUGMENT_KEY_WORDS = sizeof(struct augment_key) / sizeof(int32_t) };

struct flip_attrs {
    const char *layer;
    struct augment_flips flips;
};

/* Strengths as in AUG.COLOR_JITTER; 0: off. */
struct color_jitter_attrs {
    const char *layer;
    double strength[3]; /* brightness, contrast, saturation */
};

struct erase_attrs {
    const char *layer;
    double probability;
    int mode; /* enum erase_mode */
    int count;
    double mean[3], std[3]; /* of the normalization, in units of 255 */
};

struct tensor *flip_(struct builder *b, struct tensor *x, struct tensor *keys,
                     const struct flip_attrs *a);
struct tensor *color_jitter_(struct builder *b, struct tensor *x, struct tensor *keys,
                             const struct color_jitter_attrs *a);
struct tensor *erase_(struct builder *b, struct tensor *x, struct tensor *keys,
                      const struct erase_attrs *a);

/* Of an image; a label map has one channel. */
struct augment_dims {
    int h, w, c;
};

static inline bool augment_is_label_maps(const struct tensor *x)
{
    return x->layout == LAYOUT_PLAIN && x->ndim == 3;
}

static inline struct augment_dims augment_dims_of(const struct tensor *x)
{
    struct augment_dims d;

    d.h = (int)x->dim[augment_is_label_maps(x) ? 1 : IMAGE_H];
    d.w = (int)x->dim[augment_is_label_maps(x) ? 2 : IMAGE_W];
    d.c = augment_is_label_maps(x) ? 1 : (int)x->dim[IMAGE_C];
    return d;
}

/* One image of a batch for the reference and the CPU; y may be x except for flip. */
struct augment_image {
    const struct augment_key *key;
    const uint8_t *x;
    uint8_t *y;
    int h, w, c;
};

void flip_image(const struct flip_attrs *a, const struct augment_image *m);
void color_jitter_image(const struct color_jitter_attrs *a,
                        const struct augment_image *m);
void erase_image(const struct erase_attrs *a, const struct erase_levels *levels,
                 const struct augment_image *m);

/* Returns image i of a step of one of the three. */
struct augment_image augment_image_of(const struct step *s, int64_t i);

extern const struct op op_flip, op_color_jitter, op_erase;

#endif
