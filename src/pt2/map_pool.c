/* Pools, means, and interpolation of images. */
#include <math.h>
#include <string.h>

#include "ops/avgpool2d.h"
#include "ops/expr.h"
#include "ops/global_avgpool.h"
#include "ops/image.h"
#include "ops/maxpool2d.h"
#include "ops/resample.h"
#include "pt2/place.h"
#include "pt2/table.h"

static struct pool2d_attrs read_windows(struct pt2_import *c)
{
    int kernel[2] = {0, 0}, stride[2], pad[2] = {0, 0};
    struct pool2d_attrs a = {0};

    if (!pt2_pair(c, "kernel_size", kernel) || kernel[0] < 1 || kernel[1] < 1)
        pt2_refuse(c, "its window has no size");
    if (!pt2_pair(c, "stride", stride))
        memcpy(stride, kernel, sizeof(stride));
    (void)pt2_pair(c, "padding", pad);
    a.kernel_h = kernel[0];
    a.kernel_w = kernel[1];
    a.stride_h = stride[0];
    a.stride_w = stride[1];
    a.pad_h = pad[0];
    a.pad_w = pad[1];
    a.ceil_mode = pt2_flag(c, "ceil_mode", false);
    if (stride[0] < 1 || stride[1] < 1)
        pt2_refuse(c, "a stride of 0");
    return a;
}

void pt2_map_max_pool2d(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    struct pool2d_attrs a = read_windows(c);
    int dilation[2] = {1, 1};
    struct tensor *t;

    (void)pt2_pair(c, "dilation", dilation);
    if (dilation[0] != 1 || dilation[1] != 1)
        pt2_refuse(c, "a max pool with dilation");
    t = c->why->len ? NULL : pt2_image(c, x);
    if (!t)
        return;
    a.layer = pt2_layer(c);
    pt2_result_tensor(c, maxpool2d_(c->b, t, &a));
}

void pt2_map_avg_pool2d(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    struct pool2d_attrs a = read_windows(c);
    struct tensor *t;

    a.count_include_pad = pt2_flag(c, "count_include_pad", true);
    if (a.pad_h == 0 && a.pad_w == 0)
        a.count_include_pad = 0;
    if (pt2_has(c, "divisor_override"))
        pt2_refuse(c, "divisor_override");
    pt2_ignore(c, "divisor_override");
    t = c->why->len ? NULL : pt2_image(c, x);
    if (!t)
        return;
    a.layer = pt2_layer(c);
    pt2_result_tensor(c, avgpool2d_(c->b, t, &a));
}

void pt2_map_adaptive_avg_pool2d(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    struct pool2d_attrs a = {0};
    int out[2] = {0, 0};
    struct tensor *t;

    if (!pt2_pair(c, "output_size", out) || out[0] < 1 || out[1] < 1)
        pt2_refuse(c, "its result has no size");
    t = c->why->len ? NULL : pt2_image(c, x);
    if (!t)
        return;
    a.out_h = out[0];
    a.out_w = out[1];
    a.layer = pt2_layer(c);
    if (out[0] == t->dim[IMAGE_H] && out[1] == t->dim[IMAGE_W])
        pt2_result_tensor(c, t);
    else if (out[0] == 1 && out[1] == 1)
        pt2_result_tensor(c, global_avgpool(c->b, t, a.layer));
    else
        pt2_result_tensor(c, avgpool2d_(c->b, t, &a));
}

/* ---- mean ---- */

/* Dims that are summed. */
struct summed {
    bool over[PT2_DIMS];
    bool keeps; /* they stay, with size 1 */
    int64_t n;  /* elements of a sum */
};

static struct summed read_summed(struct pt2_import *c, const struct pt2_value *x)
{
    int64_t dims[PT2_DIMS];
    int n = pt2_ints(c, "dim", dims);
    struct summed s = {.keeps = pt2_flag(c, "keepdim", false), .n = 1};

    for (int i = 0; i < n; i++)
        s.over[pt2_dim(c, dims[i], x->ndim)] = true;
    if (n == 0 || s.over[0])
        pt2_refuse(c, "a sum over the batch");
    for (int d = 0; d < x->ndim; d++)
        s.n *= s.over[d] ? x->dim[d] : 1;
    return s;
}

/* True if, in this order, dims that are summed are next to each other. Sets the sizes of
 * what is outside of them, of them, and of what is inside. */
static bool is_grouped(const struct pt2_value *x, const struct summed *s,
                       const int *order, int64_t size[3])
{
    int group = 0;

    size[0] = size[1] = size[2] = 1;
    for (int i = 0; i < x->ndim; i++) {
        int d = order[i];

        if (x->dim[d] == 1)
            continue;
        if (s->over[d] && group == 2)
            return false;
        group = s->over[d] ? 1 : group ? 2 : 0;
        size[group] *= x->dim[d];
    }
    return true;
}

