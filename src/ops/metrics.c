#include "ops/metrics.h"

#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/image.h"
#include "ops/metrics_formula.h"
#include "ops/state.h"

struct node *metrics(struct builder *b, struct tensor *logits, struct tensor *labels,
                     struct tensor *loss)
{
    struct tensor *state = metrics_tensor(b);
    struct tensor *in[] = {
        [METRICS_LOGITS] = logits, [METRICS_LABELS] = labels, [METRICS_LOSS] = loss};

    return node_update(b, &op_metrics, "metrics", NULL, in, 3, &state, 1);
}

static const char *metrics_shape(struct node *n)
{
    const struct tensor *z = n->in[METRICS_LOGITS], *labels = n->in[METRICS_LABELS];

    if (z->layout != LAYOUT_PLAIN || z->ndim != 2)
        return "logits must be N x K";
    if (labels->dtype != DTYPE_I32 || !tensor_is_vector(labels, z->dim[0]))
        return "one int32 label for each sample is needed";
    if (!tensor_is_vector(n->in[METRICS_LOSS], 1))
        return "the loss must be one number";
    return NULL;
}

static int64_t metrics_flops(const struct node *n)
{
    return tensor_len(n->in[METRICS_LOGITS]);
}

static void metrics_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[METRICS_LOGITS];
    const float *z = s->in[METRICS_LOGITS];
    const int32_t *label = s->in[METRICS_LABELS];
    float loss = *(const float *)s->in[METRICS_LOSS];
    struct metrics *m = s->out[METRICS_STATE];
    int64_t classes = t->dim[1], count = 0;

    for (int64_t i = 0; i < t->dim[0]; i++) {
        if (label[i] < 0)
            continue;

        int64_t rank = metrics_rank(z + i * classes, classes, label[i]);

        count++;
        m->top1 += rank < 1;
        m->top5 += rank < METRICS_TOP;
    }
    metrics_count(m, count, (double)count, loss);
}

const struct op op_metrics = {
    .name = "metrics",
    .precision = PRECISION_F32,
    .shape = metrics_shape,
    .flops = metrics_flops,
    .ref = metrics_ref,
};
