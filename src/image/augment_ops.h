/*
 * Operations of a list of augmentations (augment_list.h), one row each. An operation
 * either moves pixels, of images and label maps alike, or changes the pixels of images
 * only.
 *
 * A new operation is a row in augment_ops.c and its function. Fields that no other
 * operation has also need a row in record_augment (config/records.c).
 */
#ifndef IMAGE_AUGMENT_OPS_H
#define IMAGE_AUGMENT_OPS_H

#include "base/names.h"
#include "image/augment.h"
#include "image/policy_ops.h"

enum { AUGMENT_OP_FIELDS = 4 };

struct augment_range {
    double lo, hi;
};

/* A field of an operation: a range, from which each image draws its value. */
struct augment_field {
    const char *name;
    struct augment_range def;
    double min, max;
    bool symmetric; /* a single number v means -v to v, else v to v */
    bool integer;   /* integers */
};

/* An operation with its values, in the order of its fields. */
struct augment_item {
    const struct augment_op *op;
    double p; /* probability */
    struct augment_range value[AUGMENT_OP_FIELDS];
};

/* Random numbers of one item for one image, in sequence. */
struct augment_words {
    uint64_t seed, epoch, next;
    struct philox four;
};

struct augment_op {
    const char *name;
    const char *help;
    struct augment_field field[AUGMENT_OP_FIELDS]; /* those with a name */
    double p;                                      /* default */
    bool colors;                                   /* for gray and RGB images only */
    bool whole_images;                             /* not for images with label maps */
    bool needless; /* without any field it changes nothing */
    /*
     * Moves pixels: writes the map from w x h outputs to inputs,
     *
     *   x' = (m0 x + m1 y + m2) / (m6 x + m7 y + m8),
     *   y' = (m3 x + m4 y + m5) / (m6 x + m7 y + m8),
     *
     * in pixels, whose centers are at 0.5.
     */
    void (*map)(const struct augment_item *i, struct augment_words *r, int w, int h,
                double m[9]);
    /* Changes an image in place. With a map, too: a faster way to the same image. */
    void (*apply)(const struct augment_item *i, struct augment_words *r,
                  struct policy_canvas *c);
};

extern const struct augment_op augment_ops[]; /* a row without name ends it */

/* Names of the operations; the help of each lists its fields. */
extern const struct names augment_op_names;

/* Returns NULL if there is none. */
const struct augment_op *augment_op_find(const char *name);

/* Returns the random numbers of item number i. */
struct augment_words augment_words_of(const struct augment_key *k, int i);

/* Returns the next word; a number in [0, 1); in [lo, hi); one of lo to hi. */
uint32_t augment_word(struct augment_words *r);
double augment_share(struct augment_words *r);
double augment_value(struct augment_words *r, const struct augment_range *v);
int augment_whole(struct augment_words *r, const struct augment_range *v);

#endif
