/*
 * From the bytes of a file to the pixels of one sample: decode, crop, resize, flip,
 * colors. The result is h x w pixels of interleaved 8-bit RGB, or of `channels` others;
 * the device normalizes it.
 *
 *   TRANSFORM_RANDOM_CROP  random resized crop (training on photographs)
 *   TRANSFORM_PAD_CROP     pad, crop w x h at a random position (CIFAR); a smaller image
 *                         is first enlarged until it covers the crop
 *   TRANSFORM_SEGMENT      resize to the largest size of the same aspect that fits w x h,
 *                         times a random factor, then crop or pad to w x h at a random
 *                         position, flip, shift; `fill` outside the image
 *                         (segmentation)
 *   TRANSFORM_CENTER       shorter side to `resize`, the longer to
 *                         int(resize * long / short), center crop at
 *                         round((side - crop) / 2), half to even; black outside a small
 *                         image (evaluation)
 *   TRANSFORM_STRETCH      the whole image to w x h, whatever its aspect (evaluation)
 *
 * Then, in this order: flips, policy, list, color jitter, random erasing. The same key gives the
 * same pixels.
 *
 * Images with other channels than RGB are processed three channels at a time, all with
 * the same geometry. A gray image is three equal channels, so that colors and policies do
 * what Pillow does to gray. Colors, policies, and erasing require one channel or RGB.
 *
 * A label map goes through the same geometry (resize, crop, flip, shift) with the nearest
 * pixel, floor((o + 0.5) in / out), and LABEL_IGNORE outside the image, but without
 * colors, policies, and erasing.
 */
#ifndef IMAGE_TRANSFORM_H
#define IMAGE_TRANSFORM_H

#include "base/resize_job.h"
#include "image/augment_list.h"
#include "image/erase.h"
#include "image/image.h"
#include "image/label.h"
#include "image/pad_crop.h"
#include "image/policy.h"
#include "image/resize.h"
#include "image/stages.h"

enum transform_kind {
    TRANSFORM_RANDOM_CROP,
    TRANSFORM_PAD_CROP,
    TRANSFORM_CENTER,
    TRANSFORM_STRETCH,
    TRANSFORM_SEGMENT
};

/* Where TRANSFORM_CENTER crops: one of torchvision's five_crop. */
enum transform_corner {
    CORNER_NONE, /* the center */
    CORNER_TOP_LEFT,
    CORNER_TOP_RIGHT,
    CORNER_BOTTOM_LEFT,
    CORNER_BOTTOM_RIGHT,
    CORNERS
};

struct transform {
    enum transform_kind kind;
    int w, h;          /* of the result */
    int channels;      /* of the result; 0: RGB; see image_decoder_channels */
    int label_divisor; /* a label map becomes h / d x w / d, nearest; 0: no labels */
    enum resize_filter filter;
    bool filter_random; /* bilinear or bicubic, drawn per image (timm's "random") */
    double scale[2], ratio[2]; /* TRANSFORM_RANDOM_CROP: share of area, width / height */
    int pad;                   /* TRANSFORM_PAD_CROP: pixels on each side */
    enum pad_mode pad_mode;    /* TRANSFORM_PAD_CROP: their values */
    int resize;                /* TRANSFORM_CENTER: the shorter side */
    enum transform_corner corner; /* TRANSFORM_CENTER */
    double factor[2];          /* TRANSFORM_SEGMENT: of the size; {0, 0}: 1, centered */
    int shift;                 /* TRANSFORM_SEGMENT: by -shift to shift pixels per axis */
    struct augment_flips flip; /* horizontal; {0}: never */
    double vflip;              /* its probability; not with resize_later */
    struct policy policy;      /* {0}: none */
    struct augment_list list;  /* {0}: none; not with flip_later */
    /* Fills shifts, rotations, and TRANSFORM_SEGMENT, by channel. */
    uint8_t fill[IMAGE_CHANNELS];
    double jitter[3];   /* brightness, contrast, saturation; 0: off */
    struct erase erase; /* {0}: none */
    /* Decodes a JPEG at 1/s, s = 8, 4, or 2, if the crop is then still at least
     * shrink_gap times the result in both directions. 0: never. The result differs from
     * full decoding: on street scenes, at a gap of 2 by 0.6 gray levels on average (1.2
     * RMS), at 1.4 by 1.2 (2.2). */
    double shrink_gap;
    /* TRANSFORM_SEGMENT: nothing is mirrored here. The caller mirrors image and label map
     * if augment_flip() says so, with the same result. */
    bool flip_later;
    /* The caller resizes: the result is the source pixels that it needs, and
     * transformer.job describes the resize. Not with label maps, policies, colors,
     * erasing, or TRANSFORM_PAD_CROP. */
    bool resize_later;
};

/* Defaults: scale 0.08 to 1, ratio 3/4 to 4/3, flip 0.5; bicubic; gap 2. */
struct transform transform_for_training(int size);
/* Shorter side to `resize`, center crop of `size`. */
struct transform transform_for_evaluation(int size, int resize);
/* Whole images to w x h, unaugmented, and their labels. Bilinear. */
struct transform transform_for_segmentation(int w, int h);
/* Pad by 4 with black, crop, flip 0.5. */
struct transform transform_for_small_training(int size);

int transform_channels(const struct transform *t);

/* Returns the bytes of a sample: h w channels, or resize_place() with resize_later. */
size_t transform_size(const struct transform *t);

/* Returns the s of 8, 4, 2, 1 at which a w x h JPEG still has the resolution that its
 * samples need (for the smallest crop). */
int transform_min_shrink(const struct transform *t, int w, int h);

/* True if every epoch gives the same result for an image, without its label map. */
bool transform_is_fixed(const struct transform *t);

/* True for TRANSFORM_SEGMENT with a factor of always 1; below: the size that a w x h
 * image has then. */
bool transform_segment_fits(const struct transform *t);
void transform_segment_fit(const struct transform *t, int w, int h, int *fw, int *fh);

#endif
