#include "base/error.h"
#include "onnx/convert.h"
#include "ops/moe_route.h"

/* Refuses. An exported model takes any number of images, but the rows of an expert are a
 * number per batch. */
const char *convert_moe_route(struct convert *c, const struct node *n)
{
    (void)c;
    die("layer '%s': a mixture of experts cannot be exported to ONNX: the tokens that an "
        "expert takes depend on all images of the batch",
        n->layer);
}
