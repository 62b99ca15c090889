/* Build functions of losses. */
#include "cases/case_build.h"
#include "ops/bce.h"
#include "ops/cross_entropy.h"
#include "ops/cross_entropy2d.h"
#include "ops/dice.h"
#include "ops/distill.h"
#include "ops/focal.h"
#include "ops/label_down.h"
#include "ops/loss_sum.h"
#include "ops/multilabel_loss.h"
#include "ops/ohem.h"

struct rows {
    struct tensor *logits, *labels;
};

/* Pixels if there are four dims, otherwise images. */
static struct rows inputs(struct case_build *c, const struct op_case *row,
                          const struct case_size *s)
{
    struct rows in;

    if (s->dim[2]) {
        in.logits = case_image(c, "logits", s->dim, CASE_DISTINCT);
        in.labels = case_pixel_labels(c, s->dim, row->fill);
    } else {
        in.logits = case_plain(c, "logits", s->dim, CASE_DISTINCT);
        in.labels = case_labels(c, s->dim[0], (int)s->dim[1], row->fill);
    }
    return in;
}

void case_focal(struct case_build *c, const struct op_case *row,
                const struct case_size *s)
{
    struct focal_attrs a = *(const struct focal_attrs *)row->attrs;
    struct rows in = inputs(c, row, s);

    a.layer = "loss";
    case_output(c, focal_(c->b, in.logits, in.labels, NULL, &a));
}

void case_focal_lam(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct focal_attrs a = *(const struct focal_attrs *)row->attrs;
    struct rows in = inputs(c, row, s);
    struct tensor *lam =
        case_tensor(c, "lam", DTYPE_F32, LAYOUT_PLAIN, 1, &s->dim[0], CASE_UNIT);

    a.layer = "loss";
    lam->trainable = false;
    case_output(c, focal_(c->b, in.logits, in.labels, lam, &a));
}

void case_dice(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct dice_attrs a = *(const struct dice_attrs *)row->attrs;
    struct rows in = inputs(c, row, s);

    a.layer = "loss";
    case_output(c, dice_(c->b, in.logits, in.labels, &a));
}

void case_ohem(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct ohem_attrs a = *(const struct ohem_attrs *)row->attrs;
    struct rows in = inputs(c, row, s);

    a.layer = "loss";
    case_output(c, ohem_(c->b, in.logits, in.labels, &a));
}

void case_distill(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    struct distill_attrs a = *(const struct distill_attrs *)row->attrs;
    struct rows in = inputs(c, row, s);
    struct tensor *teacher = s->dim[2] ? case_image(c, "teacher", s->dim, CASE_DISTINCT)
                                       : case_plain(c, "teacher", s->dim, CASE_DISTINCT);

    a.layer = "loss";
    teacher->trainable = false;
    case_output(c, distill_(c->b, in.logits, in.labels, teacher, &a));
}

void case_loss_sum(struct case_build *c, const struct op_case *row,
                   const struct case_size *s)
{
    struct loss_sum_attrs a = {.layer = "loss", .weight = {0.5f, 2, 0.25f, 1}};
    struct tensor *loss[4];

    (void)row;
    for (int i = 0; i < 4; i++)
        loss[i] = case_plain(c, "loss", s->dim, CASE_SIGNED);
    case_output(c, loss_sum(c->b, loss, 4, &a));
}

void case_loss_times(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    struct loss_sum_attrs sum = {.layer = "loss", .weight = {1, 1, 1, 1}};
    int64_t shares[4] = {4};
    struct tensor *loss[4], *x = case_plain(c, "shares", shares, CASE_SIGNED);

    (void)row;
    x->trainable = false;
    for (int i = 0; i < 4; i++) {
        struct loss_times_attrs a = {"loss", i};

        loss[i] = loss_times(c->b, case_plain(c, "loss", s->dim, CASE_SIGNED), x, &a);
    }
    case_output(c, loss_sum(c->b, loss, 4, &sum));
}

