/*
 * ohem: cross entropy of the hard pixels (or samples) alone (Shrivastava et al. 2016,
 * arXiv 1604.03540), as BiSeNet's OhemCELoss picks them: a valid row is hard if its loss
 * is above -log(thresh); where fewer than min_share of the valid rows are, the hard ones
 * are that many with the largest losses. The mean over them; 0 if no row is valid. Rows
 * that tie for the last places share their weight. Always fp32.
 *
 * Slots are those of ops/row_loss.h; out[ROW_LOSS_ROWS] is the loss of each row, -1 of
 * those that do not count, which the gradient reads as other. Sums are OHEM_SUMS: rows
 * above CUT weigh SCALE each, those at it TIE * SCALE.
 */
#ifndef OPS_OHEM_H
#define OPS_OHEM_H

#include "ops/row_loss.h"

enum { OHEM_CUT, OHEM_TIE, OHEM_SCALE, OHEM_SUMS };

struct ohem_attrs {
    const char *layer;
    float thresh;    /* in (0, 1]: the probability below which a row is hard */
    float min_share; /* in [0, 1] */
    int ignore;      /* the label of pixels that does not count */
};

/* loss = ohem(&b, logits, labels, "loss", .thresh = 0.7f, .min_share = 0.0625f) */
#define ohem(b, logits, labels, ...)                                                     \
    ohem_((b), (logits), (labels), &(const struct ohem_attrs){.layer = __VA_ARGS__})
struct tensor *ohem_(struct builder *b, struct tensor *logits, struct tensor *labels,
                     const struct ohem_attrs *a);

extern const struct op op_ohem, op_ohem_grad;

#endif
