/* The rows of ops on tokens, [B,H,W,C] and the like. */
#include <string.h>

#include "cases/case_build.h"

#include "ops/activation.h"
#include "ops/add.h"
#include "ops/dropout.h"
#include "ops/image.h"
#include "ops/layer_scale.h"
#include "ops/layernorm.h"
#include "ops/linear.h"
#include "ops/matmul.h"
#include "ops/softmax.h"
#include "ops/view.h"

struct tensor *case_plain(struct case_build *c, const char *name, const int64_t *dim,
                          enum case_fill fill)
{
    int ndim = 0;

    while (ndim < 4 && dim[ndim])
        ndim++;
    return case_tensor(c, name, DTYPE_F32, LAYOUT_PLAIN, ndim, dim, fill);
}

/* Input, output, and their gradients have fixed places: copies. */
void case_view(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    (void)row;
    case_output(c, view_tokens(c->b, case_image(c, "x", s->dim, CASE_SIGNED), "view"));
}

/* The op before the view computes in the output's place. */
void case_view_output(struct case_build *c, const struct op_case *row,
                      const struct case_size *s)
{
    struct tensor *x = sigmoid(c->b, case_plain(c, "x", s->dim, CASE_SIGNED), "sigmoid");

    (void)row;
    case_output(c, view_image(c->b, x, "view"));
}

/* Views of views, of a tensor that others read before and after them. */
void case_views(struct case_build *c, const struct op_case *row,
                const struct case_size *s)
{
    struct tensor *x = relu(c->b, case_image(c, "x", s->dim, CASE_STEPS), "relu"), *y;
    int64_t flat[] = {x->dim[IMAGE_N], x->dim[IMAGE_H] * x->dim[IMAGE_W],
                      x->dim[IMAGE_C]};

    (void)row;
    y = view_tokens(c->b, x, "tokens");
    y = view_plain(c->b, y, "flat", 3, flat);
    y = sigmoid(c->b, y, "sigmoid");
    y = view_plain(c->b, y, "square", 4,
                   (const int64_t[]){x->dim[IMAGE_N], x->dim[IMAGE_H], x->dim[IMAGE_W],
                                     x->dim[IMAGE_C]});
    y = view_image(c->b, y, "image");
    y = add(c->b, y, relu(c->b, x, "again"), "add");
    case_output(c, add(c->b, y, x, "add2"));
}

/* With a computed bias. */
void case_linear_bias(struct case_build *c, const struct op_case *row,
                      const struct case_size *s)
{
    int64_t out = s->out;
    struct tensor *x = case_plain(c, "x", s->dim, CASE_SIGNED);
    struct tensor *bias =
        case_tensor(c, "bias", DTYPE_F32, LAYOUT_PLAIN, 1, &out, CASE_SIGNED);

    (void)row;
    case_output(c, linear_bias(c->b, x, bias, "qkv", .out = s->out));
}

void case_layernorm(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct layernorm_attrs a = *(const struct layernorm_attrs *)row->attrs;

    a.layer = "norm";
    case_output(c, layernorm_(c->b, case_plain(c, "x", s->dim, row->fill), &a));
}

void case_layernorm_image(struct case_build *c, const struct op_case *row,
                          const struct case_size *s)
{
    (void)row;
    case_output(c, layernorm(c->b, case_image(c, "x", s->dim, CASE_SIGNED), "norm",
                             .eps = 1e-6f));
}

static struct gelu_attrs gelu_attrs(const struct op_case *row)
{
    struct gelu_attrs a = *(const struct gelu_attrs *)row->attrs;

    a.layer = "act";
    return a;
}

void case_gelu(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct gelu_attrs a = gelu_attrs(row);

    case_output(c, gelu_(c->b, case_plain(c, "x", s->dim, CASE_DISTINCT), &a));
}