/* The mean of x: that of the pixels of images [outside, inside, summed, 1]. */
static struct pt2_value mean_of(struct pt2_import *c, struct pt2_value x,
                                const struct summed *s)
{
    int order[PT2_DIMS], n = 0;
    int64_t size[3];
    struct tensor *t;

    if (c->why->len)
        return x;
    if (!pt2_value_order(&x, order) || !is_grouped(&x, s, order, size)) {
        for (int pass = 0; pass < 2; pass++)
            for (int d = 0; d < x.ndim; d++)
                if (s->over[d] == (pass == 1))
                    order[n++] = d;
        if (!pt2_store(c, &x, order))
            return x;
        (void)is_grouped(&x, s, order, size);
    }
    if (tensor_is_image(x.t) && x.ndim == 4 && s->over[2] && s->over[3] && !s->over[1])
        t = pt2_image(c, &x);
    else
        t = pt2_view_of(c, x.t, LAYOUT_IMAGE, 4,
                        (const int64_t[]){size[0], size[2], size[1], 1});
    if (!t)
        return x;
    x.t = global_avgpool(c->b, t, pt2_layer(c));
    for (int d = 0; d < x.ndim; d++)
        if (s->over[d])
            x.dim[d] = 1;
    pt2_value_store(&x, order);
    return x;
}

static void finish_sum(struct pt2_import *c, struct pt2_value x, const struct summed *s)
{
    int n = 0;

    for (int d = 0; d < x.ndim; d++) {
        if (s->over[d] && !s->keeps)
            continue;
        x.dim[n] = x.dim[d];
        x.stride[n++] = x.stride[d];
    }
    x.ndim = n;
    if (!c->why->len)
        pt2_result(c, x);
}

void pt2_map_mean(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    struct summed s = read_summed(c, x);

    finish_sum(c, mean_of(c, *x, &s), &s);
}

void pt2_map_sum(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    struct summed s = read_summed(c, x);
    struct pt2_value y = mean_of(c, *x, &s);

    if (!c->why->len)
        y.t = expr_scale_by(c->b, y.t, (float)s.n, pt2_layer(c));
    finish_sum(c, y, &s);
}

/* The L2 norm: the root of n times the mean of squares. */
void pt2_map_norm(struct pt2_import *c)
{
    struct pt2_value x = *pt2_tensor(c, "self");
    struct summed s = read_summed(c, &x);
    struct expr e;
    int v;

    if (pt2_number(c, "ord", 2) != 2)
        pt2_refuse(c, "a norm other than L2");
    if (!pt2_dense(c, &x))
        return;
    e = expr_start(pt2_layer(c), 1, &x.t);
    x.t = expr_end(c->b, &e, expr_add(&e, EXPR_SQUARE, 0));
    x = mean_of(c, x, &s);
    if (c->why->len)
        return;
    e = expr_start(pt2_layer(c), 1, &x.t);
    v = expr_number(&e, EXPR_SCALE_BY, 0, (float)s.n);
    x.t = expr_end(c->b, &e, expr_add(&e, EXPR_SQRT, v));
    finish_sum(c, x, &s);
}

/* ---- interpolation ---- */

static void map_resample(struct pt2_import *c, enum resample_mode mode)
{
    const struct pt2_value *x = pt2_tensor(c, "input");
    struct resample_attrs a = {.mode = (int)mode,
                               .antialias = strstr(c->node->target, "2d_aa.") != NULL};
    int out[2] = {0, 0};
    bool sized = pt2_pair(c, "output_size", out);
    const struct pt2_arg *scale = NULL;
    struct tensor *t;

    if (mode != RESAMPLE_NEAREST)
        a.align_corners = pt2_flag(c, "align_corners", false);
    if (!sized)
        for (int i = 0; i < c->node->nin; i++)
            if (!strcmp(c->node->in[i].name, "scale_factors"))
                scale = &c->node->in[i].arg;
    if (!sized && (!scale || scale->kind != PT2_FLOATS || scale->n != 2))
        pt2_refuse(c, "it has neither a size nor two factors");
    pt2_ignore(c, "scale_factors");
    t = c->why->len ? NULL : pt2_image(c, x);
    if (!t)
        return;
    if (!sized) {
        a.scale_h = (float)scale->floats[0];
        a.scale_w = (float)scale->floats[1];
        for (int i = 0; i < 2; i++) {
            double side = floor((double)t->dim[IMAGE_H + i] * scale->floats[i]);

            out[i] = side >= 1 && side <= PT2_MOST ? (int)side : 0;
        }
    }
    if (out[0] < 1 || out[1] < 1) {
        pt2_refuse(c, "its result has no size");
        return;
    }
    a.out_h = out[0];
    a.out_w = out[1];
    a.layer = pt2_layer(c);
    pt2_result_tensor(c, resample_(c->b, t, &a));
}

void pt2_map_bilinear(struct pt2_import *c)
{
    map_resample(c, RESAMPLE_BILINEAR);
}

void pt2_map_bicubic(struct pt2_import *c)
{
    map_resample(c, RESAMPLE_BICUBIC);
}

void pt2_map_nearest(struct pt2_import *c)
{
    map_resample(c, RESAMPLE_NEAREST);
}
