/*
 * The rows of batch norm in parts (each part from inputs, no gradients), and of ops after
 * a whole one.
 */
#include "cases/case_build.h"

#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/batchnorm_parts.h"
#include "ops/image.h"
#include "ops/maxpool2d.h"
#include "ops/activation.h"

static struct tensor *vector(struct case_build *c, const char *name,
                             const struct case_size *s, enum case_fill fill)
{
    return case_tensor(c, name, DTYPE_F32, LAYOUT_PLAIN, 1, &s->dim[IMAGE_C], fill);
}

static struct batchnorm_part_attrs attrs(const struct case_size *s)
{
    return (struct batchnorm_part_attrs){
        "bn", 1e-3f, s->dim[IMAGE_N] * s->dim[IMAGE_H] * s->dim[IMAGE_W]};
}

static struct tensor **finalize(struct case_build *c, const struct case_size *s,
                                struct tensor *sum, struct tensor *squares)
{
    struct batchnorm_part_attrs a = attrs(s);
    struct tensor *in[] = {sum, squares, vector(c, "weight", s, CASE_SIGNED),
                           vector(c, "bias", s, CASE_SIGNED)};

    return node(c->b, &op_batchnorm_finalize, "bn", &a, in, 4)->producer->out;
}

static struct tensor *apply(struct case_build *c, struct tensor *x, struct tensor *scale,
                            struct tensor *shift)
{
    struct tensor *in[] = {x, scale, shift};

    return node(c->b, &op_batchnorm_apply, "bn", NULL, in, 3);
}

void case_batchnorm_parts(struct case_build *c, const struct op_case *row,
                          const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED), **f;

    (void)row;
    f = node(c->b, &op_batchnorm_stats, "bn", NULL, &x, 1)->producer->out;
    f = finalize(c, s, f[BATCHNORM_STATS_SUM], f[BATCHNORM_STATS_SQUARES]);
    case_output(c, apply(c, x, f[BATCHNORM_FINALIZE_SCALE], f[BATCHNORM_FINALIZE_SHIFT]));
    case_output(c, f[BATCHNORM_FINALIZE_MEAN]);
    case_output(c, f[BATCHNORM_FINALIZE_VAR]);
}

void case_batchnorm_stats(struct case_build *c, const struct op_case *row,
                          const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);
    struct tensor **f = node(c->b, &op_batchnorm_stats, "bn", NULL, &x, 1)->producer->out;

    (void)row;
    case_output(c, f[BATCHNORM_STATS_SUM]);
    case_output(c, f[BATCHNORM_STATS_SQUARES]);
}

void case_batchnorm_finalize(struct case_build *c, const struct op_case *row,
                             const struct case_size *s)
{
    struct tensor *sum = vector(c, "sum", s, CASE_SIGNED);
    struct tensor **f = finalize(c, s, sum, vector(c, "squares", s, CASE_UNIT));

    (void)row;
    case_output(c, f[BATCHNORM_FINALIZE_RSTD]);
    case_output(c, f[BATCHNORM_FINALIZE_SCALE]);
    case_output(c, f[BATCHNORM_FINALIZE_SHIFT]);
}

void case_batchnorm_sync(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    struct batchnorm_sync_attrs a = {"bn", row->norms};
    struct tensor *in[] = {vector(c, "sum", s, CASE_SIGNED),
                           vector(c, "squares", s, CASE_UNIT)};
    struct tensor **out = node(c->b, &op_batchnorm_sync, "bn", &a, in, 2)->producer->out;

    case_output(c, out[0]);
    case_output(c, out[1]);
}

void case_batchnorm_fold(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    struct batchnorm_part_attrs a = attrs(s);
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED), **f;
    struct tensor *in[] = {
        [BATCHNORM_FOLD_WEIGHT] = vector(c, "weight", s, CASE_SIGNED),
        [BATCHNORM_FOLD_BIAS] = vector(c, "bias", s, CASE_SIGNED),
        [BATCHNORM_FOLD_MEAN] = vector(c, "mean", s, CASE_SIGNED),
        [BATCHNORM_FOLD_VAR] = vector(c, "var", s, CASE_UNIT),
    };

    (void)row;
    f = node(c->b, &op_batchnorm_fold, "bn", &a, in, 4)->producer->out;
    case_output(c, apply(c, x, f[BATCHNORM_FOLD_SCALE], f[BATCHNORM_FOLD_SHIFT]));
    case_output(c, f[BATCHNORM_FOLD_SHIFT]);
}

void case_batchnorm_grad_parts(struct case_build *c, const struct op_case *row,
                               const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED),
                  *dy = case_image(c, "dy", s->dim, CASE_SIGNED), **f;
    struct tensor *in[] = {
        [BATCHNORM_GRAD_STATS_X] = x,
        [BATCHNORM_GRAD_STATS_WEIGHT] = vector(c, "weight", s, CASE_SIGNED),
        [BATCHNORM_GRAD_STATS_MEAN] = vector(c, "mean", s, CASE_SIGNED),
        [BATCHNORM_GRAD_STATS_RSTD] = vector(c, "rstd", s, CASE_UNIT),
        [BATCHNORM_GRAD_STATS_DY] = dy,
    };

    (void)row;
    f = node(c->b, &op_batchnorm_grad_stats, "bn", NULL, in, 5)->producer->out;

    struct tensor *apply[] = {
        [BATCHNORM_GRAD_APPLY_X] = x,
        [BATCHNORM_GRAD_APPLY_DY] = dy,
        [BATCHNORM_GRAD_APPLY_DY_SCALE] = f[BATCHNORM_GRAD_STATS_DY_SCALE],
        [BATCHNORM_GRAD_APPLY_X_SCALE] = f[BATCHNORM_GRAD_STATS_X_SCALE],
        [BATCHNORM_GRAD_APPLY_OFFSET] = f[BATCHNORM_GRAD_STATS_OFFSET],
    };

    case_output(c, node(c->b, &op_batchnorm_grad_apply, "bn", NULL, apply, 5));
    case_output(c, f[BATCHNORM_GRAD_STATS_DWEIGHT]);
    case_output(c, f[BATCHNORM_GRAD_STATS_DBIAS]);
}

/* ---- ops after batch norm ---- */

static struct tensor *bn_relu(struct case_build *c, const struct op_case *row,
                              const struct case_size *s)
{
    const struct relu_attrs *a = row->attrs;

    return relu(c->b, batchnorm(c->b, case_image(c, "x", s->dim, CASE_SIGNED), "bn"),
                "relu", .limit = a->limit);
}

void case_bn_relu(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    case_output(c, bn_relu(c, row, s));
}

/* The stem: the relu has no other reader. */
void case_bn_relu_maxpool(struct case_build *c, const struct op_case *row,
                          const struct case_size *s)
{
    struct tensor *x = bn_relu(c, row, s);

    case_output(c, maxpool2d(c->b, x, "maxpool", .kernel = 3, .stride = 2, .padding = 1));
}

/* Two readers: the gradient of the relu's output is a sum. */
void case_bn_relu_shared(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    struct tensor *x = bn_relu(c, row, s);
    struct tensor *y =
        maxpool2d(c->b, x, "maxpool", .kernel = 3, .stride = 1, .padding = 1);

    case_output(c, add(c->b, y, x, "add"));
}
