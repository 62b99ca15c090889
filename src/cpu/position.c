/* Adds the same values to every sample, and sums over samples. Sums are fp32. */
#include "ops/position.h"

#include <string.h>

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

enum { CHUNK = 1024 }; /* elements that a thread holds in fp32 at a time */

struct job {
    const struct device *dev;
    const struct step *s;
};

static const char *position_claim(struct region *r, struct graph *g, struct node *n,
                                  struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_add_position && n->op != &op_batch_sum)
        return "neither add_position nor batch_sum";
    if (!cpu_dtype(n->in[0]))
        return "fp32 and bf16 only";

    region_claim_node(r, n);
    if (n->op == &op_add_position)
        region_inplace(r, 0, ADD_POSITION_X);
    return NULL;
}

/* Elements [lo, hi) of every sample. */
static void add_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct loops *loops = j->dev->loops;
    const float *p = j->s->in[ADD_POSITION_P];
    enum dtype t = j->s->out_tensor[0]->dtype;
    int64_t sample = tensor_len(j->s->in_tensor[ADD_POSITION_P]);
    float v[CHUNK];

    for (int64_t first = 0; first < tensor_len(j->s->out_tensor[0]); first += sample)
        for (int64_t i = lo; i < hi; i += CHUNK) {
            int64_t n = hi - i < CHUNK ? hi - i : CHUNK;
            const void *terms[] = {v, p + i};

            loops->cast(t, DTYPE_F32, cpu_at(j->s->in[ADD_POSITION_X], t, first + i), v,
                        n, false);
            loops->add(DTYPE_F32, terms, 2, v, 0, n, false);
            loops->cast(DTYPE_F32, t, v, cpu_out(j->s->out[0], t, first + i), n, false);
        }
}

static void sum_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct tensor *x = j->s->in_tensor[BATCH_SUM_X];
    int64_t sample = tensor_len(j->s->out_tensor[0]);

    for (int64_t i = lo; i < hi; i += CHUNK) {
        int64_t n = hi - i < CHUNK ? hi - i : CHUNK;
        float *sum = (float *)j->s->out[0] + i;

        memset(sum, 0, (size_t)n * sizeof(*sum));
        for (int64_t pos = i; pos < tensor_len(x); pos += sample)
            j->dev->loops->sum_rows(x->dtype,
                                    cpu_at(j->s->in[BATCH_SUM_X], x->dtype, pos), 1, n, 1,
                                    sum, false);
    }
}

static void position_run(struct step *s, struct device *dev)
{
    bool add = s->node->op == &op_add_position;
    const struct tensor *one = add ? s->in_tensor[ADD_POSITION_P] : s->out_tensor[0];
    struct job j = {.dev = dev, .s = s};

    cpu_for(dev, tensor_len(one), 64, add ? add_part : sum_part, &j);
}

const struct kernel cpu_position = {
    .name = "cpu position",
    .claim = position_claim,
    .run = position_run,
};
