/*
 * groupnorm: opset 17 has none. An instance norm of [N, groups, -1] normalizes each group;
 * weight and bias follow.
 */
#include "onnx/convert.h"
#include "ops/groupnorm.h"
#include "ops/image.h"

static const char *constants(struct convert *c, const struct node *n, const char *what,
                             int groups, float value)
{
    float *v = arena_new(c->mem, (size_t)groups * sizeof(*v));
    const int64_t dim = groups;

    for (int i = 0; i < groups; i++)
        v[i] = value;
    return onnx_tensor(c->x, arena_printf(c->mem, "%s.%s", n->layer, what), ONNX_FLOAT, 1,
                       &dim, v);
}

const char *convert_groupnorm(struct convert *c, const struct node *n)
{
    const struct groupnorm_attrs *a = n->attrs;
    const struct tensor *x = n->in[GROUPNORM_X];
    const int64_t image[] = {0, x->dim[IMAGE_C], x->dim[IMAGE_H], x->dim[IMAGE_W]};
    const int64_t vector[] = {1, x->dim[IMAGE_C], 1, 1};
    const char *w = convert_value(c, n->in[GROUPNORM_WEIGHT]);
    const char *b = convert_value(c, n->in[GROUPNORM_BIAS]), *y;

    y = convert_reshape(c, convert_value(c, x), CONVERT_DIMS(0, a->groups, -1));
    y = onnx_node(c->x, "InstanceNormalization",
                  ONNX_IN(y, constants(c, n, "ones", a->groups, 1),
                          constants(c, n, "zeros", a->groups, 0)));
    onnx_float(c->x, "epsilon", a->eps);
    y = convert_reshape(c, y, 4, image);
    y = onnx_node(c->x, "Mul", ONNX_IN(y, convert_reshape(c, w, 4, vector)));
    return onnx_node(c->x, "Add", ONNX_IN(y, convert_reshape(c, b, 4, vector)));
}
