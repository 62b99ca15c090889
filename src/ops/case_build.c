#include "ops/case_build.h"

#include "base/error.h"
#include "ops/add.h"
#include "ops/avgpool2d.h"
#include "ops/batchnorm.h"
#include "ops/cast.h"
#include "ops/concat.h"
#include "ops/confusion.h"
#include "ops/conv2d.h"
#include "ops/conv_transpose2d.h"
#include "ops/cross_entropy.h"
#include "ops/cross_entropy2d.h"
#include "ops/dropout.h"
#include "ops/global_avgpool.h"
#include "ops/image.h"
#include "ops/linear.h"
#include "ops/loss_scale.h"
#include "ops/maxpool2d.h"
#include "ops/metrics.h"
#include "ops/mix.h"
#include "ops/normalize.h"
#include "ops/pad_shortcut.h"
#include "ops/relu.h"
#include "ops/scale_channels.h"
#include "ops/sigmoid.h"
#include "ops/state.h"

struct tensor *case_tensor(struct case_build *c, const char *name, enum dtype dtype,
                           enum layout layout, int ndim, const int64_t *dim,
                           enum case_fill fill)
{
    struct tensor *t = graph_input(c->b, name, dtype, layout, ndim, dim);

    if (c->ninput == CASE_INPUTS)
        BUG("more than %d inputs", CASE_INPUTS);
    t->trainable = dtype == DTYPE_F32;
    c->input[c->ninput++] = (struct case_input){.tensor = t, .fill = fill};
    return t;
}

static struct tensor *image(struct case_build *c, const char *name, const int64_t *dim,
                            enum case_fill fill)
{
    return case_tensor(c, name, DTYPE_F32, LAYOUT_IMAGE, 4, dim, fill);
}

static struct tensor *labels(struct case_build *c, int64_t n, int classes,
                             enum case_fill fill)
{
    struct tensor *t = case_tensor(c, "labels", DTYPE_I32, LAYOUT_PLAIN, 1, &n, fill);

    c->input[c->ninput - 1].classes = classes;
    return t;
}

/* Labels of the pixels of [N,K,H,W]; a label of -1 is 255. */
static struct tensor *pixel_labels(struct case_build *c, const int64_t *dim,
                                   enum case_fill fill)
{
    int64_t pixels[] = {dim[0], dim[2], dim[3]};
    struct tensor *t = case_tensor(c, "labels", DTYPE_U8, LAYOUT_PLAIN, 3, pixels, fill);

    c->input[c->ninput - 1].classes = (int)dim[1];
    return t;
}

static void output(struct case_build *c, struct tensor *t)
{
    c->out[c->nout++] = t;
}

/* ---- input ---- */

void case_normalize(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct tensor *x = case_tensor(c, "x", DTYPE_U8, LAYOUT_IMAGE, 4, s->dim, CASE_BYTES);

    (void)row;
    output(c, normalize(c->b, x, "normalize", .mean = {0.485f, 0.456f, 0.406f, 0.5f},
                        .std = {0.229f, 0.224f, 0.225f, 0.25f}));
}

void case_mix(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct mix_attrs a = *(const struct mix_attrs *)row->attrs;
    struct tensor *x = image(c, "x", s->dim, CASE_SIGNED), *lam;

    a.layer = "mix";
    output(c, mix_(c->b, x, control_tensor(c->b), &lam, &a));
    output(c, lam);
}

/* ---- layers ---- */

void case_conv2d(struct case_build *c, const struct op_case *row,
                 const struct case_size *s)
{
    struct conv2d_attrs a = *(const struct conv2d_attrs *)row->attrs;

    a.layer = "conv";
    a.out = s->out;
    a.groups = s->groups;
    output(c, conv2d_(c->b, image(c, "x", s->dim, CASE_SIGNED), &a));
}

void case_conv_transpose2d(struct case_build *c, const struct op_case *row,
                           const struct case_size *s)
{
    struct conv_transpose2d_attrs a = *(const struct conv_transpose2d_attrs *)row->attrs;

    a.layer = "up";
    a.out = s->out;
    output(c, conv_transpose2d_(c->b, image(c, "x", s->dim, CASE_SIGNED), &a));
}

void case_linear(struct case_build *c, const struct op_case *row,
                 const struct case_size *s)
{
    struct tensor *x = case_tensor(c, "x", DTYPE_F32, LAYOUT_PLAIN, s->dim[2] ? 4 : 2,
                                   s->dim, CASE_SIGNED);

    (void)row;
    output(c, linear(c->b, x, "fc", .out = s->out, .bias = 1));
}

void case_linear_image(struct case_build *c, const struct op_case *row,
                       const struct case_size *s)
{
    (void)row;
    output(c, linear(c->b, image(c, "x", s->dim, CASE_SIGNED), "fc", .out = s->out));
}

