/*
 * Augmentation policies: color and geometry operations, drawn per image. policy.c has a
 * row per family:
 *
 *   rand-...      RandAugment (Cubuk et al. 2019, arXiv 1909.13719) as in timm: n
 *                operations, drawn with replacement from 15, each applied with
 *                probability p at a magnitude of N(m, mstd), clipped to 0 .. mmax
 *   original, originalr, v0, v0r [-mstdS]
 *                AutoAugment (Cubuk et al. 2018, arXiv 1805.09501): one of 25 pairs of
 *                operations, each with its probability and magnitude; the variants are
 *                timm's; those with r posterize more as the magnitude grows
 *   ta_wide       TrivialAugmentWide (Mueller and Hutter 2021, arXiv 2103.10158) as in
 *                torchvision: one of 14 operations at one of 31 magnitudes
 *
 * "rand-m9-mstd0.5-inc1" is parsed as in timm: parts after dashes, in any order,
 *
 *   mN magnitude (10)   nN operations (2)   pP probability (0.5)   mmaxN bound (10)
 *   mstdS deviation of the magnitude (0; above 100: uniform in 0 .. m)
 *   incN  operations that grow stronger with the magnitude, whatever N is
 */
#ifndef IMAGE_POLICY_H
#define IMAGE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "image/augment.h"
#include "image/policy_ops.h"

struct policy {
    const struct policy_kind *kind; /* NULL: no policy */
    int ops;                        /* per image */
    double magnitude, deviation, bound, probability;
    bool increasing;
};

/* "", "none", and "None" mean no policy. Returns -1 with a reason if `text` is invalid. */
int policy_parse(struct policy *p, const char *text, struct strbuf *why);

/* Applies the whole policy to an image. filter: bicubic or bilinear; filter_random: drawn
 * per image. */
void policy_apply(const struct policy *p, const struct augment_key *k,
                  struct policy_canvas *c, enum resize_filter filter, bool filter_random);

/* A family of policies; its functions are in its own file, the table in policy.c. */
struct policy_kind {
    const char *name;
    /* Parses the text after the name, "" or "-..."; returns -1 with a reason on errors. */
    int (*parse)(struct policy *p, const char *rest, struct strbuf *why);
    void (*apply)(const struct policy *p, const struct augment_key *k,
                  struct policy_canvas *c, enum resize_filter filter, bool filter_random);
    /* AutoAugment: its pairs, and the meaning of a magnitude. */
    const struct policy_pair *pairs;
    enum policy_levels levels;
};

int policy_rand_parse(struct policy *p, const char *rest, struct strbuf *why);
void policy_rand_apply(const struct policy *p, const struct augment_key *k,
                       struct policy_canvas *c, enum resize_filter filter,
                       bool filter_random);

enum { POLICY_PAIRS = 25 };

struct policy_pair {
    struct policy_member {
        enum policy_op op;
        float probability;
        int magnitude; /* 0 to 10 */
    } member[2];
};

extern const struct policy_pair policy_pairs_original[POLICY_PAIRS],
    policy_pairs_v0[POLICY_PAIRS];
int policy_auto_parse(struct policy *p, const char *rest, struct strbuf *why);
void policy_auto_apply(const struct policy *p, const struct augment_key *k,
                       struct policy_canvas *c, enum resize_filter filter,
                       bool filter_random);

int policy_trivial_parse(struct policy *p, const char *rest, struct strbuf *why);
void policy_trivial_apply(const struct policy *p, const struct augment_key *k,
                          struct policy_canvas *c, enum resize_filter filter,
                          bool filter_random);

/* Returns the operation of one of torchvision's choices, and its argument in one of the
 * bins. */
enum { POLICY_TRIVIAL_OPS = 14, POLICY_TRIVIAL_BINS = 31 };
enum policy_op policy_trivial_op(int choice, int bin, int sign, double *argument);

/* Operation i uses draws 2 i and 2 i + 1 of a sample. */
struct policy_draw {
    uint32_t choice;  /* operation or pair */
    double chance;    /* in [0, 1): applied if below the operation's probability */
    uint32_t size[2]; /* for the magnitude */
    int sign;
    enum resize_filter filter;
};
struct policy_draw policy_draw(const struct augment_key *k, int i,
                               enum resize_filter filter, bool filter_random);

/* timm's noise on a magnitude: N(m, deviation), clipped to 0 .. bound. */
double policy_magnitude(const struct policy *p, double m, const struct policy_draw *d);

#endif