void case_gelu_image(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    struct gelu_attrs a = gelu_attrs(row);

    case_output(c, gelu_(c->b, case_image(c, "x", s->dim, CASE_DISTINCT), &a));
}

void case_layer_scale(struct case_build *c, const struct op_case *row,
                      const struct case_size *s)
{
    (void)row;
    case_output(c, layer_scale(c->b, case_plain(c, "x", s->dim, CASE_SIGNED), "ls"));
}

void case_layer_scale_image(struct case_build *c, const struct op_case *row,
                            const struct case_size *s)
{
    (void)row;
    case_output(c, layer_scale(c->b, case_image(c, "x", s->dim, CASE_SIGNED), "ls"));
}

void case_dropout_tokens(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    (void)row;
    case_output(
        c, dropout(c->b, case_plain(c, "x", s->dim, CASE_STEPS), "drop", .rate = 0.3f));
}

void case_drop_path_tokens(struct case_build *c, const struct op_case *row,
                           const struct case_size *s)
{
    (void)row;
    case_output(
        c, drop_path(c->b, case_plain(c, "x", s->dim, CASE_STEPS), "drop", .rate = 0.4f));
}

/* A transformer's MLP; wide rows with an odd second dim: without biases. */
void case_mlp(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct gelu_attrs gelu = gelu_attrs(row);
    bool bias = !row->wide || s->dim[1] % 2 == 0;
    struct tensor *x = case_plain(c, "x", s->dim, CASE_SIGNED), *y;

    y = linear(c->b, x, "fc1", .out = s->out, .bias = bias);
    y = gelu_(c->b, y, &gelu);
    case_output(c, linear(c->b, y, "fc2", .out = (int)tensor_channels(x), .bias = bias));
}

/* Two transformer blocks, and the norm after the last one. */
void case_residual_norms(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    static const char *const names[2][4] = {{"norm1", "act1", "drop1", "add1"},
                                            {"norm2", "act2", "drop2", "add2"}};
    float rate = ((const struct dropout_attrs *)row->attrs)->rate;
    struct tensor *x = case_plain(c, "x", s->dim, CASE_SIGNED), *y;

    for (int i = 0; i < 2; i++) {
        y = gelu(c->b, layernorm(c->b, x, names[i][0]), names[i][1]);
        y = drop_path(c->b, y, names[i][2], .rate = rate);
        x = add(c->b, y, x, names[i][3]);
    }
    case_output(c, layernorm(c->b, x, "norm", .no_affine = s->out == 0));
    if (c->b->g->training)
        case_output(c, x);
}

/* Two blocks whose branches are narrow MLPs: at level O1 these have 16 bits, the sums and
 * norms stay fp32. `out` 1 and 2: with a layer scale; 2 and 3: the first branch is fp32. */
void case_residual_stream(struct case_build *c, const struct op_case *row,
                          const struct case_size *s)
{
    static const char *const names[2][6] = {
        {"norm1", "in1", "out1", "ls1", "drop1", "add1"},
        {"norm2", "in2", "out2", "ls2", "drop2", "add2"}};
    float rate = ((const struct dropout_attrs *)row->attrs)->rate;
    struct tensor *x = case_plain(c, "x", s->dim, CASE_SIGNED), *y;

    for (int i = 0; i < 2; i++) {
        y = layernorm(c->b, x, names[i][0]);
        if (s->out >= 2 && i == 0) {
            y = gelu(c->b, y, names[i][1]);
        } else {
            y = linear(c->b, y, names[i][1], .out = 8);
            y = linear(c->b, y, names[i][2], .out = (int)tensor_channels(x));
        }
        if (s->out == 1 || s->out == 2)
            y = layer_scale(c->b, y, names[i][3], .init = 0.5f);
        y = drop_path(c->b, y, names[i][4], .rate = rate);
        x = add(c->b, y, x, names[i][5]);
    }
    case_output(c, linear(c->b, layernorm(c->b, x, "norm"), "head", .out = 8));
    if (c->b->g->training)
        case_output(c, x);
}

