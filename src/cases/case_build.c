#include "cases/case_build.h"

#include <string.h>

#include "base/error.h"
#include "ops/add.h"
#include "ops/avgpool2d.h"
#include "ops/batchnorm.h"
#include "ops/cast.h"
#include "ops/concat.h"
#include "ops/confusion.h"
#include "ops/constant.h"
#include "ops/conv2d.h"
#include "ops/conv_transpose2d.h"
#include "ops/cross_entropy.h"
#include "ops/cross_entropy2d.h"
#include "ops/dropout.h"
#include "ops/gather.h"
#include "ops/global_avgpool.h"
#include "ops/groupnorm.h"
#include "ops/linear.h"
#include "ops/loss_scale.h"
#include "ops/maxpool2d.h"
#include "ops/metrics.h"
#include "ops/mix.h"
#include "ops/normalize.h"
#include "ops/pad_end.h"
#include "ops/pad_shortcut.h"
#include "ops/resample.h"
#include "ops/scale_channels.h"
#include "ops/state.h"
#include "ops/strided_copy.h"

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

struct tensor *case_image(struct case_build *c, const char *name, const int64_t *dim,
                          enum case_fill fill)
{
    return case_tensor(c, name, DTYPE_F32, LAYOUT_IMAGE, 4, dim, fill);
}

struct tensor *case_labels(struct case_build *c, int64_t n, int classes,
                           enum case_fill fill)
{
    struct tensor *t = case_tensor(c, "labels", DTYPE_I32, LAYOUT_PLAIN, 1, &n, fill);

    c->input[c->ninput - 1].classes = classes;
    return t;
}

struct tensor *case_pixel_labels(struct case_build *c, const int64_t *dim,
                                 enum case_fill fill)
{
    int64_t pixels[] = {dim[0], dim[2], dim[3]};
    struct tensor *t = case_tensor(c, "labels", DTYPE_U8, LAYOUT_PLAIN, 3, pixels, fill);

    c->input[c->ninput - 1].classes = (int)dim[1];
    return t;
}

void case_output(struct case_build *c, struct tensor *t)
{
    c->out[c->nout++] = t;
}

/* ---- input ---- */

void case_normalize(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct tensor *x = case_tensor(c, "x", DTYPE_U8, LAYOUT_IMAGE, 4, s->dim, CASE_BYTES);

    struct normalize_attrs a = {.layer = "normalize",
                                .mean = {0.485f, 0.456f, 0.406f, 0.5f},
                                .std = {0.229f, 0.224f, 0.225f, 0.25f}};

    (void)row;
    for (int i = 4; i < NORMALIZE_CHANNELS; i++) {
        a.mean[i] = (float)i / NORMALIZE_CHANNELS;
        a.std[i] = 0.2f + 0.01f * (float)i;
    }
    case_output(c, normalize_(c->b, x, &a));
}

void case_mix(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct mix_attrs a = *(const struct mix_attrs *)row->attrs;
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED), *lam;

    a.layer = "mix";
    case_output(c, mix_(c->b, x, control_tensor(c->b), &lam, &a));
    case_output(c, lam);
}

/* ---- layers ---- */

void case_conv2d(struct case_build *c, const struct op_case *row,
                 const struct case_size *s)
{
    struct conv2d_attrs a = *(const struct conv2d_attrs *)row->attrs;

    a.layer = "conv";
    a.out = s->out;
    a.groups = s->groups;
    case_output(c, conv2d_(c->b, case_image(c, "x", s->dim, CASE_SIGNED), &a));
}

void case_conv_transpose2d(struct case_build *c, const struct op_case *row,
                           const struct case_size *s)
{
    struct conv_transpose2d_attrs a = *(const struct conv_transpose2d_attrs *)row->attrs;

    a.layer = "up";
    a.out = s->out;
    case_output(c, conv_transpose2d_(c->b, case_image(c, "x", s->dim, CASE_SIGNED), &a));
}

void case_linear(struct case_build *c, const struct op_case *row,
                 const struct case_size *s)
{
    (void)row;
    case_output(c, linear(c->b, case_plain(c, "x", s->dim, CASE_SIGNED), "fc",
                          .out = s->out, .bias = 1));
}

void case_linear_image(struct case_build *c, const struct op_case *row,
                       const struct case_size *s)
{
    (void)row;
    case_output(
        c, linear(c->b, case_image(c, "x", s->dim, CASE_SIGNED), "fc", .out = s->out));
}

void case_batchnorm(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct batchnorm_attrs a = {.layer = "bn"};

    if (row->attrs)
        a.eps = ((const struct batchnorm_attrs *)row->attrs)->eps;
    case_output(c, batchnorm_(c->b, case_image(c, "x", s->dim, CASE_SIGNED), &a));
}

void case_add(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);
    struct tensor *y = case_image(c, "y", s->dim, CASE_SIGNED);

    (void)row;
    case_output(c, add(c->b, x, y, "add"));
}

/* Three terms, one of them repeated. */
void case_sum(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);
    struct tensor *in[] = {x, case_image(c, "y", s->dim, CASE_SIGNED), x};

    (void)row;
    case_output(c, node(c->b, &op_add, "sum", NULL, in, 3));
}

