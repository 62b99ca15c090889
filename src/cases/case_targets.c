/* Build functions of numbers and ordered classes as targets. */
#include "cases/case_build.h"
#include "ops/corn.h"
#include "ops/regression_loss.h"
#include "ops/unscale.h"

static struct tensor *constant(struct case_build *c, const char *name, int ndim,
                               const int64_t *dim, enum case_fill fill)
{
    struct tensor *t = case_tensor(c, name, DTYPE_F32, LAYOUT_PLAIN, ndim, dim, fill);

    t->trainable = false;
    return t;
}

static void regression_case(struct case_build *c, const struct op_case *row,
                            const struct case_size *s, bool mixes)
{
    struct regression_loss_attrs a = *(const struct regression_loss_attrs *)row->attrs;
    struct tensor *z = case_plain(c, "values", s->dim, CASE_DISTINCT);
    struct regression_inputs in = {
        .labels = case_labels(c, s->dim[0], 1, row->fill),
        .targets = constant(c, "targets", 2, s->dim, CASE_STEPS),
        .mean = constant(c, "mean", 1, &s->dim[1], CASE_SIGNED),
        .std = constant(c, "std", 1, &s->dim[1], CASE_FAR),
        .lam = mixes ? constant(c, "lam", 1, &s->dim[0], CASE_UNIT) : NULL,
    };

    a.layer = "loss";
    case_output(c, regression_loss(c->b, z, &in, &a));
}

void case_regression(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    regression_case(c, row, s, false);
}

void case_regression_lam(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    regression_case(c, row, s, true);
}

void case_unscale(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    struct tensor *z = case_plain(c, "values", s->dim, CASE_DISTINCT);
    struct tensor *mean = constant(c, "mean", 1, &s->dim[1], CASE_SIGNED);

    (void)row;
    case_output(c, unscale(c->b, z, mean, constant(c, "std", 1, &s->dim[1], CASE_FAR),
                           "unscale"));
}

void case_corn(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    (void)row;
    case_output(c, corn(c->b, case_plain(c, "logits", s->dim, CASE_DISTINCT), "corn"));
}
