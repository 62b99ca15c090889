/* all_reduce: NCCL's mean, in place, on a lane of its own. */
#include "ops/all_reduce.h"

#include "cuda/kernels.h"
#include "cuda/nccl.h"

static const char *all_reduce_claim(struct region *r, struct graph *g, struct node *n,
                                    struct device *dev)
{
    (void)g;
    (void)dev;
    if (n->op != &op_all_reduce)
        return "not an all_reduce";
    region_take_alone(r, n);
    return NULL;
}

static void all_reduce_run(struct step *s, struct device *dev)
{
    const struct all_reduce_attrs *a = s->node->attrs;

    nccl_reduce(dev, a->group, s->out[0], tensor_len(s->out_tensor[0]), NCCL_FP32,
                NCCL_AVG);
}

const struct kernel cuda_all_reduce = {
    .name = "cuda all_reduce",
    .claim = all_reduce_claim,
    .run = all_reduce_run,
};
