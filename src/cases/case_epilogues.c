/* Builds ops that an activation follows. */
#include "cases/case_epilogues.h"

#include "cases/case_build.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/layer_scale.h"
#include "ops/linear.h"
#include "ops/maxpool2d.h"
#include "ops/view.h"

static struct tensor *act(struct case_build *c, const struct op_case *row,
                          struct tensor *x)
{
    const struct case_epilogue *a = row->attrs;

    return activation(c->b, x, a->act, a->m, "act");
}

static struct tensor *conv(struct case_build *c, const struct op_case *row,
                           struct tensor *x, int out)
{
    struct conv2d_attrs a = ((const struct case_epilogue *)row->attrs)->conv;

    a.layer = "conv";
    a.out = out;
    return conv2d_(c->b, x, &a);
}

void case_bn_act(struct case_build *c, const struct op_case *row,
                 const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);

    case_output(c, act(c, row, batchnorm(c->b, x, "bn")));
}

/* The activation has two readers, and so has its gradient. */
void case_bn_act_shared(struct case_build *c, const struct op_case *row,
                        const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED), *y;

    x = act(c, row, batchnorm(c->b, x, "bn"));
    y = maxpool2d(c->b, x, "maxpool", .kernel = 3, .stride = 1, .padding = 1);
    case_output(c, add(c->b, y, x, "add"));
}

void case_bn_add_act(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);
    struct tensor *y = case_image(c, "y", s->dim, CASE_SIGNED);

    x = batchnorm(c->b, x, "bn");
    case_output(c, act(c, row, add(c->b, x, y, "add")));
}

void case_conv_act(struct case_build *c, const struct op_case *row,
                   const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);

    case_output(c, act(c, row, conv(c, row, x, s->out)));
}

void case_conv_bn_act(struct case_build *c, const struct op_case *row,
                      const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);

    x = batchnorm(c->b, conv(c, row, x, s->out), "bn");
    case_output(c, act(c, row, x));
}

void case_conv_bn_add_act(struct case_build *c, const struct op_case *row,
                          const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED), *y;

    y = batchnorm(c->b, conv(c, row, x, (int)s->dim[1]), "bn");
    case_output(c, act(c, row, add(c->b, y, x, "add")));
}

void case_linear_act(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    struct tensor *x = case_plain(c, "x", s->dim, CASE_SIGNED);

    case_output(c, act(c, row, linear(c->b, x, "fc", .out = s->out, .bias = 1)));
}

/* A transformer's MLP with s->out hidden features. */
void case_linear_act_linear(struct case_build *c, const struct op_case *row,
                            const struct case_size *s)
{
    struct tensor *x = case_plain(c, "x", s->dim, CASE_SIGNED);
    int wide = s->out, narrow = (int)x->dim[x->ndim - 1];

    x = act(c, row, linear(c->b, x, "fc1", .out = wide, .bias = 1));
    case_output(c, linear(c->b, x, "fc2", .out = narrow, .bias = 1));
}

/* As many outputs as inputs */
void case_linear_add_act(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    struct tensor *x = case_plain(c, "x", s->dim, CASE_SIGNED);
    struct tensor *y = linear(c->b, x, "fc", .out = s->out, .bias = 1);

    case_output(c, act(c, row, add(c->b, y, x, "add")));
}

/* The end of a residual branch, as tokens. The sum is an image, and may take the memory
 * of the shortcut. */
void case_linear_residual(struct case_build *c, const struct op_case *row,
                          const struct case_size *s)
{
    const struct case_epilogue *e = row->attrs;
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED), *y;

    y = linear(c->b, view_tokens(c->b, x, "view"), "fc", .out = (int)s->dim[1],
               .bias = 1);
    if (e->m != 0)
        y = layer_scale(c->b, y, "ls");
    x = activation(c->b, x, "tanh", 0, "shortcut");
    case_output(c, add(c->b, view_image(c->b, y, "back"), x, "add"));
}
