/* The distribution over ordered classes (ops/corn.h). */
#include "onnx/convert.h"
#include "ops/corn.h"

/* Returns log sigmoid(x). */
static const char *log_sigmoid(struct convert *c, const char *x)
{
    const char *y =
        onnx_node(c->x, "Softplus", ONNX_IN(onnx_node(c->x, "Neg", ONNX_IN(x))));

    return onnx_node(c->x, "Neg", ONNX_IN(y));
}

/* Column k is the sum of log sigmoid(z_j) over j < k, plus log sigmoid(-z_k) but for the
 * last. */
const char *convert_corn(struct convert *c, const struct node *n)
{
    const char *z = convert_value(c, n->in[CORN_LOGITS]), *reached, *stays;

    reached =
        onnx_node(c->x, "CumSum",
                  ONNX_IN(log_sigmoid(c, z), onnx_int64s(c->x, 1, (const int64_t[]){1})));
    reached = convert_pad(c, reached, 2, (const int64_t[]){0, 1, 0, 0});
    stays = log_sigmoid(c, onnx_node(c->x, "Neg", ONNX_IN(z)));
    stays = convert_pad(c, stays, 2, (const int64_t[]){0, 0, 0, 1});
    return onnx_node(c->x, "Add", ONNX_IN(reached, stays));
}
