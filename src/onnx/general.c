/* Ops of imported networks: products of matrices in any order, softmax, picked positions,
 * constants. */
#include "base/error.h"
#include "onnx/convert.h"
#include "ops/constant.h"
#include "ops/gather.h"
#include "ops/matmul.h"
#include "ops/softmax.h"

/* Gets the dims by descending stride, those of size 1 first: order[i] is dim i in memory. */
static void memory_order(const int64_t *dim, const int64_t *stride,
                         int64_t order[MATMUL_STRIDES])
{
    for (int i = 0; i < MATMUL_STRIDES; i++) {
        int pos = i;

        for (; pos > 0; pos--) {
            int64_t before = order[pos - 1];

            if (dim[before] == 1 || (dim[i] > 1 && stride[before] >= stride[i]))
                break;
            order[pos] = before;
        }
        order[pos] = i;
    }
}

static bool is_sorted(const int64_t order[MATMUL_STRIDES])
{
    for (int i = 0; i < MATMUL_STRIDES; i++)
        if (order[i] != i)
            return false;
    return true;
}

/* Returns an operand as [batch, batch, rows, columns]. */
static const char *operand(struct convert *c, const struct tensor *t, const int64_t *dim,
                           const int64_t *stride)
{
    int64_t order[MATMUL_STRIDES], stored[MATMUL_STRIDES], perm[MATMUL_STRIDES];
    const char *v = convert_stored(c, t);

    memory_order(dim, stride, order);
    for (int i = 0; i < MATMUL_STRIDES; i++) {
        stored[i] = dim[order[i]];
        perm[order[i]] = i;
    }
    v = convert_dims(c, v, MATMUL_STRIDES, stored);
    return is_sorted(order) ? v : convert_transpose(c, v, MATMUL_STRIDES, perm);
}

const char *convert_matmul(struct convert *c, const struct node *n)
{
    const struct matmul_attrs *m = n->attrs;
    const int64_t a[] = {m->batch[0], m->batch[1], m->rows, m->sums},
                  b[] = {m->batch[0], m->batch[1], m->sums, m->columns},
                  y[] = {m->batch[0], m->batch[1], m->rows, m->columns};
    int64_t order[MATMUL_STRIDES];
    const char *v = onnx_node(c->x, "MatMul",
                              ONNX_IN(operand(c, n->in[MATMUL_A], a, m->a),
                                      operand(c, n->in[MATMUL_B], b, m->b)));

    if (m->alpha != 1)
        v = onnx_node(c->x, "Mul", ONNX_IN(v, onnx_scalar(c->x, m->alpha)));
    memory_order(y, m->y, order);
    if (!is_sorted(order))
        v = convert_transpose(c, v, MATMUL_STRIDES, order);
    return convert_from_stored(c, v, n->out[0]);
}

const char *convert_softmax(struct convert *c, const struct node *n)
{
    const char *y = onnx_node(c->x, "Softmax", ONNX_IN(convert_value(c, n->in[SOFTMAX_X])));

    onnx_int(c->x, "axis", -1);
    return y;
}

const char *convert_constant(struct convert *c, const struct node *n)
{
    const struct constant_attrs *a = n->attrs;
    const char *name = arena_printf(c->mem, "%s.constant%d", n->layer, n->index);

    for (int i = 0; i < a->ndim; i++)
        if (convert_is_batch(a->dim[i]))
            die("layer '%s': its numbers depend on the size of the batch", n->layer);
    return onnx_tensor(c->x, name, ONNX_FLOAT, a->ndim, a->dim, a->data);
}

/* Returns v, [outer, extent, inner], with zeros as position `extent`. */
static const char *add_zeros(struct convert *c, const char *v)
{
    return convert_pad(c, v, 3, (const int64_t[]){0, 0, 0, 0, 1, 0});
}

static const char *pick(struct convert *c, const struct node *n, const char *v,
                        int64_t count, const int64_t *place)
{
    v = onnx_node(c->x, "Gather", ONNX_IN(v, convert_places(c, n, count, place)));
    onnx_int(c->x, "axis", 1);
    return v;
}

const char *convert_gather(struct convert *c, const struct node *n)
{
    const struct gather_attrs *a = n->attrs;
    int64_t *place = arena_new(c->mem, (size_t)a->n * sizeof(*place));
    const char *v = convert_dims(c, convert_stored(c, n->in[GATHER_X]),
                                 CONVERT_DIMS(a->outer, a->extent, a->inner));
    bool zeros = false;

    if (convert_is_batch(a->extent) || convert_is_batch(a->n))
        die("layer '%s': its positions depend on the size of the batch", n->layer);
    for (int64_t i = 0; i < a->n; i++) {
        zeros = zeros || a->index[i] < 0;
        place[i] = a->index[i] < 0 ? a->extent : a->index[i];
    }
    v = pick(c, n, zeros ? add_zeros(c, v) : v, a->n, place);
    return convert_from_stored(c, v, n->out[0]);
}

/* For each position the places that are added to it: as many as the most of any position, the
 * others of which are zeros. */
const char *convert_gather_grad(struct convert *c, const struct node *n)
{
    const struct gather_attrs *a = n->attrs;
    struct gather_lists l = gather_lists(a);
    const char *v = convert_dims(c, convert_stored(c, n->in[GATHER_GRAD_DY]),
                                 CONVERT_DIMS(a->outer, a->n, a->inner));
    int64_t max = 1, *place;

    for (int64_t i = 0; i < a->extent; i++)
        if (l.first[i + 1] - l.first[i] > max)
            max = l.first[i + 1] - l.first[i];
    place = arena_new(c->mem, (size_t)(a->extent * max) * sizeof(*place));
    for (int64_t i = 0; i < a->extent; i++)
        for (int64_t k = 0; k < max; k++)
            place[i * max + k] =
                l.first[i] + k < l.first[i + 1] ? l.item[l.first[i] + k] : a->n;
    gather_lists_release(&l);
    v = pick(c, n, add_zeros(c, v), a->extent * max, place);
    if (max > 1) {
        v = convert_dims(c, v, CONVERT_DIMS(a->outer, a->extent, max, a->inner));
        v = onnx_node(c->x, "ReduceSum", ONNX_IN(v, onnx_int64s(c->x, CONVERT_DIMS(2))));
        onnx_int(c->x, "keepdims", 0);
    }
    return convert_from_stored(c, v, n->out[0]);
}
