#include "train/probabilities.h"

#include <math.h>

#include "train/multilabel.h"

static void add_softmax(double *sum, const float *z, int classes)
{
    double top = -INFINITY, total = 0;

    for (int c = 0; c < classes; c++)
        top = fmax(top, (double)z[c]);
    for (int c = 0; c < classes; c++)
        total += exp((double)z[c] - top);
    for (int c = 0; c < classes; c++)
        sum[c] += exp((double)z[c] - top) / total;
}

void probabilities_add(double *sum, const float *logits, int64_t n, int classes,
                       enum model_task task)
{
    if (task == MODEL_REGRESSION)
        for (int64_t i = 0; i < n * classes; i++)
            sum[i] += (double)logits[i];
    else if (task == MODEL_MULTILABEL)
        for (int64_t i = 0; i < n * classes; i++)
            sum[i] += multilabel_sigmoid((double)logits[i]);
    else
        for (int64_t i = 0; i < n; i++)
            add_softmax(sum + i * classes, logits + i * classes, classes);
}

void probabilities_to_logits(float *logits, const double *sum, int64_t len, int count,
                             enum model_task task)
{
    for (int64_t i = 0; i < len; i++) {
        double p = sum[i] / count;

        logits[i] = (float)log(p);
        if (task == MODEL_MULTILABEL)
            logits[i] = (float)fmin(fmax(log(p) - log1p(-p), -80), 80);
        if (task == MODEL_REGRESSION)
            logits[i] = (float)p;
    }
}

const char *probabilities_name(enum model_task task)
{
    return task == MODEL_REGRESSION ? "values" : "probabilities";
}
