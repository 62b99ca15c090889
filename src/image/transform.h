/*
 * From the bytes of a file to the pixels of one sample: decode, crop, resize, flip,
 * colours. Out come h x w pixels of interleaved 8-bit RGB; normalisation is the device's
 * business.
 *
 *   TRANSFORM_RANDOM_CROP  random resized crop (training on photographs)
 *   TRANSFORM_PAD_CROP     pad, crop w x h at a random place (CIFAR)
 *   TRANSFORM_SCENE        resize to the largest size of the same aspect that fits w x h,
 *                          times a random factor, then crop or pad to w x h at a random
 *                          place, flip, shift; `fill` where the picture does not reach
 *                          (segmentation)
 *   TRANSFORM_CENTRE       shorter side to `resize`, the longer to int(resize * long /
 * short), centre crop at round((side - crop) / 2), half to even; black where the picture
 * is too small (evaluation) TRANSFORM_STRETCH      the whole picture to w x h, whatever
 * its aspect (evaluation)
 *
 * Then, in this order: flip, policy, colour jitter, random erasing. Same key, same
 * pixels.
 *
 * A label picture goes through the same geometry (resize, crop, flip, shift) with the
 * nearest pixel, floor((o + 0.5) in / out), and LABEL_IGNORE where it does not reach;
 * colours, policies and erasing are not for label pictures.
 */
#ifndef IMAGE_TRANSFORM_H
#define IMAGE_TRANSFORM_H

#include "image/augment.h"
#include "image/erase.h"
#include "image/image.h"
#include "image/label.h"
#include "image/pad_crop.h"
#include "image/policy.h"
#include "image/resize.h"

enum transform_kind {
    TRANSFORM_RANDOM_CROP,
    TRANSFORM_PAD_CROP,
    TRANSFORM_CENTRE,
    TRANSFORM_STRETCH,
    TRANSFORM_SCENE
};

struct transform {
    enum transform_kind kind;
    int w, h;          /* of the result */
    int label_divisor; /* a label picture becomes h / d x w / d, nearest; 0: no labels */
    enum resize_filter filter;
    bool filter_random; /* bilinear or bicubic, drawn per picture (timm's "random") */
    double scale[2],
        ratio[2];           /* TRANSFORM_RANDOM_CROP: share of the area, width / height */
    int pad;                /* TRANSFORM_PAD_CROP: pixels on each side, */
    enum pad_mode pad_mode; /* and what they are */
    int resize;             /* TRANSFORM_CENTRE: the shorter side */
    double factor[2];       /* TRANSFORM_SCENE: of the size; {0, 0}: 1, in the centre */
    int shift;              /* TRANSFORM_SCENE: by -shift to shift pixels, each way */
    struct augment_flips flip; /* horizontal; {0}: never */
    struct policy policy;      /* {0}: none */
    uint8_t fill[3];           /* what shifts, rotations and TRANSFORM_SCENE bring in */
    double jitter[3];          /* brightness, contrast, saturation; 0: off */
    struct erase erase;        /* {0}: none */
    /*
     * A JPEG is decoded at 1/s, s = 8, 4 or 2, if the crop is then still at least
     * shrink_gap times as large as the result in both directions. 0: never. The result
     * differs from that of the full path: on street scenes, at a gap of 2 by 0.6 grey
     * levels in the mean (1.2 in the quadratic mean), at 1.4 by 1.2 (2.2).
     */
    double shrink_gap;
};

/* The usual ones: scale 0.08 to 1, ratio 3/4 to 4/3, flip 0.5; bicubic; gap 2. */
struct transform transform_for_training(int size);
/* Shorter side to `resize`, centre crop of `size`. */
struct transform transform_for_evaluation(int size, int resize);
/* Whole pictures to w x h without a change, and labels with them. Bilinear. */
struct transform transform_for_scenes(int w, int h);
/* Pad by 4 with black, crop, flip 0.5. */
struct transform transform_for_small_training(int size);

/* Could some sample of a w x h picture be decoded at less than full size? */
bool transform_may_shrink(const struct transform *t, int w, int h);

/* What one thread needs, reused. */
struct transformer {
    struct image_decoder *decoder;
    struct resizer resizer;
    struct image image, scratch;
    struct warp_canvas warp;
    int w, h; /* of the last picture that transform_file or transform_image was given */
    int *column; /* transform_label's */
    int column_cap;
};

void transformer_init(struct transformer *m, const struct image_limits *limits);
void transformer_release(struct transformer *m);

/*
 * One sample from the bytes of a file into dst (h * w * 3 bytes). -1 and a reason without
 * the file's name if it is damaged or, for TRANSFORM_PAD_CROP, too small.
 */
int transform_file(struct transformer *m, const struct transform *t,
                   const struct augment_key *k, const void *data, size_t len,
                   uint8_t *dst, struct strbuf *why);

/* The same from a decoded picture; the same pixels as long as nothing would be shrunken.
 */
int transform_image(struct transformer *m, const struct transform *t,
                    const struct augment_key *k, const struct image *whole, uint8_t *dst,
                    struct strbuf *why);

/*
 * The label picture (w x h bytes of src, of the same size as the picture that it belongs
 * to) into dst, [t->h / d, t->w / d] with d = t->label_divisor: the values that the
 * pixels at d i + d / 2 have.
 */
void transform_label(struct transformer *m, const struct transform *t,
                     const struct augment_key *k, const uint8_t *src, int w, int h,
                     uint8_t *dst);

/* TRANSFORM_SCENE: the size that a w x h picture has at factor 1; is that always so? */
bool transform_scene_fits(const struct transform *t);
void transform_scene_fit(const struct transform *t, int w, int h, int *fw, int *fh);

#endif
