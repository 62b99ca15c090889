/*
 * ohem: cross entropy of only the hard pixels (or samples) (Shrivastava et al. 2016,
 * arXiv 1604.03540), selected as in BiSeNet's OhemCELoss: a valid row is hard if its loss
 * is above -log(thresh); if fewer than min_share of the valid rows are, the hard ones are
 * that many with the largest losses. The loss is their mean; 0 if no row is valid. Rows
 * that tie for the last places share their weight. Always fp32.
 *
 * Slots are those of ops/row_loss.h; out[ROW_LOSS_ROWS] is the loss of each row, -1 for
 * ignored ones, which the gradient reads as other. Sums are OHEM_SUMS: rows above CUT
 * weigh SCALE each, those equal to it TIE * SCALE.
 */
#ifndef OPS_OHEM_H
#define OPS_OHEM_H

#include "ops/row_loss.h"

enum { OHEM_CUT, OHEM_TIE, OHEM_SCALE, OHEM_SUMS };

struct ohem_attrs {
    const char *layer;
    float thresh;    /* in (0, 1]: the probability below which a row is hard */
    float min_share; /* in [0, 1] */
    int ignore;      /* label of ignored pixels */
};

/* loss = ohem(&b, logits, labels, "loss", .thresh = 0.7f, .min_share = 0.0625f) */
#define ohem(b, logits, labels, ...)                                                     \
    ohem_((b), (logits), (labels), &(const struct ohem_attrs){.layer = __VA_ARGS__})
struct tensor *ohem_(struct builder *b, struct tensor *logits, struct tensor *labels,
                     const struct ohem_attrs *a);

extern const struct op op_ohem, op_ohem_grad;

#endif
