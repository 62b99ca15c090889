/* Builds chains of ops that backends fuse. */
#include "cases/case_build.h"

#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/conv_transpose2d.h"
#include "ops/cross_entropy2d.h"
#include "ops/dropout.h"
#include "ops/global_avgpool.h"
#include "ops/linear.h"
#include "ops/maxpool2d.h"
#include "ops/mix.h"
#include "ops/normalize.h"
#include "ops/activation.h"
#include "ops/scale_channels.h"
#include "ops/state.h"

void case_conv_bn_relu(struct case_build *c, const struct op_case *row,
                       const struct case_size *s)
{
    struct conv2d_attrs a = *(const struct conv2d_attrs *)row->attrs;
    struct tensor *x;

    a.layer = "conv";
    a.out = s->out;
    x = conv2d_(c->b, case_image(c, "x", s->dim, CASE_SIGNED), &a);
    x = batchnorm(c->b, x, "bn");
    case_output(c, relu(c->b, x, "relu"));
}

/* A block with one convolution, whose input is added to its result. */
void case_conv_bn_add_relu(struct case_build *c, const struct op_case *row,
                           const struct case_size *s)
{
    struct conv2d_attrs a = *(const struct conv2d_attrs *)row->attrs;
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED), *y;

    x = relu(c->b, x, "before");
    a.layer = "conv";
    a.out = (int)s->dim[1];
    y = batchnorm(c->b, conv2d_(c->b, x, &a), "bn");
    case_output(c, relu(c->b, add(c->b, y, x, "add"), "relu"));
}

void case_bn_add_relu(struct case_build *c, const struct op_case *row,
                      const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);
    struct tensor *y = case_image(c, "y", s->dim, CASE_SIGNED);
    const struct relu_attrs *a = row->attrs;

    x = add(c->b, batchnorm(c->b, x, "bn"), y, "add");
    case_output(c, relu(c->b, x, "relu", .limit = a ? a->limit : 0));
}

/* The end of ERFNet's block; the shortcut is also read later. */
void case_bn_drop_add_relu(struct case_build *c, const struct op_case *row,
                           const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);
    struct tensor *y = batchnorm(c->b, x, "bn", .eps = 1e-3f);

    (void)row;
    y = dropout2d(c->b, y, "drop", .rate = 0.3f);
    y = relu(c->b, add(c->b, y, relu(c->b, x, "before"), "add"), "relu");
    case_output(c, batchnorm(c->b, y, "after"));
}

/* Both terms of the sum are normalized: the first block of a stage. */
void case_bn_bn_add_relu(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    struct tensor *x = batchnorm(c->b, case_image(c, "x", s->dim, CASE_SIGNED), "bn");
    struct tensor *y =
        batchnorm(c->b, case_image(c, "y", s->dim, CASE_SIGNED), "shortcut");

    (void)row;
    case_output(c, relu(c->b, add(c->b, x, y, "add"), "relu"));
}

void case_conv_bias_relu(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);

    (void)row;
    x = conv2d(c->b, x, "conv", .out = s->out, .kernel = 3, .padding = 1, .bias = 1);
    case_output(c, relu(c->b, x, "relu"));
}

/* A relu on each side of a 3x3: one after it, one after its data gradient. */
void case_relu_conv_relu(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    struct tensor *x = relu(c->b, case_image(c, "x", s->dim, CASE_SIGNED), "act0");

    (void)row;
    x = conv2d(c->b, x, "conv", .out = s->out, .kernel = 3, .padding = 1);
    case_output(c, relu(c->b, x, "act1"));
}

/* Half a block of ERFNet; both relus have gradients after data gradients. */
void case_factorised(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);

    (void)row;
    x = relu(c->b, x, "act0");
    x = conv2d(c->b, x, "conv1", .out = s->out, .kernel_h = 3, .kernel_w = 1, .pad_h = 1,
               .bias = 1);
    x = relu(c->b, x, "act1");
    case_output(c, conv2d(c->b, x, "conv2", .out = (int)s->dim[1], .kernel_h = 1,
                          .kernel_w = 3, .pad_w = 1, .bias = 1));
}