void case_batchnorm(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct batchnorm_attrs a = {.layer = "bn"};

    if (row->attrs)
        a.eps = ((const struct batchnorm_attrs *)row->attrs)->eps;
    output(c, batchnorm_(c->b, image(c, "x", s->dim, CASE_SIGNED), &a));
}

void case_relu(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct relu_attrs a = *(const struct relu_attrs *)row->attrs;

    a.layer = "relu";
    output(c, relu_(c->b, image(c, "x", s->dim, CASE_STEPS), &a));
}

void case_sigmoid(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    (void)row;
    output(c, sigmoid(c->b, image(c, "x", s->dim, CASE_SIGNED), "sigmoid"));
}

void case_add(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct tensor *x = image(c, "x", s->dim, CASE_SIGNED);
    struct tensor *y = image(c, "y", s->dim, CASE_SIGNED);

    (void)row;
    output(c, add(c->b, x, y, "add"));
}

/* Three terms, one of them twice. */
void case_sum(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct tensor *x = image(c, "x", s->dim, CASE_SIGNED);
    struct tensor *in[] = {x, image(c, "y", s->dim, CASE_SIGNED), x};

    (void)row;
    output(c, node(c->b, &op_add, "sum", NULL, in, 3));
}

void case_cast(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    (void)row;
    output(c, cast(c->b, image(c, "x", s->dim, CASE_SIGNED), DTYPE_F32, "cast"));
}

void case_scale_channels(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    int64_t one[] = {s->dim[0], s->dim[1], 1, 1};
    struct tensor *x = image(c, "x", s->dim, CASE_SIGNED);

    (void)row;
    output(c, scale_channels(c->b, x, image(c, "s", one, CASE_UNIT), "scale"));
}

void case_maxpool2d(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct maxpool2d_attrs a = *(const struct maxpool2d_attrs *)row->attrs;

    a.layer = "maxpool";
    output(c, maxpool2d_(c->b, image(c, "x", s->dim, row->fill), &a));
}

void case_avgpool2d(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct avgpool2d_attrs a = *(const struct avgpool2d_attrs *)row->attrs;

    a.layer = "avgpool";
    output(c, avgpool2d_(c->b, image(c, "x", s->dim, CASE_SIGNED), &a));
}

void case_global_avgpool(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    (void)row;
    output(c, global_avgpool(c->b, image(c, "x", s->dim, CASE_SIGNED), "pool"));
}

void case_pad_shortcut(struct case_build *c, const struct op_case *row,
                       const struct case_size *s)
{
    struct pad_shortcut_attrs a = *(const struct pad_shortcut_attrs *)row->attrs;

    a.layer = "shortcut";
    a.out = s->out;
    output(c, pad_shortcut_(c->b, image(c, "x", s->dim, CASE_SIGNED), &a));
}

void case_concat(struct case_build *c, const struct op_case *row,
                 const struct case_size *s)
{
    int64_t other[] = {s->dim[0], s->out, s->dim[2], s->dim[3]};
    struct tensor *x = image(c, "x", s->dim, CASE_SIGNED);

    (void)row;
    output(c, concat(c->b, x, image(c, "y", other, CASE_SIGNED), "concat"));
}

void case_dropout(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    (void)row;
    output(c, dropout(c->b, image(c, "x", s->dim, CASE_STEPS), "drop", .rate = 0.3f));
}

void case_dropout2d(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    (void)row;
    output(c, dropout2d(c->b, image(c, "x", s->dim, CASE_STEPS), "drop", .rate = 0.3f));
}

void case_drop_path(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    (void)row;
    output(c, drop_path(c->b, image(c, "x", s->dim, CASE_STEPS), "drop", .rate = 0.4f));
}

/* ---- loss ---- */

void case_cross_entropy(struct case_build *c, const struct op_case *row,
                        const struct case_size *s)
{
    struct cross_entropy_attrs a = *(const struct cross_entropy_attrs *)row->attrs;
    struct tensor *z =
        case_tensor(c, "logits", DTYPE_F32, LAYOUT_PLAIN, 2, s->dim, CASE_DISTINCT);
    struct tensor *y = labels(c, s->dim[0], (int)s->dim[1], row->fill);

    a.layer = "loss";
    output(c, cross_entropy_(c->b, z, y, NULL, &a));
}

