/* The rows of batch norms folded into 1x1 convolutions, whole and in parts. */
#include "cases/case_build.h"

#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/conv2d.h"
#include "ops/gram.h"
#include "ops/image.h"
#include "ops/norm_fold.h"

static bool always(void *arg, const struct norm_fold_layer *l)
{
    (void)arg;
    (void)l;
    return true;
}

/* The end of a bottleneck: x [N,C,H,W], s->out output channels. */
void case_norm_fold(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    int64_t wide[] = {s->dim[IMAGE_N], s->out, s->dim[IMAGE_H], s->dim[IMAGE_W]};
    struct tensor *x = case_image(c, "x", s->dim, row->fill), *y;

    y = conv2d(c->b, x, "conv", .out = s->out, .kernel = 1);
    y = batchnorm(c->b, y, "bn", .eps = 1e-3f);
    y = add(c->b, y, case_image(c, "shortcut", wide, CASE_SIGNED), "add");
    case_output(c, relu(c->b, y, "relu"));
    (void)norm_fold_lower(c->b->g, DTYPE_F32, always, NULL);
}

/* Two ends of bottlenecks, the first with a projected shortcut, and the convolution after
 * each: the masks of their relus are bits of different orders. */
void case_norm_fold_twice(struct case_build *c, const struct op_case *row,
                          const struct case_size *s)
{
    int64_t wide[] = {s->dim[IMAGE_N], s->out, s->dim[IMAGE_H], s->dim[IMAGE_W]};
    struct tensor *x = case_image(c, "x", s->dim, row->fill), *y, *z;

    y = batchnorm(c->b, conv2d(c->b, x, "0.conv3", .out = s->out, .kernel = 1), "0.bn3");
    z = batchnorm(c->b, case_image(c, "shortcut", wide, CASE_SIGNED), "0.downsample");
    x = relu(c->b, add(c->b, y, z, "0.add"), "0.act");
    y = conv2d(c->b, x, "1.conv1", .out = (int)s->dim[IMAGE_C], .kernel = 1);
    y = relu(c->b, batchnorm(c->b, y, "1.bn1"), "1.act1");
    y = batchnorm(c->b, conv2d(c->b, y, "1.conv3", .out = s->out, .kernel = 1), "1.bn3");
    x = relu(c->b, add(c->b, y, x, "1.add"), "1.act");
    y = conv2d(c->b, x, "2.conv", .out = s->out, .kernel = 1);
    case_output(c, add(c->b, y, x, "2.add"));
    (void)norm_fold_lower(c->b->g, DTYPE_F32, always, NULL);
}

void case_gram(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct tensor **m = gram(c->b, case_image(c, "x", s->dim, row->fill), "gram");

    case_output(c, m[GRAM_GRAM]);
    case_output(c, m[GRAM_SUM]);
}

static struct tensor *plain(struct case_build *c, const char *name, int ndim,
                            int64_t rows, int64_t columns)
{
    int64_t dim[] = {rows, columns};

    return case_tensor(c, name, DTYPE_F32, LAYOUT_PLAIN, ndim, dim, CASE_SIGNED);
}

void case_gram_grad(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    int64_t channels = s->dim[IMAGE_C];
    struct tensor *in[] = {case_image(c, "x", s->dim, CASE_SIGNED),
                           plain(c, "dgram", 2, channels, channels),
                           plain(c, "dsum", 1, channels, 0)};

    (void)row;
    case_output(c, node(c->b, &op_gram_grad, "gram", NULL, in, 3));
}

static struct norm_fold_attrs attrs(const struct case_size *s)
{
    return (struct norm_fold_attrs){{.layer = "fold", .eps = 1e-3f, .momentum = 0.1f},
                                    s->dim[IMAGE_N] * s->dim[IMAGE_H] * s->dim[IMAGE_W]};
}

static struct tensor *weights(struct case_build *c, const char *name,
                              const struct case_size *s)
{
    int64_t dim[] = {s->out, s->dim[IMAGE_C], 1, 1};

    return case_image(c, name, dim, CASE_SIGNED);
}

/* norm_fold of moments that belong to no image; only three results are compared. */
void case_norm_fold_vectors(struct case_build *c, const struct op_case *row,
                            const struct case_size *s)
{
    struct norm_fold_attrs a = attrs(s);
    struct tensor **m = gram(c->b, case_image(c, "x", s->dim, row->fill), "gram");
    struct tensor *in[] = {weights(c, "w", s), plain(c, "weight", 1, s->out, 0),
                           plain(c, "bias", 1, s->out, 0), m[GRAM_GRAM], m[GRAM_SUM]};
    struct tensor **out = node(c->b, &op_norm_fold, "fold", &a, in, 5)->producer->out;

    case_output(c, out[NORM_FOLD_SHIFT]);
    case_output(c, out[NORM_FOLD_VAR]);
    case_output(c, out[NORM_FOLD_PRODUCT]);
}

void case_norm_fold_grad(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    struct norm_fold_attrs a = attrs(s);
    int64_t channels = s->dim[IMAGE_C];
    struct tensor *in[] = {
        [NORM_FOLD_GRAD_W] = weights(c, "w", s),
        [NORM_FOLD_GRAD_WEIGHT] = plain(c, "weight", 1, s->out, 0),
        [NORM_FOLD_GRAD_SUM] = plain(c, "sum", 1, channels, 0),
        [NORM_FOLD_GRAD_MEAN] = plain(c, "mean", 1, s->out, 0),
        [NORM_FOLD_GRAD_VAR] = case_tensor(c, "var", DTYPE_F32, LAYOUT_PLAIN, 1,
                                           (int64_t[]){s->out}, CASE_UNIT),
        [NORM_FOLD_GRAD_PRODUCT] = plain(c, "product", 2, s->out, channels),
        [NORM_FOLD_GRAD_DFOLDED] = weights(c, "dfolded", s),
        [NORM_FOLD_GRAD_DSHIFT] = plain(c, "dshift", 1, s->out, 0),
    };
    struct tensor **out =
        node(c->b, &op_norm_fold_grad, "fold", &a, in, 8)->producer->out;

    case_output(c, out[NORM_FOLD_GRAD_DW]);
    case_output(c, out[row->freeze ? NORM_FOLD_GRAD_DWEIGHT : NORM_FOLD_GRAD_DGRAM]);
    case_output(c, out[row->freeze ? NORM_FOLD_GRAD_DBIAS : NORM_FOLD_GRAD_DSUM]);
}
