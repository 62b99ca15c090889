/*
 * Drop path as exporters write it: a mask per sample that is drawn, divided by the rate of
 * what is kept, and multiplied. Other random numbers are refused, because an evaluation
 * would have to know what to do without them.
 *
 *   timm, torchvision   m = empty([N,1,1,1]); m.bernoulli_(keep); m.div_(keep); x * m
 *   transformers        m = floor(rand([N,1,1]) + keep); (x / keep) * m
 */
#include <math.h>
#include <string.h>

#include "ops/dropout.h"
#include "ops/expr.h"
#include "pt2/place.h"
#include "pt2/table.h"

/* Makes a mask's value, [N,1,...]. */
static struct pt2_value mask_of_size(struct pt2_import *c, const char *name,
                                     enum pt2_value_kind kind)
{
    struct pt2_value v = {.kind = kind, .keep = 1, .scale = 1};

    v.ndim = pt2_ints(c, name, v.dim);
    for (int d = 1; d < v.ndim; d++)
        if (v.dim[d] != 1)
            pt2_refuse(c, "random numbers that are not one per sample");
    if (!v.ndim)
        pt2_refuse(c, "a random number for the whole batch");
    pt2_ignore(c, "dtype");
    pt2_ignore(c, "layout");
    pt2_ignore(c, "device");
    pt2_ignore(c, "pin_memory");
    pt2_ignore(c, "memory_format");
    return v;
}

void pt2_map_empty(struct pt2_import *c)
{
    (void)pt2_optional(c, "self"); /* of which it takes type and device */
    pt2_result(c, mask_of_size(c, "size", PT2_VALUE_EMPTY));
}

void pt2_map_bernoulli(struct pt2_import *c)
{
    struct pt2_value v = *pt2_tensor_or_mask(c, "self");

    v.keep = pt2_number(c, "p", 0.5);
    if (v.kind != PT2_VALUE_EMPTY || !(v.keep > 0) || v.keep > 1)
        pt2_refuse(c, "random numbers that are not drop path");
    v.kind = PT2_VALUE_MASK;
    pt2_result(c, v);
}

/* rand() is a mask without its `keep`, which is added. */
void pt2_map_rand(struct pt2_import *c)
{
    struct pt2_value v = mask_of_size(c, "size", PT2_VALUE_MASK);

    v.keep = 0;
    v.scale = 0; /* until floor() */
    pt2_result(c, v);
}

bool pt2_mask_add(struct pt2_import *c, const struct pt2_value *mask, double number)
{
    struct pt2_value v = *mask;

    if (mask->scale != 0 || mask->keep != 0 || !(number > 0) || number > 1)
        return false;
    v.keep = number;
    pt2_result(c, v);
    return true;
}

void pt2_map_floor(struct pt2_import *c)
{
    struct pt2_value v = *pt2_tensor_or_mask(c, "self");

    if (v.kind != PT2_VALUE_MASK || v.scale != 0 || !(v.keep > 0))
        pt2_refuse(c, "it has no gradient");
    v.scale = 1;
    pt2_result(c, v);
}

bool pt2_mask_div(struct pt2_import *c, const struct pt2_value *mask, double divisor)
{
    struct pt2_value v = *mask;

    v.scale /= divisor;
    pt2_result(c, v);
    return true;
}

bool pt2_mask_mul(struct pt2_import *c, const struct pt2_value *self,
                  const struct pt2_value *mask)
{
    struct pt2_value x = *self;
    double scale = mask->scale * mask->keep; /* drop_path divides by `keep` */

    if (x.kind != PT2_VALUE_TENSOR || mask->ndim != x.ndim || mask->dim[0] != x.dim[0] ||
        !(mask->scale > 0) || !(mask->keep > 0) || mask->keep < 0.001)
        return false;
    if (!pt2_dense(c, &x))
        return true;
    if (mask->keep < 1)
        x.t = drop_path(c->b, x.t, pt2_layer(c), .rate = (float)(1 - mask->keep));
    if (fabs(scale - 1) > 1e-6)
        x.t = expr_scale_by(c->b, x.t, (float)scale, pt2_layer(c));
    pt2_result(c, x);
    return true;
}