void case_cross_entropy_lam(struct case_build *c, const struct op_case *row,
                            const struct case_size *s)
{
    struct cross_entropy_attrs a = *(const struct cross_entropy_attrs *)row->attrs;
    struct tensor *z =
        case_tensor(c, "logits", DTYPE_F32, LAYOUT_PLAIN, 2, s->dim, CASE_DISTINCT);
    struct tensor *y = labels(c, s->dim[0], (int)s->dim[1], row->fill);
    struct tensor *lam =
        case_tensor(c, "lam", DTYPE_F32, LAYOUT_PLAIN, 1, &s->dim[0], CASE_UNIT);

    lam->trainable = false;
    a.layer = "loss";
    output(c, cross_entropy_(c->b, z, y, lam, &a));
}

void case_cross_entropy2d(struct case_build *c, const struct op_case *row,
                          const struct case_size *s)
{
    struct cross_entropy2d_attrs a = *(const struct cross_entropy2d_attrs *)row->attrs;
    struct tensor *z = image(c, "logits", s->dim, CASE_DISTINCT);

    a.layer = "loss";
    for (int k = 0; k < CROSS_ENTROPY2D_CLASSES; k++)
        a.weight[k] = (float)((k + 2) % 4) / 2; /* 1, 1.5, 0, 0.5, 1, ... */
    output(c, cross_entropy2d_(c->b, z, pixel_labels(c, s->dim, row->fill), &a));
}

void case_confusion(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct tensor *z = image(c, "logits", s->dim, CASE_TIES);
    struct tensor *y = pixel_labels(c, s->dim, CASE_HOLES);

    (void)row;
    confusion(c->b, z, y, cross_entropy2d(c->b, z, y, "loss", .ignore = 255), 255);
}

/* The end of a segmentation network: logits at twice the resolution, which nobody keeps.
 */
void case_head(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct cross_entropy2d_attrs a = *(const struct cross_entropy2d_attrs *)row->attrs;
    struct tensor *x = image(c, "x", s->dim, CASE_SIGNED), *y;

    x = conv_transpose2d(c->b, x, "up", .out = s->out, .kernel = 2, .stride = 2,
                         .bias = 1);
    y = pixel_labels(c, x->dim, CASE_HOLES);
    a.layer = "loss";
    for (int k = 0; k < CROSS_ENTROPY2D_CLASSES; k++)
        a.weight[k] = (float)((k + 2) % 4) / 2;
    output(c, cross_entropy2d_(c->b, x, y, &a));
    confusion(c->b, x, y, c->out[0], a.ignore);
}

void case_metrics(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    struct tensor *z =
        case_tensor(c, "logits", DTYPE_F32, LAYOUT_PLAIN, 2, s->dim, CASE_TIES);
    struct tensor *y = labels(c, s->dim[0], (int)s->dim[1], CASE_HOLES);

    (void)row;
    metrics(c->b, z, y, cross_entropy(c->b, z, y, NULL, "loss"));
}

void case_loss_scale(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    (void)row, (void)s;
    output(c, loss_scale(c->b, "loss_scale", .accumulation = {.group = 4, .batches = 3}));
}

/* ---- chains: what backends fuse ---- */

void case_conv_bn_relu(struct case_build *c, const struct op_case *row,
                       const struct case_size *s)
{
    struct conv2d_attrs a = *(const struct conv2d_attrs *)row->attrs;
    struct tensor *x;

    a.layer = "conv";
    a.out = s->out;
    x = conv2d_(c->b, image(c, "x", s->dim, CASE_SIGNED), &a);
    x = batchnorm(c->b, x, "bn");
    output(c, relu(c->b, x, "relu"));
}

void case_bn_add_relu(struct case_build *c, const struct op_case *row,
                      const struct case_size *s)
{
    struct tensor *x = image(c, "x", s->dim, CASE_SIGNED);
    struct tensor *y = image(c, "y", s->dim, CASE_SIGNED);

    (void)row;
    x = batchnorm(c->b, x, "bn");
    output(c, relu(c->b, add(c->b, x, y, "add"), "relu"));
}

/* The end of ERFNet's block, whose input the shortcut carries on. */
void case_bn_drop_add_relu(struct case_build *c, const struct op_case *row,
                           const struct case_size *s)
{
    struct tensor *x = image(c, "x", s->dim, CASE_SIGNED);
    struct tensor *y = batchnorm(c->b, x, "bn", .eps = 1e-3f);

    (void)row;
    y = dropout2d(c->b, y, "drop", .rate = 0.3f);
    y = relu(c->b, add(c->b, y, relu(c->b, x, "before"), "add"), "relu");
    output(c, batchnorm(c->b, y, "behind"));
}

/* Both sides of the sum are normalised: the first block of a stage. */
void case_bn_bn_add_relu(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    struct tensor *x = batchnorm(c->b, image(c, "x", s->dim, CASE_SIGNED), "bn");
    struct tensor *y = batchnorm(c->b, image(c, "y", s->dim, CASE_SIGNED), "shortcut");

    (void)row;
    output(c, relu(c->b, add(c->b, x, y, "add"), "relu"));
}

