#include "cuda/lower.h"

#include "cuda/depthwise.h"
#include "ops/batchnorm_parts.h"
#include "ops/maxpool2d_places.h"
#include "ops/pad_end.h"

void cuda_lower(struct graph *g, struct device *dev)
{
    (void)dev;
    pad_end_lower(g, cuda_is_depthwise);
    batchnorm_lower(g);
    maxpool2d_lower(g);
}
