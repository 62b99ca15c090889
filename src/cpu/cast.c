/* Casts between fp32 and bf16 that were not fused with a neighbor, and views that must be
 * copies. */
#include "ops/cast.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/view.h"

struct job {
    const struct device *dev;
    struct step *s;
    bool streamed;
};

static const char *cast_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_cast && n->op != &op_view)
        return "not a cast, nor a view that is a copy";
    if (!cpu_dtype(n->in[CAST_X]) || !cpu_dtype(n->out[0]))
        return "fp32 and bf16 only";

    region_claim(r, n);
    (void)region_read(r, n->in[CAST_X]);
    (void)region_write(r, n->out[0]);
    return NULL;
}

static void cast_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    enum dtype src_type = j->s->in_tensor[0]->dtype,
               dst_type = j->s->out_tensor[0]->dtype;

    j->dev->loops->cast(src_type, dst_type, cpu_at(j->s->in[0], src_type, lo),
                        cpu_out(j->s->out[0], dst_type, lo), hi - lo, j->streamed);
}

static void cast_run(struct step *s, struct device *dev)
{
    struct job j = {dev, s, cpu_streams(dev, s, 0)};

    cpu_for(dev, tensor_len(s->out_tensor[0]), 64, cast_part, &j);
}

const struct kernel cpu_cast = {
    .name = "cpu cast",
    .claim = cast_claim,
    .run = cast_run,
};
