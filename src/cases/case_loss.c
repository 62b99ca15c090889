/* Build functions of losses over rows of logits: ops/row_loss.h. */
#include "cases/case_build.h"
#include "ops/dice.h"
#include "ops/distill.h"
#include "ops/focal.h"
#include "ops/label_down.h"
#include "ops/loss_sum.h"
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
