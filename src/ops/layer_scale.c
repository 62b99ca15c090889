#include "ops/layer_scale.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

static const struct attr layer_scale_attr_table[] = {
    ATTR_FLOAT(struct layer_scale_attrs, init, -1e4, 1e4, "all factors start so"),
    {0},
};

struct tensor *layer_scale_gamma(struct builder *b, const char *layer, int64_t channels,
                                 float init)
{
    return graph_param(b, layer, "gamma", LAYOUT_PLAIN, 1, &channels,
                       (struct init){INIT_CONSTANT, init});
}

struct tensor *layer_scale_(struct builder *b, struct tensor *x,
                            const struct layer_scale_attrs *a)
{
    struct layer_scale_attrs r = *a;
    struct tensor *in[] = {[LAYER_SCALE_X] = x, [LAYER_SCALE_GAMMA] = r.gamma};

    if (r.init == 0)
        r.init = 1e-5f;
    if (!r.gamma)
        in[LAYER_SCALE_GAMMA] = layer_scale_gamma(b, r.layer, tensor_channels(x), r.init);
    r.gamma = NULL;
    return node(b, &op_layer_scale, r.layer, &r, in, 2);
}

static const char *layer_scale_shape(struct node *n)
{
    const struct tensor *x = n->in[LAYER_SCALE_X];

    if (!tensor_is_vector(n->in[LAYER_SCALE_GAMMA], tensor_channels(x)))
        return "gamma needs one number for each channel";
    tensor_like(n->out[0], x);
    return NULL;
}

static void layer_scale_grad(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[LAYER_SCALE_X], *gamma = n->in[LAYER_SCALE_GAMMA];
    struct tensor *dy = grad_of(b, n->out[0]);
    struct tensor *for_x[] = {[LAYER_SCALE_X] = dy, [LAYER_SCALE_GAMMA] = gamma};
    struct tensor *for_gamma[] = {
        [LAYER_SCALE_GAMMA_GRAD_X] = x, [LAYER_SCALE_GAMMA_GRAD_DY] = dy};

    if (grad_wanted(gamma))
        grad_add(b, gamma,
                 node(b, &op_layer_scale_gamma_grad, n->layer, n->attrs, for_gamma, 2));
    if (grad_wanted(x))
        grad_add(b, x, node(b, &op_layer_scale, n->layer, n->attrs, for_x, 2));
}

static int64_t layer_scale_flops(const struct node *n)
{
    return tensor_len(n->out[0]);
}

static void layer_scale_ref(const struct step *s)
{
    const float *x = s->in[LAYER_SCALE_X], *gamma = s->in[LAYER_SCALE_GAMMA];
    float *y = s->out[0];
    int64_t channels = tensor_channels(s->node->out[0]);

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++)
        y[i] = x[i] * gamma[i % channels];
}

const struct op op_layer_scale = {
    .name = "layer_scale",
    .attrs = layer_scale_attr_table,
    .attrs_size = sizeof(struct layer_scale_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .f32_in = 1u << LAYER_SCALE_GAMMA,
    .shape = layer_scale_shape,
    .grad = layer_scale_grad,
    .flops = layer_scale_flops,
    .ref = layer_scale_ref,
};

static const char *layer_scale_gamma_grad_shape(struct node *n)
{
    const struct tensor *x = n->in[LAYER_SCALE_GAMMA_GRAD_X];
    int64_t c = tensor_channels(x);

    if (!tensor_same(x, n->in[LAYER_SCALE_GAMMA_GRAD_DY]))
        return "x and dy differ";
    tensor_plain(n->out[0], DTYPE_F32, 1, &c);
    return NULL;
}

static int64_t layer_scale_gamma_grad_flops(const struct node *n)
{
    return 2 * tensor_len(n->in[LAYER_SCALE_GAMMA_GRAD_X]);
}

static void layer_scale_gamma_grad_ref(const struct step *s)
{
    const float *x = s->in[LAYER_SCALE_GAMMA_GRAD_X];
    const float *dy = s->in[LAYER_SCALE_GAMMA_GRAD_DY];
    float *dgamma = s->out[0];
    int64_t channels = tensor_len(s->node->out[0]);

    for (int64_t c = 0; c < channels; c++) {
        double sum = 0;

        for (int64_t i = c; i < tensor_len(s->node->in[LAYER_SCALE_GAMMA_GRAD_X]);
             i += channels)
            sum += (double)x[i] * dy[i];
        dgamma[c] = (float)sum;
    }
}

const struct op op_layer_scale_gamma_grad = {
    .name = "layer_scale_gamma_grad",
    .attrs = layer_scale_attr_table,
    .attrs_size = sizeof(struct layer_scale_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .f32_out = 1u << 0,
    .shape = layer_scale_gamma_grad_shape,
    .flops = layer_scale_gamma_grad_flops,
    .ref = layer_scale_gamma_grad_ref,
};
