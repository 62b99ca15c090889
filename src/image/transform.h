/*
 * From the bytes of a file to the pixels of one sample: decode, crop, resize, flip,
 * colours. Out come h x w pixels of interleaved 8-bit RGB, or of `channels` others;
 * normalisation is the device's business.
 *
 *   TRANSFORM_RANDOM_CROP  random resized crop (training on photographs)
 *   TRANSFORM_PAD_CROP     pad, crop w x h at a random place (CIFAR); a smaller image is
 *                          first enlarged until it covers the crop
 *   TRANSFORM_SEGMENT      resize to the largest size of the same aspect that fits w x h,
 *                          times a random factor, then crop or pad to w x h at a random
 *                          place, flip, shift; `fill` where the image does not reach
 *                          (segmentation)
 *   TRANSFORM_CENTRE       shorter side to `resize`, the longer to
 *                          int(resize * long / short), centre crop at
 *                          round((side - crop) / 2), half to even; black where the image
 *                          is too small (evaluation)
 *   TRANSFORM_STRETCH      the whole image to w x h, whatever its aspect (evaluation)
 *
 * Then, in this order: flip, policy, colour jitter, random erasing. Same key, same
 * pixels.
 *
 * Images of other channels than RGB go through three by three, all with the same
 * geometry; a grey one is three times the same, so that colours and policies do what
 * Pillow does to grey. They and erasing are for one channel or RGB.
 *
 * A label map goes through the same geometry (resize, crop, flip, shift) with the nearest
 * pixel, floor((o + 0.5) in / out), and LABEL_IGNORE where it does not reach; colours,
 * policies and erasing are not for label maps.
 */
#ifndef IMAGE_TRANSFORM_H
#define IMAGE_TRANSFORM_H

#include "base/resize_job.h"
#include "image/augment.h"
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
    TRANSFORM_CENTRE,
    TRANSFORM_STRETCH,
    TRANSFORM_SEGMENT
};

struct transform {
    enum transform_kind kind;
    int w, h;          /* of the result */
    int channels;      /* of the result; 0: RGB. image_decoder_channels */
    int label_divisor; /* a label map becomes h / d x w / d, nearest; 0: no labels */
    enum resize_filter filter;
    bool filter_random; /* bilinear or bicubic, drawn per image (timm's "random") */
    double scale[2], ratio[2]; /* TRANSFORM_RANDOM_CROP: share of area, width / height */
    int pad;                   /* TRANSFORM_PAD_CROP: pixels on each side, */
    enum pad_mode pad_mode;    /* and what they are */
    int resize;                /* TRANSFORM_CENTRE: the shorter side */
    double factor[2]; /* TRANSFORM_SEGMENT: of the size; {0, 0}: 1, in the centre */
    int shift;        /* TRANSFORM_SEGMENT: by -shift to shift pixels, each way */
    struct augment_flips flip; /* horizontal; {0}: never */
    struct policy policy;      /* {0}: none */
    /* What shifts, rotations and TRANSFORM_SEGMENT bring in, by channel. */
    uint8_t fill[IMAGE_CHANNELS];
    double jitter[3];   /* brightness, contrast, saturation; 0: off */
    struct erase erase; /* {0}: none */
    /*
     * A JPEG is decoded at 1/s, s = 8, 4 or 2, if the crop is then still at least
     * shrink_gap times as large as the result in both directions. 0: never. The result
     * differs from that of the full path: on street scenes, at a gap of 2 by 0.6 grey
     * levels in the mean (1.2 in the quadratic mean), at 1.4 by 1.2 (2.2).
     */
    double shrink_gap;
    /* TRANSFORM_SEGMENT: nothing is mirrored here. The caller mirrors image and label map
     * where augment_flip() says so, with the same result as without this. */
    bool flip_later;
    /* The caller resizes: the result is the source pixels that this needs, and
     * transformer.job says what to do with them. Without label maps, policies, colours
     * and erasing; not for TRANSFORM_PAD_CROP. */
    bool resize_later;
};

/* The usual ones: scale 0.08 to 1, ratio 3/4 to 4/3, flip 0.5; bicubic; gap 2. */
struct transform transform_for_training(int size);
/* Shorter side to `resize`, centre crop of `size`. */
struct transform transform_for_evaluation(int size, int resize);
/* Whole images to w x h without a change, and labels with them. Bilinear. */
struct transform transform_for_segmentation(int w, int h);
/* Pad by 4 with black, crop, flip 0.5. */
struct transform transform_for_small_training(int size);

int transform_channels(const struct transform *t);

/* Bytes of a sample: h w channels, or resize_place() with resize_later. */
size_t transform_size(const struct transform *t);

/* The s of 8, 4, 2, 1 at which a w x h JPEG has all that its samples need: that of the
 * smallest crop. */
int transform_least_shrink(const struct transform *t, int w, int h);

/* True if every epoch makes the same of an image, without its label map. */
bool transform_is_fixed(const struct transform *t);

/* What one thread needs, reused. */
struct transformer {
    struct image_decoder *decoder;
    struct resizer resizer;
    struct image image, scratch;
    struct image three, made; /* of other channels: three of them, and their result */
    struct warp_canvas warp;
    int w, h; /* of the last image that transform_file or transform_image was given */
    struct stage_times *times; /* gets decode, resize, augment; NULL: not measured */
    int *column;               /* transform_label's */
    struct resize_job *job;    /* with resize_later: the caller's, for the next sample */
    int column_cap;            /* of column */
};

void transformer_init(struct transformer *m, const struct image_limits *limits);
void transformer_release(struct transformer *m);

/* One sample from the bytes of a file into dst (transform_size() bytes). -1 and a reason
 * without the file's name if it is damaged. */
int transform_file(struct transformer *m, const struct transform *t,
                   const struct augment_key *k, const void *data, size_t len,
                   uint8_t *dst, struct strbuf *why);

/* The same from a decoded image of as many channels; the same pixels as long as nothing
 * would be shrunk. */
void transform_image(struct transformer *m, const struct transform *t,
                     const struct augment_key *k, const struct image *whole, uint8_t *dst);

/*
 * The label map (w x h bytes of src, of the same size as the image that it belongs
 * to) into dst, [t->h / d, t->w / d] with d = t->label_divisor: the values that the
 * pixels at d i + d / 2 have.
 */
void transform_label(struct transformer *m, const struct transform *t,
                     const struct augment_key *k, const uint8_t *src, int w, int h,
                     uint8_t *dst);

/* TRANSFORM_SEGMENT: is the factor always 1? And the size that a w x h image has then. */
bool transform_segment_fits(const struct transform *t);
void transform_segment_fit(const struct transform *t, int w, int h, int *fw, int *fh);

#endif