/* The norm reads a view of the sum, as ConvNeXt's between its stages. With `out`, the branch
 * is scaled, and the view has rows of that many channels. */
void case_residual_view(struct case_build *c, const struct op_case *row,
                        const struct case_size *s)
{
    float rate = ((const struct dropout_attrs *)row->attrs)->rate;
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED), *y;

    y = gelu(c->b, x, "act");
    if (s->out) {
        y = layer_scale(c->b, view_tokens(c->b, y, "scaled"), "ls", .init = 0.5f);
        y = view_image(c->b, y, "branch");
    }
    y = drop_path(c->b, y, "drop", .rate = rate);
    x = add(c->b, x, y, "add");
    y = view_tokens(c->b, x, "view");
    if (s->out) {
        int64_t dim[2] = {tensor_len(x) / s->out, s->out};

        y = view_plain(c->b, y, "rows", 2, dim);
    }
    y = view_like(c->b, layernorm(c->b, y, "norm"), x, "back");
    case_output(c, add(c->b, y, x, "add2"));
}

/* The end of ConvNeXt's block; `out` 0: without a layer scale; 2: something else
 * reads the scaled branch, too. */
void case_residual_sums(struct case_build *c, const struct op_case *row,
                        const struct case_size *s)
{
    float rate = ((const struct dropout_attrs *)row->attrs)->rate;
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED), *y;

    y = view_tokens(c->b, gelu(c->b, x, "act"), "view");
    if (s->out)
        y = layer_scale(c->b, y, "ls");
    y = view_image(c->b, y, "back");
    if (s->out == 2)
        case_output(c, gelu(c->b, y, "other"));
    y = drop_path(c->b, y, "drop", .rate = rate);
    case_output(c, add(c->b, y, x, "add"));
}

/* dim: two dims of the batch, rows, and sums; `out` columns. Plain operands. */
void case_matmul(struct case_build *c, const struct op_case *row,
                 const struct case_size *s)
{
    const int64_t *d = s->dim, b[] = {d[0], d[1], d[3], s->out},
                  y[] = {d[0], d[1], d[2], s->out};
    struct matmul_attrs a = *(const struct matmul_attrs *)row->attrs;

    a.layer = "matmul";
    memcpy(a.batch, d, sizeof(a.batch));
    a.rows = d[2];
    a.sums = d[3];
    a.columns = s->out;
    matmul_order(a.a, d);
    matmul_order(a.b, b);
    matmul_order(a.y, y);
    case_output(c, matmul(c->b, case_plain(c, "x", d, CASE_SIGNED),
                          case_plain(c, "y", b, CASE_SIGNED), &a));
}

/* The same of heads: [images, tokens, heads, channels] times its transpose, and the result
 * next to the tokens. */
void case_matmul_heads(struct case_build *c, const struct op_case *row,
                       const struct case_size *s)
{
    int64_t images = s->dim[0], heads = s->dim[1], n = s->dim[2], k = s->dim[3];
    struct matmul_attrs a = {.layer = "matmul",
                             .alpha = 0.5f,
                             .batch = {images, heads},
                             .rows = n,
                             .columns = n,
                             .sums = k,
                             .a = {n * heads * k, k, heads * k, 1},
                             .b = {n * heads * k, k, 1, heads * k},
                             .y = {n * heads * n, n, heads * n, 1},
                             .ndim = 4,
                             .dim = {images, n, heads, n}};
    const int64_t dim[] = {images, n, heads, k};

    (void)row;
    case_output(c, matmul(c->b, case_plain(c, "q", dim, CASE_SIGNED),
                          case_plain(c, "k", dim, CASE_SIGNED), &a));
}

void case_softmax(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    case_output(c, softmax(c->b, case_plain(c, "x", s->dim, row->fill), "softmax"));
}
