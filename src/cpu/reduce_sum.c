/*
 * reduce_sum: each thread computes a part of the result. Rows are added up in fp32, 64 at a
 * time, and those sums in double; the order does not depend on the threads.
 */
#include "ops/reduce_sum.h"

#include <string.h>

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

enum { WIDTH = 512, ROWS = 64 };

struct job {
    const struct device *dev;
    struct step *s;
    struct reduce_loops loops;
    int64_t summed; /* elements per result */
};

static const char *reduce_sum_claim(struct region *r, struct graph *g, struct node *n,
                                    struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_reduce_sum)
        return "not a reduce_sum";
    if (!cpu_dtype(n->in[0]))
        return "fp32 and bf16 only";

    region_claim_node(r, n);
    return NULL;
}

/* The offset in x of result k (of the kept dims) and term i (of the summed ones). */
static int64_t place(const struct reduce_loops *loops, int64_t k, int64_t i)
{
    int64_t pos = 0, stride = 1;

    for (int d = loops->n - 1; d >= 0; d--) {
        int64_t *rest = loops->kept[d] ? &k : &i;

        pos += *rest % loops->len[d] * stride;
        *rest /= loops->len[d];
        stride *= loops->len[d];
    }
    return pos;
}

/* Results [k, k + n), which are neighbors in x, too. */
static void sum_columns(const struct job *j, int64_t k, int64_t n, float *y)
{
    enum dtype t = j->s->in_tensor[0]->dtype;
    float part[WIDTH], row[WIDTH];
    double sum[WIDTH] = {0};

    for (int64_t i = 0; i < j->summed; i++) {
        const void *x = cpu_at(j->s->in[0], t, place(&j->loops, k, i));

        if (t != DTYPE_F32) {
            j->dev->loops->cast(t, DTYPE_F32, x, row, n, false);
            x = row;
        }
        j->dev->loops->accumulate(part, x, n, i % ROWS == 0);
        if (i % ROWS == ROWS - 1 || i == j->summed - 1)
            for (int64_t c = 0; c < n; c++)
                sum[c] += part[c];
    }
    for (int64_t c = 0; c < n; c++)
        y[c] = (float)sum[c];
}

/* One result, whose terms lie in runs of the innermost dim. */
static float sum_runs(const struct job *j, int64_t k)
{
    enum dtype t = j->s->in_tensor[0]->dtype;
    int64_t run = j->loops.len[j->loops.n - 1];
    float part[WIDTH];
    double sum = 0;

    for (int64_t i = 0; i < j->summed; i += run)
        for (int64_t c = 0; c < run; c += WIDTH) {
            int64_t n = run - c < WIDTH ? run - c : WIDTH;

            j->dev->loops->cast(t, DTYPE_F32,
                                cpu_at(j->s->in[0], t, place(&j->loops, k, i) + c), part,
                                n, false);
            for (int64_t e = 0; e < n; e++)
                sum += part[e];
        }
    return (float)sum;
}

static void reduce_sum_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    float *y = j->s->out[0];
    bool columns = j->loops.kept[j->loops.n - 1];
    int64_t inner = j->loops.len[j->loops.n - 1];

    for (int64_t k = lo; k < hi;) {
        int64_t n = 1;

        if (columns) {
            n = inner - k % inner < hi - k ? inner - k % inner : hi - k;
            n = n < WIDTH ? n : WIDTH;
            sum_columns(j, k, n, y + k);
        } else {
            y[k] = sum_runs(j, k);
        }
        k += n;
    }
}

static void reduce_sum_run(struct step *s, struct device *dev)
{
    int64_t len = tensor_len(s->out_tensor[0]);
    struct job j = {dev, s, {0}, tensor_len(s->in_tensor[0]) / len};

    reduce_loops(s->node, &j.loops);
    cpu_for(dev, len, 16, reduce_sum_part, &j);
}

const struct kernel cpu_reduce_sum = {
    .name = "cpu reduce_sum",
    .claim = reduce_sum_claim,
    .run = reduce_sum_run,
};
