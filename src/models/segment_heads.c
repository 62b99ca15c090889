#include "models/segment_heads.h"

#include "ops/activation.h"
#include "ops/batchnorm.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/global_avgpool.h"
#include "ops/image.h"
#include "ops/resample.h"

struct net smp_decoder(struct builder *b, const struct model_options *o)
{
    return (struct net){
        .b = b, .o = o, .init = o->init ? o->init : INIT_RULE_KAIMING_UNIFORM_IN};
}

struct net pytorch_decoder(struct builder *b, const struct model_options *o)
{
    return (struct net){.b = b, .o = o, .init = o->init ? o->init : INIT_RULE_PYTORCH};
}

struct tensor *smp_head(struct net *n, struct tensor *x, int kernel, int height,
                        int width)
{
    bool xavier =
        n->init == INIT_RULE_KAIMING_UNIFORM_IN; /* as in smp's initialize_head() */

    x = conv2d(n->b, x, "segmentation_head.0", .out = (int)n->o->classes,
               .kernel = kernel, .padding = kernel / 2, .bias = 1,
               .init = xavier ? INIT_RULE_XAVIER_UNIFORM : n->init,
               .bias_init =
                   n->init == INIT_RULE_PYTORCH ? INIT_RULE_PYTORCH : INIT_RULE_ZERO);
    if (x->dim[IMAGE_H] == height && x->dim[IMAGE_W] == width)
        return x;
    return resample(n->b, x, "segmentation_head.1", .out_h = height, .out_w = width,
                    .align_corners = 1);
}

struct tensor *fcn_head(struct net *n, struct tensor *x, const char *prefix, float drop,
                        int height, int width)
{
    x = conv_bn(n, x, prefix, "0", "1", "2", .out = (int)x->dim[IMAGE_C] / 4,
                .kernel = 3);
    x = dropout(n->b, x, layer_name(n, prefix, "3"), .rate = drop);
    x = conv_bias(n, x, layer_name(n, prefix, "4"), (int)n->o->classes, 1,
                  INIT_RULE_PYTORCH);
    return resample(n->b, x, layer_name(n, prefix, "up"), .out_h = height,
                    .out_w = width);
}

struct tensor *separable_bn_(struct net *n, struct tensor *x,
                             const struct separable_attrs *a)
{
    int in = (int)x->dim[IMAGE_C], dilation = a->dilation ? a->dilation : 1;

    x = conv2d(n->b, x, layer_name(n, a->prefix, "0"), .out = in, .kernel = 3,
               .padding = dilation, .dilation = dilation, .groups = in, .init = n->init);
    x = conv2d(n->b, x, layer_name(n, a->prefix, "1"), .out = a->out, .kernel = 1,
               .init = n->init);
    x = batchnorm(n->b, x, a->bn);
    return relu(n->b, x, layer_name(n, a->bn, "act"));
}

/* The mean of the image, through a convolution, at every pixel. */
static struct tensor *image_pool(struct net *n, struct tensor *x, const char *p, int out)
{
    struct tensor *y = global_avgpool(n->b, x, layer_name(n, p, "0"));

    y = conv_bn(n, y, p, "1", "2", "3", .out = out, .kernel = 1);
    return resample(n->b, y, layer_name(n, p, "up"), .out_h = (int)x->dim[IMAGE_H],
                    .out_w = (int)x->dim[IMAGE_W]);
}

struct tensor *aspp_(struct net *n, struct tensor *x, const struct aspp_attrs *a)
{
    const char *convs = layer_name(n, a->prefix, "convs");
    const char *project = layer_name(n, a->prefix, "project");
    struct tensor *part[5];

    part[0] = conv_bn(n, x, layer_name(n, convs, "0"), "0", "1", "2", .out = a->out,
                      .kernel = 1);
    for (int i = 1; i <= 3; i++) {
        char *p = arena_printf(&n->b->g->arena, "%s.%d", convs, i);

        part[i] = a->separable
                      ? separable_bn(n, x, layer_name(n, p, "0"), layer_name(n, p, "1"),
                                     .out = a->out, .dilation = a->rates[i - 1])
                      : conv_bn(n, x, p, "0", "1", "2", .out = a->out, .kernel = 3,
                                .dilation = a->rates[i - 1]);
    }
    part[4] = image_pool(n, x, layer_name(n, convs, "4"), a->out);
    x = concat(n->b, part, 5, layer_name(n, a->prefix, "concat"));
    x = conv_bn(n, x, project, "0", "1", "2", .out = a->out, .kernel = 1);
    return dropout(n->b, x, layer_name(n, project, "3"), .rate = a->drop);
}
