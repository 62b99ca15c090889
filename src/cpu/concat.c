/* concat and channel_slice: runs of channels copied between pixels. */
#include "ops/concat.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/image.h"

struct job {
    const struct device *dev;
    const struct step *s;
};

static const char *concat_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_concat && n->op != &op_channel_slice)
        return "no concat, nor a slice of one";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype)
            return "types differ";

    region_claim_node(r, n);
    return NULL;
}

static int64_t row_bytes(const struct tensor *t)
{
    return t->dim[IMAGE_C] * (int64_t)dtype_size(t->dtype);
}

/* Pixels [lo, hi). */
static void concat_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct step *s = j->s;
    int64_t to = row_bytes(s->out_tensor[0]);
    char *y = (char *)s->out[0] + lo * to;

    for (int i = 0; i < s->nin; i++) {
        int64_t n = row_bytes(s->in_tensor[i]);

        j->dev->loops->copy_rows(y, to, (const char *)s->in[i] + lo * n, n, n, hi - lo);
        y += n;
    }
}

static void slice_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct step *s = j->s;
    const struct channel_slice_attrs *a = s->node->attrs;
    int64_t n = row_bytes(s->out_tensor[0]), from = row_bytes(s->in_tensor[0]);
    int64_t first = a->from * (int64_t)dtype_size(s->out_tensor[0]->dtype);

    j->dev->loops->copy_rows((char *)s->out[0] + lo * n, n,
                             (const char *)s->in[0] + lo * from + first, from, n,
                             hi - lo);
}

static void concat_run(struct step *s, struct device *dev)
{
    const struct tensor *y = s->out_tensor[0];
    struct job j = {dev, s};

    cpu_for(dev, tensor_len(y) / y->dim[IMAGE_C], 64,
            s->node->op == &op_concat ? concat_part : slice_part, &j);
}

const struct kernel cpu_concat = {
    .name = "cpu concat",
    .claim = concat_claim,
    .run = concat_run,
};