void case_label_down(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    (void)row;
    case_output(c, label_down(c->b, case_pixel_labels(c, s->dim, CASE_HOLES), 2, "down"));
}

/* ---- with a factor of a mixed second label, or sets of labels ---- */

struct label_loss {
    struct tensor *logits, *labels;
};

static struct label_loss label_loss_inputs(struct case_build *c,
                                           const struct op_case *row,
                                           const struct case_size *s)
{
    struct label_loss in;

    in.logits =
        case_tensor(c, "logits", DTYPE_F32, LAYOUT_PLAIN, 2, s->dim, CASE_DISTINCT);
    in.labels = case_labels(c, s->dim[0], (int)s->dim[1], row->fill);
    return in;
}

static struct tensor *lam_input(struct case_build *c, const struct case_size *s)
{
    struct tensor *lam =
        case_tensor(c, "lam", DTYPE_F32, LAYOUT_PLAIN, 1, &s->dim[0], CASE_UNIT);

    lam->trainable = false;
    return lam;
}

void case_cross_entropy(struct case_build *c, const struct op_case *row,
                        const struct case_size *s)
{
    struct cross_entropy_attrs a = *(const struct cross_entropy_attrs *)row->attrs;
    struct label_loss in = label_loss_inputs(c, row, s);

    a.layer = "loss";
    case_output(c, cross_entropy_(c->b, in.logits, in.labels, NULL, &a));
}

void case_cross_entropy_lam(struct case_build *c, const struct op_case *row,
                            const struct case_size *s)
{
    struct cross_entropy_attrs a = *(const struct cross_entropy_attrs *)row->attrs;
    struct label_loss in = label_loss_inputs(c, row, s);

    a.layer = "loss";
    case_output(c, cross_entropy_(c->b, in.logits, in.labels, lam_input(c, s), &a));
}

void case_bce(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct bce_attrs a = *(const struct bce_attrs *)row->attrs;
    struct label_loss in = label_loss_inputs(c, row, s);

    a.layer = "loss";
    case_output(c, bce_(c->b, in.logits, in.labels, NULL, &a));
}

void case_bce_lam(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    struct bce_attrs a = *(const struct bce_attrs *)row->attrs;
    struct label_loss in = label_loss_inputs(c, row, s);

    a.layer = "loss";
    case_output(c, bce_(c->b, in.logits, in.labels, lam_input(c, s), &a));
}

static void multilabel_case(struct case_build *c, const struct op_case *row,
                            const struct case_size *s, bool mixes)
{
    struct multilabel_loss_attrs a = *(const struct multilabel_loss_attrs *)row->attrs;
    struct label_loss in = label_loss_inputs(c, row, s);
    struct tensor *targets =
        case_tensor(c, "targets", DTYPE_U8, LAYOUT_PLAIN, 2, s->dim, CASE_HOLES);

    c->input[c->ninput - 1].classes = 2;
    for (int k = 0; k < MULTILABEL_WEIGHTS; k++)
        a.rule.weight[k] = (float)(k % 4 + 1) / 2;
    a.layer = "loss";
    case_output(c, multilabel_loss(c->b, in.logits, in.labels, targets,
                                   mixes ? lam_input(c, s) : NULL, &a));
}

void case_multilabel(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    multilabel_case(c, row, s, false);
}

void case_multilabel_lam(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    multilabel_case(c, row, s, true);
}

void case_cross_entropy2d(struct case_build *c, const struct op_case *row,
                          const struct case_size *s)
{
    struct cross_entropy2d_attrs a = *(const struct cross_entropy2d_attrs *)row->attrs;
    struct tensor *z = case_image(c, "logits", s->dim, CASE_DISTINCT);

    a.layer = "loss";
    for (int k = 0; k < CROSS_ENTROPY2D_CLASSES; k++)
        a.weight[k] = (float)((k + 2) % 4) / 2; /* 1, 1.5, 0, 0.5, 1, ... */
    case_output(c,
                cross_entropy2d_(c->b, z, case_pixel_labels(c, s->dim, row->fill), &a));
}