/* From bytes, mixed if the row says so, to the pooled stem; no gradient for pixels. */
void case_stem(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct tensor *x = case_tensor(c, "x", DTYPE_U8, LAYOUT_IMAGE, 4, s->dim, CASE_BYTES);

    x = normalize(c->b, x, "normalize", .mean = {0.5f, 0.5f, 0.5f},
                  .std = {0.25f, 0.25f, 0.25f});
    if (row->attrs) {
        struct mix_attrs a = *(const struct mix_attrs *)row->attrs;
        struct tensor *lam;

        a.layer = "mix";
        x = mix_(c->b, x, control_tensor(c->b), &lam, &a);
    }
    x = conv2d(c->b, x, "conv1", .out = s->out, .kernel = 7, .stride = 2, .padding = 3);
    x = relu(c->b, batchnorm(c->b, x, "bn1"), "act1");
    case_output(c, maxpool2d(c->b, x, "maxpool", .kernel = 3, .stride = 2, .padding = 1));
}

/* ERFNet's downsampling: pool and convolution in parallel. */
static struct tensor *down(struct case_build *c, struct tensor *x, int out)
{
    struct tensor *y = conv2d(c->b, x, "conv", .out = out - (int)x->dim[1], .kernel = 3,
                              .stride = 2, .padding = 1, .bias = 1);

    struct tensor *in[] = {y, maxpool2d(c->b, x, "pool", .kernel = 2)};

    return concat(c->b, in, 2, "concat");
}

void case_down(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    (void)row;
    case_output(c, down(c, case_image(c, "x", s->dim, CASE_SIGNED), s->out));
}

/* Down and up again: dropout2d, a loss at the end. */
void case_down_up(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED), *y;

    (void)row;
    x = down(c, x, s->out);
    x = relu(c->b, batchnorm(c->b, x, "bn", .eps = 1e-3f), "act");
    y = dropout2d(c->b, batchnorm(c->b, x, "bn2", .eps = 1e-3f), "drop", .rate = 0.3f);
    x = relu(c->b, add(c->b, y, x, "add"), "act2");
    x = conv_transpose2d(c->b, x, "up", .out = 5, .kernel = 2, .stride = 2, .bias = 1);
    y = case_pixel_labels(c, x->dim, CASE_HOLES);
    case_output(c, cross_entropy2d(c->b, x, y, "loss", .ignore = 255));
}

static struct tensor *conv_bn(struct case_build *c, struct tensor *x, const char *conv,
                              const char *bn, int out, int stride)
{
    x = conv2d(c->b, x, conv, .out = out, .kernel = 3, .stride = stride, .padding = 1);
    return batchnorm(c->b, x, bn);
}

/* Two residual blocks, the first with a projected shortcut; then the head. */
void case_residual(struct case_build *c, const struct op_case *row,
                   const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED), *y;

    (void)row;
    y = relu(c->b, conv_bn(c, x, "0.conv1", "0.bn1", s->out, 2), "0.act1");
    y = conv_bn(c, y, "0.conv2", "0.bn2", s->out, 1);
    x = conv2d(c->b, x, "0.downsample.0", .out = s->out, .kernel = 1, .stride = 2);
    x = batchnorm(c->b, x, "0.downsample.1");
    x = relu(c->b, add(c->b, y, x, "0.add"), "0.act2");
    y = relu(c->b, conv_bn(c, x, "1.conv1", "1.bn1", s->out, 1), "1.act1");
    y = conv_bn(c, y, "1.conv2", "1.bn2", s->out, 1);
    x = relu(c->b, add(c->b, y, x, "1.add"), "1.act2");
    case_output(c,
                linear(c->b, global_avgpool(c->b, x, "pool"), "fc", .out = 5, .bias = 1));
}

/* Squeeze and excitation after a batch norm. */
void case_se(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct tensor *x = batchnorm(c->b, case_image(c, "x", s->dim, CASE_SIGNED), "bn"), *y;

    (void)row;
    y = global_avgpool(c->b, x, "se.pool");
    y = conv2d(c->b, y, "se.fc1", .out = s->out, .kernel = 1, .bias = 1);
    y = relu(c->b, y, "se.act");
    y = conv2d(c->b, y, "se.fc2", .out = (int)s->dim[1], .kernel = 1, .bias = 1);
    case_output(c, scale_channels(c->b, x, sigmoid(c->b, y, "se.gate"), "se"));
}
