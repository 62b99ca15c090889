#include "ops/confusion.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/cross_entropy2d.h"
#include "ops/image.h"
#include "ops/metrics_formula.h"
#include "ops/state.h"

static const struct attr confusion_attr_table[] = {
    ATTR_INT(struct confusion_attrs, ignore, -1, 255, "the label left out"),
    ATTR_INT(struct confusion_attrs, weighted, 0, 1, "classes have weights"),
    {0},
};

struct node *confusion(struct builder *b, struct tensor *logits, struct tensor *labels,
                       struct tensor *loss, int ignore, const float *weight)
{
    struct confusion_attrs a = {
        .layer = "metrics", .ignore = ignore, .weighted = weight != NULL};
    struct tensor *state[] = {
        [CONFUSION_METRICS] = metrics_tensor(b),
        [CONFUSION_MATRIX] = confusion_tensor(b, logits->dim[IMAGE_C]),
    };
    struct tensor *in[] = {[CONFUSION_LOGITS] = logits,
                           [CONFUSION_LABELS] = labels,
                           [CONFUSION_LOSS] = loss};

    if (weight)
        memcpy(a.weight, weight, (size_t)logits->dim[IMAGE_C] * sizeof(*weight));

    return node_update(b, &op_confusion, "metrics", &a, in, 3, state, 2);
}

static const char *confusion_shape(struct node *n)
{
    if (!tensor_is_vector(n->in[CONFUSION_LOSS], 1))
        return "the loss must be one number";
    return cross_entropy2d_check(n->in[CONFUSION_LOGITS], n->in[CONFUSION_LABELS]);
}

static int64_t confusion_flops(const struct node *n)
{
    return tensor_len(n->in[CONFUSION_LOGITS]);
}

int64_t confusion_class(const float *z, int64_t n)
{
    int64_t pos = 0;

    for (int64_t k = 1; k < n; k++)
        if (z[k] > z[pos])
            pos = k;
        else if (isnan(z[k]))
            return 0;
    return isnan(z[0]) ? 0 : pos;
}

static void confusion_ref(const struct step *s)
{
    const struct confusion_attrs *a = s->node->attrs;
    const struct tensor *t = s->node->in[CONFUSION_LOGITS];
    const float *z = s->in[CONFUSION_LOGITS];
    const uint8_t *label = s->in[CONFUSION_LABELS];
    float loss = *(const float *)s->in[CONFUSION_LOSS];
    struct metrics *m = s->out[CONFUSION_METRICS];
    int64_t *matrix = s->out[CONFUSION_MATRIX];
    int64_t classes = t->dim[IMAGE_C], pixels = tensor_len(t) / classes, count = 0;
    double weight = 0;

    for (int64_t i = 0; i < pixels; i++) {
        if (label[i] == a->ignore)
            continue;
        if (label[i] >= classes)
            BUG("label %d of %lld classes", label[i], (long long)classes);

        int64_t p = confusion_class(z + i * classes, classes);

        matrix[label[i] * classes + p]++;
        m->top1 += p == label[i];
        count++;
        weight += confusion_weight(a, label[i], 1);
    }
    metrics_count(m, count, weight, loss);
}

const struct op op_confusion = {
    .name = "confusion",
    .attrs = confusion_attr_table,
    .attrs_size = sizeof(struct confusion_attrs),
    .precision = PRECISION_F32,
    .shape = confusion_shape,
    .flops = confusion_flops,
    .ref = confusion_ref,
};