void case_cast(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    (void)row;
    case_output(c,
                cast(c->b, case_image(c, "x", s->dim, CASE_SIGNED), DTYPE_F32, "cast"));
}

void case_scale_channels(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    int64_t one[] = {s->dim[0], s->dim[1], 1, 1};
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);

    (void)row;
    case_output(c, scale_channels(c->b, x, case_image(c, "s", one, CASE_UNIT), "scale"));
}

void case_maxpool2d(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct pool2d_attrs a = *(const struct pool2d_attrs *)row->attrs;

    a.layer = "maxpool";
    case_output(c, maxpool2d_(c->b, case_image(c, "x", s->dim, row->fill), &a));
}

void case_avgpool2d(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct pool2d_attrs a = *(const struct pool2d_attrs *)row->attrs;

    a.layer = "avgpool";
    case_output(c, avgpool2d_(c->b, case_image(c, "x", s->dim, CASE_SIGNED), &a));
}

void case_global_avgpool(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    (void)row;
    case_output(c, global_avgpool(c->b, case_image(c, "x", s->dim, CASE_SIGNED), "pool"));
}

void case_pad_end(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    struct pad_end_attrs a = *(const struct pad_end_attrs *)row->attrs;

    a.layer = "pad";
    case_output(c, pad_end_(c->b, case_image(c, "x", s->dim, CASE_SIGNED), &a));
}

/* The row's strides are one more than the dims that the loops go over, 0 for 3 repeats; its
 * offset is the first of every second element of the innermost dim. */
void case_strided_copy(struct case_build *c, const struct op_case *row,
                       const struct case_size *s)
{
    struct strided_copy_attrs a = *(const struct strided_copy_attrs *)row->attrs;
    struct tensor *x = case_plain(c, "x", s->dim, CASE_SIGNED);
    int64_t stride[TENSOR_DIMS];

    tensor_strides(x, stride);
    a.layer = "copy";
    for (int i = 0; i < a.n; i++) {
        int d = (int)a.stride[i] - 1;
        bool half = a.offset && d == x->ndim - 1;

        a.len[i] = d < 0 ? 3 : half ? (x->dim[d] - a.offset) / 2 : x->dim[d];
        a.stride[i] = d < 0 ? 0 : half ? 2 : stride[d];
    }
    case_output(c, strided_copy_(c->b, x, &a));
}

/* A list of out positions, some of them repeated, one of them none. */
static struct gather_attrs gather_of(struct case_build *c, const struct case_size *s)
{
    struct gather_attrs a = {
        .layer = "gather", .outer = s->dim[0], .extent = s->dim[1], .inner = s->dim[2]};
    int32_t *index = arena_new(&c->b->g->arena, (size_t)s->out * sizeof(*index));

    a.n = s->out;
    a.index = index;
    for (int64_t i = 0; i < a.n; i++)
        index[i] = i == 1 ? -1 : (int32_t)(i * 5 % a.extent);
    return a;
}

void case_gather(struct case_build *c, const struct op_case *row,
                 const struct case_size *s)
{
    struct gather_attrs a = gather_of(c, s);

    (void)row;
    case_output(c, gather_(c->b, case_plain(c, "x", s->dim, CASE_SIGNED), &a));
}

/* The gradient as a forward op. */
void case_gather_grad(struct case_build *c, const struct op_case *row,
                      const struct case_size *s)
{
    struct gather_attrs a = gather_of(c, s);
    struct tensor *x =
        case_plain(c, "x", (const int64_t[]){a.outer, a.n, a.inner, 0}, CASE_SIGNED);

    (void)row;
    a.layout = LAYOUT_PLAIN;
    a.ndim = 3;
    memcpy(a.dim, s->dim, 3 * sizeof(*a.dim));
    case_output(c, node(c->b, &op_gather_grad, a.layer, &a, &x, 1));
}

/* x plus a constant, which has no inputs. */
void case_constant(struct case_build *c, const struct op_case *row,
                   const struct case_size *s)
{
    struct tensor *x = case_plain(c, "x", s->dim, CASE_SIGNED);
    struct constant_attrs a = {.layer = "constant", .ndim = x->ndim};
    float *data = arena_new(&c->b->g->arena, (size_t)tensor_len(x) * sizeof(*data));

    (void)row;
    for (int64_t i = 0; i < tensor_len(x); i++)
        data[i] = (float)(i % 7) - 3;
    memcpy(a.dim, x->dim, sizeof(a.dim));
    a.data = data;
    case_output(c, add(c->b, x, constant_(c->b, &a), "add"));
}

void case_pad_shortcut(struct case_build *c, const struct op_case *row,
                       const struct case_size *s)
{
    struct pad_shortcut_attrs a = *(const struct pad_shortcut_attrs *)row->attrs;

    a.layer = "shortcut";
    a.out = s->out;
    case_output(c, pad_shortcut_(c->b, case_image(c, "x", s->dim, CASE_SIGNED), &a));
}

