#include "ops/separable.h"

#include "ops/avgpool2d.h"
#include "ops/image.h"
#include "ops/resample.h"

bool is_separable(const struct node *n)
{
    return n->op == &op_resample || n->op == &op_resample_grad ||
           n->op == &op_avgpool2d || n->op == &op_avgpool2d_grad;
}

struct resample_taps separable_taps(const struct node *n, int axis)
{
    struct resample_taps t, transposed;

    if (n->op == &op_resample || n->op == &op_resample_grad)
        return axis == IMAGE_H ? resample_rows(n) : resample_columns(n);
    t = pool2d_taps(n->attrs, axis);
    if (n->op == &op_avgpool2d)
        return t;
    transposed = resample_taps_transposed(&t, n->out[0]->dim[axis]);
    resample_taps_release(&t);
    return transposed;
}
