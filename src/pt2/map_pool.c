/* Pools, means, and interpolation of images. */
#include <math.h>
#include <string.h>

#include "ops/avgpool2d.h"
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

/* Removes the dims that are averaged, or makes them 1. */
static void drop_dims(struct pt2_value *v, const bool *over, bool keep)
{
    int n = 0;

    for (int d = 0; d < v->ndim; d++) {
        if (over[d] && !keep)
            continue;
        v->dim[n] = over[d] ? 1 : v->dim[d];
        v->stride[n++] = over[d] ? 1 : v->stride[d];
    }
    v->ndim = n;
}

/* Orders the dims: what is outside, what is averaged, what is inside. */
static bool order_groups(const struct pt2_value *v, const bool *over, int *order,
                         int64_t size[3])
{
    int stored[PT2_DIMS], n = 0, group = 0;
    bool in_order = pt2_value_order(v, stored);

    size[0] = size[1] = size[2] = 1;
    for (int i = 0; i < v->ndim; i++) { /* groups may already be in order */
        int d = stored[i];

        if (v->dim[d] == 1)
            continue;
        if (group != 1 && over[d])
            group++;
        else if (group == 1 && !over[d])
            group = 2;
        if (group > 2 || (group == 2 && over[d]))
            in_order = false;
    }
    if (in_order)
        memcpy(order, stored, sizeof(stored));
    for (int pass = 0; pass < 2 && !in_order; pass++)
        for (int i = 0; i < v->ndim; i++)
            if (over[stored[i]] == (pass == 1))
                order[n++] = stored[i];
    group = 0;
    for (int i = 0; i < v->ndim; i++) {
        int d = order[i];

        if (v->dim[d] == 1)
            continue;
        group = over[d] ? 1 : group ? 2 : 0;
        size[group] *= v->dim[d];
    }
    return true;
}

/* The mean over some dims: of the pixels of an image [outer, inner, averaged, 1]. */
void pt2_map_mean(struct pt2_import *c)
{
    struct pt2_value x = *pt2_tensor(c, "self");
    int64_t dims[PT2_DIMS], size[3];
    int n = pt2_ints(c, "dim", dims), order[PT2_DIMS];
    bool over[PT2_DIMS] = {false}, keep = pt2_flag(c, "keepdim", false);
    struct tensor *t;

    for (int i = 0; i < n; i++)
        over[pt2_dim(c, dims[i], x.ndim)] = true;
    if (n == 0 || over[0])
        pt2_refuse(c, "a mean over the batch");
    if (c->why->len)
        return;
    (void)order_groups(&x, over, order, size);
    if (!pt2_store(c, &x, order))
        return;
    if (tensor_is_image(x.t) && x.ndim == 4 && over[2] && over[3] && !over[1])
        t = pt2_image(c, &x);
    else
        t = pt2_view_of(c, x.t, LAYOUT_IMAGE, 4,
                        (const int64_t[]){size[0], size[2], size[1], 1});
    if (!t)
        return;
    x.t = global_avgpool(c->b, t, pt2_layer(c));
    for (int d = 0; d < x.ndim; d++)
        if (over[d])
            x.dim[d] = 1;
    pt2_value_store(&x, order);
    drop_dims(&x, over, keep);
    pt2_result(c, x);
}

/* ---- interpolation ---- */

static void map_resample(struct pt2_import *c, enum resample_mode mode)
{
    const struct pt2_value *x = pt2_tensor(c, "input");
    struct resample_attrs a = {.mode = (int)mode};
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
