/*
 * Writes in place. A value is a tensor seen through dims and strides, so a write makes a new
 * tensor, which all names of that memory show from then on, each through its own.
 */
#include <string.h>

#include "ops/expr.h"
#include "ops/strided_copy.h"
#include "pt2/host.h"
#include "pt2/place.h"
#include "pt2/table.h"

/* ---- operators that only write ---- */

void pt2_map_copy(struct pt2_import *c)
{
    const struct pt2_value *dst = pt2_tensor(c, "self");
    struct pt2_value y = *pt2_tensor(c, "src");

    pt2_ignore(c, "non_blocking");
    if (!c->why->len && !pt2_value_expand(&y, dst->ndim, dst->dim))
        pt2_refuse(c, "what it writes in place does not fit");
    if (!c->why->len)
        pt2_result(c, y);
}

void pt2_map_zero(struct pt2_import *c)
{
    const struct pt2_value *dst = pt2_tensor(c, "self");
    struct pt2_value y = pt2_host_new(c, PT2_F32, 0, NULL);

    y.host->data[0] = pt2_number(c, "value", 0);
    y = pt2_host_show(c, &y);
    if (!c->why->len && pt2_value_expand(&y, dst->ndim, dst->dim))
        pt2_result(c, y);
}

/* ---- names of the same memory ---- */

/* If `part` shows the same elements of each position of dim 0, makes it those of the first one.
 * Returns false if it does not. */
static bool take_first(const struct tensor *all, struct pt2_value *part)
{
    int64_t each = tensor_len(all) / all->dim[0], last = part->offset;
    int batch = -1;

    for (int d = 0; d < part->ndim; d++)
        if (part->stride[d] == each && part->dim[d] == all->dim[0] && batch < 0)
            batch = d;
        else
            last += (part->dim[d] - 1) * part->stride[d];
    if (batch < 0 || last >= each)
        return false;
    part->dim[batch] = 1;
    return true;
}

/* Returns a tensor that is 1 where `part` shows an element of `all`, which has its dims, but
 * only one position of dim 0 if all are equal, and 0 elsewhere. */
static struct tensor *mask_of(struct pt2_import *c, const struct tensor *all,
                              struct pt2_value part)
{
    bool first = take_first(all, &part);
    int64_t dim[TENSOR_DIMS], len = tensor_len(all) / (first ? all->dim[0] : 1);
    struct pt2_value mask = pt2_host_new(c, PT2_F32, 1, &len);

    if (c->why->len)
        return NULL;
    part.t = NULL;
    part.host = mask.host;
    for (int64_t i = 0; i < pt2_value_len(&part); i++)
        *pt2_host_at(&part, i) = 1;
    mask = pt2_host_show(c, &mask);
    pt2_dims(dim, all->dim, all->ndim);
    dim[0] = first ? 1 : dim[0];
    return pt2_view_of(c, mask.t, all->layout, all->ndim, dim);
}

/* Returns a tensor like `all` with the elements of `part`, which shows some of it, replaced
 * by `value`. */
static struct tensor *with_part(struct pt2_import *c, struct tensor *all,
                                const struct pt2_value *part, struct pt2_value value)
{
    static const int order[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct strided_copy_attrs a = {.layer = pt2_layer(c),
                                   .n = part->ndim,
                                   .offset = part->offset,
                                   .layout = (int)all->layout,
                                   .ndim = all->ndim};
    struct tensor *in[3];
    struct expr e;

    for (int d = 0; d < part->ndim; d++) {
        a.len[d] = part->dim[d];
        a.stride[d] = part->stride[d];
        if (a.len[d] > 1 && a.stride[d] <= 0)
            pt2_refuse(c, "it writes repeated elements in place");
    }
    if (!pt2_store(c, &value, order) || c->why->len)
        return all;
    memcpy(a.dim, all->dim, sizeof(a.dim));
    in[0] = mask_of(c, all, *part);
    if (!in[0])
        return all;
    in[1] = node(c->b, &op_strided_copy_grad, a.layer, &a, &value.t, 1);
    in[2] = all;
    e = expr_start(pt2_layer(c), 3, in);
    return expr_end(c->b, &e, expr_select(&e, 0, 1, 2));
}

/* True if another name of that memory, of other elements, is read later. Refuses one that
 * may be a copy in PyTorch. */
static bool is_shared(struct pt2_import *c, const struct pt2_value *before,
                      const struct pt2_value *after)
{
    bool shared = false;

    for (size_t i = 0; i < c->value.n; i++) {
        const char *name = c->value.entry[i].key;
        const struct pt2_value *v = c->value.entry[i].value;

        if (v == after || v->memory != before->memory || v->kind == PT2_VALUE_NUMBER ||
            pt2_value_same(v, before) || !pt2_is_read_later(c, name))
            continue;
        shared = true;
        if (v->kind != PT2_VALUE_TENSOR || before->kind != PT2_VALUE_TENSOR ||
            v->t != before->t || v->maybe_copy || before->maybe_copy)
            pt2_refuse(c,
                       "it writes in place what '%s' shows in another shape, which is "
                       "not supported",
                       name);
    }
    return shared;
}

void pt2_written(struct pt2_import *c, const struct pt2_value *before)
{
    struct pt2_value *after = c->node->out[0].kind == PT2_TENSOR
                                  ? strmap_get(&c->value, c->node->out[0].name)
                                  : NULL;
    struct tensor *all = NULL;

    if (after && is_shared(c, before, after) && !c->why->len) {
        all = with_part(c, before->t, before, *after);
        *after = *before;
        after->t = all;
    }
    for (size_t i = 0; i < c->value.n && after && !c->why->len; i++) {
        struct pt2_value *v = c->value.entry[i].value;

        if (v == after || v->memory != before->memory || v->kind == PT2_VALUE_NUMBER)
            continue;
        if (all && v->t == before->t)
            v->t = all;
        else if (pt2_value_same(v, before))
            *v = *after;
    }
}
