/* Pools, means, and interpolation of images. */
#include <math.h>
#include <string.h>

#include "ops/avgpool2d.h"
#include "ops/global_avgpool.h"
#include "ops/image.h"
#include "ops/maxpool2d.h"
#include "ops/resample.h"
#include "pt2/compose.h"
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

/* Pools of vectors [N,C,L], or [C,L]: images of one column. */
void pt2_map_avg_pool1d(struct pt2_import *c)
{
    struct pt2_value x = *pt2_tensor(c, "self");
    struct pool2d_attrs a = {0};
    bool adaptive = strstr(c->node->target, "adaptive") != NULL;
    struct tensor *t;

    if (adaptive) {
        int out[2] = {1, 1};

        (void)pt2_pair(c, "output_size", out);
        a.out_h = out[0];
        a.out_w = 1;
    } else {
        a = read_windows(c);
        a.kernel_w = a.stride_w = 1;
        a.pad_w = 0;
        a.count_include_pad = pt2_flag(c, "count_include_pad", true) && a.pad_h;
    }
    if (x.ndim != 3)
        pt2_refuse(c, "its operand is not [N, channels, length]");
    x.dim[3] = x.stride[3] = 1;
    x.ndim = 4;
    t = c->why->len ? NULL : pt2_image(c, &x);
    if (!t)
        return;
    a.layer = pt2_layer(c);
    x = pt2_value_of(avgpool2d_(c->b, t, &a));
    x.ndim = 3;
    pt2_result(c, x);
}

/* ---- mean ---- */

/* Dims that are summed. */
struct summed {
    bool maximum; /* the maximum instead of the mean */
    bool reduced[PT2_DIMS];
    bool keeps; /* they stay, with size 1 */
    int64_t n;  /* elements of a sum */
};

/* True if dim d of the operand depends on the batch. */
static bool is_batch(const struct pt2_import *c, int d)
{
    const struct pt2_meta *m = NULL;

    for (int i = 0; i < c->node->nin; i++)
        if (!strcmp(c->node->in[i].name, "self") && c->node->in[i].arg.kind == PT2_TENSOR)
            m = pt2_program_meta(c->p, c->node->in[i].arg.name);
    return m && d < m->ndim ? m->dim[d] < 0 : d == 0;
}

static struct summed read_summed(struct pt2_import *c, const struct pt2_value *x)
{
    int64_t dims[PT2_DIMS];
    int n = pt2_ints(c, "dim", dims);
    struct summed s = {.keeps = pt2_flag(c, "keepdim", false), .n = 1};

    for (int i = 0; i < n; i++)
        s.reduced[pt2_dim(c, dims[i], x->ndim)] = true;
    for (int d = 0; d < x->ndim; d++)
        if ((n == 0 || s.reduced[d]) && is_batch(c, d))
            pt2_refuse(c, "a sum over the batch");
    for (int d = 0; d < x->ndim && n == 0; d++)
        s.reduced[d] = true;
    for (int d = 0; d < x->ndim; d++)
        s.n *= s.reduced[d] ? x->dim[d] : 1;
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
        if (s->reduced[d] && group == 2)
            return false;
        group = s->reduced[d] ? 1 : group ? 2 : 0;
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
                if (s->reduced[d] == (pass == 1))
                    order[n++] = d;
        if (!pt2_store(c, &x, order))
            return x;
        (void)is_grouped(&x, s, order, size);
    }
    if (!s->maximum && tensor_is_image(x.t) && x.ndim == 4 && s->reduced[2] &&
        s->reduced[3] && !s->reduced[1])
        t = pt2_image(c, &x);
    else
        t = pt2_view_of(c, x.t, LAYOUT_IMAGE, 4,
                        (const int64_t[]){size[0], size[2], size[1], 1});
    if (!t)
        return x;
    if (s->maximum) {
        struct pool2d_attrs a = {.layer = pt2_layer(c),
                                 .kernel_h = (int)t->dim[IMAGE_H],
                                 .kernel_w = 1,
                                 .stride_h = 1,
                                 .stride_w = 1};

        x.t = maxpool2d_(c->b, t, &a);
    } else {
        x.t = global_avgpool(c->b, t, pt2_layer(c));
    }
    for (int d = 0; d < x.ndim; d++)
        if (s->reduced[d])
            x.dim[d] = 1;
    pt2_value_store(&x, order);
    return x;
}

static void finish_sum(struct pt2_import *c, struct pt2_value x, const struct summed *s)
{
    int n = 0;

    for (int d = 0; d < x.ndim; d++) {
        if (s->reduced[d] && !s->keeps)
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

struct pt2_value pt2_mean_last(struct pt2_import *c, const struct pt2_value *x)
{
    struct summed s = {.n = x->dim[x->ndim - 1]};

    s.reduced[x->ndim - 1] = true;
    return mean_of(c, *x, &s);
}

/* The maximum; the second result of max.dim, where it is, must not be read. */
void pt2_map_amax(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    struct summed s = read_summed(c, x);

    s.maximum = true;
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

/* The L2 norm: the root of n times the mean of squares. The gradient of the norm of zeros is 0,
 * as in PyTorch, whereas that of a root is infinite. */
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
    v = expr_number(&e, EXPR_AT_LEAST, v, 1e-30f);
    x.t = expr_end(c->b, &e, expr_add(&e, EXPR_SQRT, v));
    finish_sum(c, x, &s);
}

/* ---- interpolation ---- */

/* Reads the size of the result of `sides` dims, or factors of the operand's. */
static bool read_size(struct pt2_import *c, int sides, const struct tensor *t,
                      struct resample_attrs *a)
{
    int out[2] = {0, 1};
    const struct pt2_arg *scale = pt2_argument(c, "scale_factors");

    if (!pt2_pair(c, "output_size", out)) {
        if (!scale || scale->kind != PT2_FLOATS || scale->n != sides) {
            pt2_refuse(c, "it has neither a size nor factors");
            return false;
        }
        for (int i = 0; i < sides; i++) {
            double side = floor((double)t->dim[IMAGE_H + i] * scale->floats[i]);

            out[i] = side >= 1 && side <= PT2_MOST ? (int)side : 0;
        }
        a->scale_h = (float)scale->floats[0];
        a->scale_w = sides > 1 ? (float)scale->floats[1] : 1;
    }
    a->out_h = out[0];
    a->out_w = sides > 1 ? out[1] : 1;
    if (a->out_h < 1 || a->out_w < 1)
        pt2_refuse(c, "its result has no size");
    return !c->why->len;
}

static void map_resample(struct pt2_import *c, enum resample_mode mode)
{
    struct pt2_value x = *pt2_tensor(c, "input");
    struct resample_attrs a = {.mode = (int)mode,
                               .antialias = strstr(c->node->target, "2d_aa.") != NULL};
    int sides = strstr(c->node->target, "1d.") ? 1 : 2;
    struct tensor *t;

    if (mode != RESAMPLE_NEAREST)
        a.align_corners = pt2_flag(c, "align_corners", false);
    if (sides == 1 && x.ndim == 3) { /* an image of one column */
        x.dim[3] = x.stride[3] = 1;
        x.ndim = 4;
    }
    t = c->why->len ? NULL : pt2_image(c, &x);
    if (!t || !read_size(c, sides, t, &a))
        return;
    a.layer = pt2_layer(c);
    x = pt2_value_of(resample_(c->b, t, &a));
    x.ndim = sides + 2;
    pt2_result(c, x);
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
