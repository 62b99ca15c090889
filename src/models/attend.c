#include "models/attend.h"

#include <math.h>
#include <string.h>

#include "models/blocks.h"
#include "ops/matmul.h"
#include "ops/position.h"
#include "ops/softmax.h"
#include "ops/strided_copy.h"

/* Returns the tokens of an image. */
static int64_t tokens(const struct tensor *x)
{
    int64_t n = 1;

    for (int d = 1; d < x->ndim - 1; d++)
        n *= x->dim[d];
    return n;
}

struct tensor *attend_part(struct builder *b, struct tensor *x, const char *layer,
                           int part, int parts)
{
    int64_t step = 1, c = x->dim[x->ndim - 1] / parts;
    struct strided_copy_attrs a = {.layer = layer, .n = x->ndim, .offset = part * c};

    for (int d = x->ndim - 1; d >= 0; d--) {
        a.len[d] = d == x->ndim - 1 ? c : x->dim[d];
        a.stride[d] = step;
        step *= x->dim[d];
    }
    return strided_copy_(b, x, &a);
}

struct tensor *attend_(struct builder *b, struct tensor *q, struct tensor *k,
                       struct tensor *v, const struct attend_attrs *a)
{
    int64_t n = q->dim[0], c = q->dim[q->ndim - 1], d = c / a->heads;
    int64_t rows = tokens(q), columns = tokens(k);
    const int64_t dim[] = {n, a->heads, rows, columns};
    struct matmul_attrs m = {.layer = layer_below(b, a->prefix, "scores"),
                             .alpha = 1 / sqrtf((float)d),
                             .batch = {n, a->heads},
                             .rows = rows,
                             .columns = columns,
                             .sums = d,
                             .a = {rows * c, d, c, 1},
                             .b = {columns * c, d, 1, c}};
    struct tensor *y;

    matmul_order(m.y, dim);
    y = matmul(b, q, k, &m);
    if (a->bias)
        y = add_position(b, y, a->bias, layer_below(b, a->prefix, "bias"));
    y = softmax(b, y, layer_below(b, a->prefix, "softmax"));

    m = (struct matmul_attrs){.layer = layer_below(b, a->prefix, "values"),
                              .batch = {n, a->heads},
                              .rows = rows,
                              .columns = d,
                              .sums = columns,
                              .b = {columns * c, d, c, 1},
                              .y = {rows * c, d, c, 1},
                              .layout = LAYOUT_PLAIN,
                              .ndim = q->ndim};
    matmul_order(m.a, dim);
    memcpy(m.dim, q->dim, sizeof(m.dim));
    return matmul(b, y, v, &m);
}