void case_conv_bias_relu(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    struct tensor *x = image(c, "x", s->dim, CASE_SIGNED);

    (void)row;
    x = conv2d(c->b, x, "conv", .out = s->out, .kernel = 3, .padding = 1, .bias = 1);
    output(c, relu(c->b, x, "relu"));
}

/* Half a block of ERFNet; both relus have gradients behind data gradients. */
void case_factorised(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    struct tensor *x = image(c, "x", s->dim, CASE_SIGNED);

    (void)row;
    x = relu(c->b, x, "act0");
    x = conv2d(c->b, x, "conv1", .out = s->out, .kernel_h = 3, .kernel_w = 1, .pad_h = 1,
               .bias = 1);
    x = relu(c->b, x, "act1");
    output(c, conv2d(c->b, x, "conv2", .out = (int)s->dim[1], .kernel_h = 1,
                     .kernel_w = 3, .pad_w = 1, .bias = 1));
}

/* Bytes, mixed if the row says how, to the pooled stem; no gradient for the pixels. */
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
    output(c, maxpool2d(c->b, x, "maxpool", .kernel = 3, .stride = 2, .padding = 1));
}

/* ERFNet's way down: pool beside convolution. */
static struct tensor *down(struct case_build *c, struct tensor *x, int out)
{
    struct tensor *y = conv2d(c->b, x, "conv", .out = out - (int)x->dim[1], .kernel = 3,
                              .stride = 2, .padding = 1, .bias = 1);

    return concat(c->b, y, maxpool2d(c->b, x, "pool", .kernel = 2), "concat");
}

void case_down(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    (void)row;
    output(c, down(c, image(c, "x", s->dim, CASE_SIGNED), s->out));
}

/* Down and up again: dropout2d, a loss at the end. */
void case_down_up(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    struct tensor *x = image(c, "x", s->dim, CASE_SIGNED), *y;

    (void)row;
    x = down(c, x, s->out);
    x = relu(c->b, batchnorm(c->b, x, "bn", .eps = 1e-3f), "act");
    y = dropout2d(c->b, batchnorm(c->b, x, "bn2", .eps = 1e-3f), "drop", .rate = 0.3f);
    x = relu(c->b, add(c->b, y, x, "add"), "act2");
    x = conv_transpose2d(c->b, x, "up", .out = 5, .kernel = 2, .stride = 2, .bias = 1);
    y = pixel_labels(c, x->dim, CASE_HOLES);
    output(c, cross_entropy2d(c->b, x, y, "loss", .ignore = 255));
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
    struct tensor *x = image(c, "x", s->dim, CASE_SIGNED), *y;

    (void)row;
    y = relu(c->b, conv_bn(c, x, "0.conv1", "0.bn1", s->out, 2), "0.act1");
    y = conv_bn(c, y, "0.conv2", "0.bn2", s->out, 1);
    x = conv2d(c->b, x, "0.downsample.0", .out = s->out, .kernel = 1, .stride = 2);
    x = batchnorm(c->b, x, "0.downsample.1");
    x = relu(c->b, add(c->b, y, x, "0.add"), "0.act2");
    y = relu(c->b, conv_bn(c, x, "1.conv1", "1.bn1", s->out, 1), "1.act1");
    y = conv_bn(c, y, "1.conv2", "1.bn2", s->out, 1);
    x = relu(c->b, add(c->b, y, x, "1.add"), "1.act2");
    output(c, linear(c->b, global_avgpool(c->b, x, "pool"), "fc", .out = 5, .bias = 1));
}

/* Squeeze and excitation behind a batch norm. */
void case_se(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct tensor *x = batchnorm(c->b, image(c, "x", s->dim, CASE_SIGNED), "bn"), *y;

    (void)row;
    y = global_avgpool(c->b, x, "se.pool");
    y = conv2d(c->b, y, "se.fc1", .out = s->out, .kernel = 1, .bias = 1);
    y = relu(c->b, y, "se.act");
    y = conv2d(c->b, y, "se.fc2", .out = (int)s->dim[1], .kernel = 1, .bias = 1);
    output(c, scale_channels(c->b, x, sigmoid(c->b, y, "se.gate"), "se"));
}

/* Weights of every kind and a batch norm's buffers, for the update phase. */
void case_weights(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    struct tensor *x = image(c, "x", s->dim, CASE_SIGNED);

    (void)row;
    x = conv2d(c->b, x, "conv", .out = s->out, .kernel = 3, .padding = 1);
    x = global_avgpool(c->b, batchnorm(c->b, x, "bn"), "pool");
    output(c, linear(c->b, x, "fc", .out = 7, .bias = 1));
}