void case_groupnorm(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, row->fill);

    case_output(c, groupnorm(c->b, x, "norm", .groups = s->groups));
}

void case_resample(struct case_build *c, const struct op_case *row,
                   const struct case_size *s)
{
    struct resample_attrs a = *(const struct resample_attrs *)row->attrs;

    a.layer = "resample";
    case_output(c, resample_(c->b, case_image(c, "x", s->dim, CASE_SIGNED), &a));
}

/* `groups` parts (0: two); the first has the row's dims, and part i out + i - 1 in the
 * concatenated dim. */
static void concat_parts(struct case_build *c, const struct op_case *row,
                         const struct case_size *s, bool image)
{
    static const char *const name[] = {"x", "y", "z", "a", "b", "d", "e", "f", "g", "h"};
    struct concat_attrs a = {.layer = "concat"};
    int n = s->groups ? s->groups : 2;
    struct tensor *in[CASE_INPUTS];
    int64_t dim[4];

    if (row->attrs)
        a.axis = ((const struct concat_attrs *)row->attrs)->axis;
    memcpy(dim, s->dim, sizeof(dim));
    for (int i = 0; i < n; i++) {
        in[i] = image ? case_image(c, name[i], dim, CASE_SIGNED)
                      : case_plain(c, name[i], dim, CASE_SIGNED);
        dim[a.axis ? a.axis : 1] = s->out + i;
    }
    case_output(c, concat_(c->b, in, n, &a));
}

void case_concat(struct case_build *c, const struct op_case *row,
                 const struct case_size *s)
{
    concat_parts(c, row, s, true);
}

void case_concat_tokens(struct case_build *c, const struct op_case *row,
                        const struct case_size *s)
{
    concat_parts(c, row, s, false);
}

/* A part that occurs twice and has another reader. */
void case_concat_twice(struct case_build *c, const struct op_case *row,
                       const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, row->fill);
    struct tensor *y = maxpool2d(c->b, x, "pool", .kernel = 3, .stride = 1, .padding = 1);
    struct tensor *z = conv2d(c->b, x, "conv", .out = s->out, .kernel = 1);
    struct tensor *in[] = {z, y, x, y, z};

    case_output(c, concat(c->b, in, 5, "concat"));
}

void case_dropout(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    (void)row;
    case_output(
        c, dropout(c->b, case_image(c, "x", s->dim, CASE_STEPS), "drop", .rate = 0.3f));
}

void case_dropout2d(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    (void)row;
    case_output(
        c, dropout2d(c->b, case_image(c, "x", s->dim, CASE_STEPS), "drop", .rate = 0.3f));
}

void case_drop_path(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    (void)row;
    case_output(
        c, drop_path(c->b, case_image(c, "x", s->dim, CASE_STEPS), "drop", .rate = 0.4f));
}

/* ---- loss ---- */

void case_confusion(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct tensor *z = case_image(c, "logits", s->dim, CASE_TIES);
    struct tensor *y = case_pixel_labels(c, s->dim, CASE_HOLES);
    float weight[CROSS_ENTROPY2D_CLASSES];

    (void)row;
    for (int k = 0; k < CROSS_ENTROPY2D_CLASSES; k++)
        weight[k] = (float)((k + 2) % 4) / 2;
    confusion(c->b, z, y, cross_entropy2d(c->b, z, y, "loss", .ignore = 255), 255,
              weight);
}

/* The end of a segmentation net: logits at twice the resolution, which a kernel that
 * fuses the loss need not store. */
void case_head(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct cross_entropy2d_attrs a = *(const struct cross_entropy2d_attrs *)row->attrs;
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED), *y;

    x = conv_transpose2d(c->b, x, "up", .out = s->out, .kernel = 2, .stride = 2,
                         .bias = 1);
    y = case_pixel_labels(c, x->dim, CASE_HOLES);
    a.layer = "loss";
    for (int k = 0; k < CROSS_ENTROPY2D_CLASSES; k++)
        a.weight[k] = (float)((k + 2) % 4) / 2;
    case_output(c, cross_entropy2d_(c->b, x, y, &a));
    confusion(c->b, x, y, c->out[0], a.ignore, a.weighted ? a.weight : NULL);
}

void case_metrics(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    struct tensor *z =
        case_tensor(c, "logits", DTYPE_F32, LAYOUT_PLAIN, 2, s->dim, CASE_TIES);
    struct tensor *y = case_labels(c, s->dim[0], (int)s->dim[1], CASE_HOLES);

    (void)row;
    metrics(c->b, z, y, cross_entropy(c->b, z, y, NULL, "loss"));
}

void case_loss_scale(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    (void)row, (void)s;
    case_output(
        c, loss_scale(c->b, "loss_scale", .accumulation = {.group = 4, .batches = 3}));
}

/* All kinds of weights and a batch norm's buffers, for the update phase. */
void case_weights(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);

    (void)row;
    x = conv2d(c->b, x, "conv", .out = s->out, .kernel = 3, .padding = 1);
    x = global_avgpool(c->b, batchnorm(c->b, x, "bn"), "pool");
    case_output(c, linear(c->b, x, "fc", .out = 7, .bias = 1));
}
