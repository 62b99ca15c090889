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
                       bool sigmoid)
{
    for (int64_t i = 0; sigmoid && i < n * classes; i++)
        sum[i] += multilabel_sigmoid((double)logits[i]);
    for (int64_t i = 0; !sigmoid && i < n; i++)
        add_softmax(sum + i * classes, logits + i * classes, classes);
}

void probabilities_to_logits(float *logits, const double *sum, int64_t len, int count,
                             bool sigmoid)
{
    for (int64_t i = 0; i < len; i++) {
        double p = sum[i] / count;

        logits[i] = (float)log(p);
        if (sigmoid)
            logits[i] = (float)fmin(fmax(log(p) - log1p(-p), -80), 80);
    }
}
