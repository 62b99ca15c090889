/*
 * confusion: adds a batch of segmented images to the metrics of a run, exactly.
 *
 *   matrix[y * K + p] += 1 for each pixel whose label y is not `ignore`, p the class of
 *                       its largest logit (the first of equals)
 *   count    += those pixels, top1 += those with p == y; top5 stays 0
 *   loss_sum += loss * w and measured += w, w the sum of the weights of those pixels'
 *              classes in the loss, if the loss is finite, else nonfinite += 1; runs
 *   += 1. So loss_sum / measured is sum(w loss) / sum(w) for any assignment of pixels to
 *   batches
 *
 * A pixel with a NaN among its logits counts as class 0, right or wrong: the loss reveals
 * it. The state is struct metrics followed by int64 matrix[K * K], both in
 * MEMORY_METRICS. The matrix gives pixel accuracy, mean class accuracy, mean IoU, and
 * frequency-weighted IoU (Long et al. 2015, arXiv 1411.4038): see train/segmentation.h.
 */
#ifndef OPS_CONFUSION_H
#define OPS_CONFUSION_H

#include "graph/graph.h"
#include "ops/cross_entropy2d.h"

struct confusion_attrs {
    const char *layer;
    int ignore;   /* as in ops/cross_entropy2d.h, as are */
    int weighted; /* these two */
    float weight[CROSS_ENTROPY2D_CLASSES];
};

/* Returns the weight of the pixels in a batch's matrix, from the sums of its rows. */
static inline double confusion_weight(const struct confusion_attrs *a, int64_t label,
                                      int64_t pixels)
{
    return (double)pixels * (a->weighted ? (double)a->weight[label] : 1);
}

enum { CONFUSION_LOGITS, CONFUSION_LABELS, CONFUSION_LOSS };
enum { CONFUSION_METRICS, CONFUSION_MATRIX }; /* out[]: written state */

/* `weight`: class weights of the loss; NULL: all 1. */
struct node *confusion(struct builder *b, struct tensor *logits, struct tensor *labels,
                       struct tensor *loss, int ignore, const float *weight);

/* Returns the class of a pixel with these n logits, as defined above. */
int64_t confusion_class(const float *logits, int64_t n);

extern const struct op op_confusion;

#endif
