/*
 * pad_shortcut: the shortcut without parameters of CIFAR ResNets ("option A", He et al.
 * 2015, section 4.2): every stride-th pixel in both directions, and channels of zeros
 * around (or, with .append = 1, after) the old ones: (out - in) / 2 before, the rest
 * after.
 *
 *   s = pad_shortcut(&b, x, "layer2.0.shortcut", .out = 32, .stride = 2)
 */
#ifndef OPS_PAD_SHORTCUT_H
#define OPS_PAD_SHORTCUT_H

#include "graph/graph.h"

struct pad_shortcut_attrs {
    const char *layer;
    int out;              /* channels, at least those of x */
    int stride;           /* 0: 1; never 0 in a node */
    int append;           /* 1: all new channels come last */
    int before;           /* set by the builder: zero channels in front */
    int in_c, in_h, in_w; /* set by the builder: dims of x */
};

enum { PAD_SHORTCUT_X };
enum { PAD_SHORTCUT_GRAD_DY }; /* dx [N,in_c,in_h,in_w] */

#define pad_shortcut(b, x, ...)                                                          \
    pad_shortcut_((b), (x), &(const struct pad_shortcut_attrs){.layer = __VA_ARGS__})
struct tensor *pad_shortcut_(struct builder *b, struct tensor *x,
                             const struct pad_shortcut_attrs *a);

extern const struct op op_pad_shortcut, op_pad_shortcut_grad;

#endif
