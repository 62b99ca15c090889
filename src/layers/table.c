/* The ops of MODEL.LAYERS, one row each. */
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "layers/op.h"
#include "ops/activation.h"

#define RANGE(a, b) .min = (a), .max = (b)
#define ABOVE(a, b) .min = (a), .max = (b), .above = true
#define CHANNELS    RANGE(1, 1 << 20)
#define SIDE        RANGE(1, 1024)

static const char *const same[] = {"same", "valid", NULL};
static const char *const modes[] = {"nearest", "bilinear", "bicubic", NULL};
static const char *const approximations[] = {"none", "tanh", NULL};
static const char *const cross_channel[] = {"relu", "silu", "gelu", "hardswish", NULL};
static const char *const gates[] = {"sigmoid", "hardsigmoid", NULL};

/* clang-format off */
static const struct layer_arg conv2d[] = {
    {"out_channels", LAYER_INT, CHANNELS, .help = "output channels"},
    {"kernel_size", LAYER_PAIR, SIDE, .help = "size of the kernel"},
    {"stride", LAYER_PAIR, .def = "1", SIDE, .help = "pixels between windows"},
    {"padding", LAYER_PAIR, .def = "0", RANGE(0, 1024), .words = same, .help = "zeros on each side; same: the output has the input's size"},
    {"dilation", LAYER_PAIR, .def = "1", SIDE, .help = "pixels between the kernel's elements"},
    {"groups", LAYER_INT, .def = "1", CHANNELS, .help = "groups of channels; in_channels: depthwise"},
    {"bias", LAYER_BOOL, .def = "True", .help = "with a bias"},
    {0},
};

static const struct layer_arg conv_transpose2d[] = {
    {"out_channels", LAYER_INT, CHANNELS, .help = "output channels"},
    {"kernel_size", LAYER_INT, SIDE, .help = "side of the kernel"},
    {"stride", LAYER_INT, .def = "1", SIDE, .help = "factor of the size"},
    {"padding", LAYER_INT, .def = "0", RANGE(0, 1024), .help = "pixels cut off on each side, as in PyTorch"},
    {"output_padding", LAYER_INT, .def = "0", RANGE(0, 1024), .help = "pixels added at the end, below stride"},
    {"bias", LAYER_BOOL, .def = "True", .help = "with a bias"},
    {0},
};

static const struct layer_arg linear[] = {
    {"out_features", LAYER_INT, CHANNELS, .help = "output features"},
    {"bias", LAYER_BOOL, .def = "True", .help = "with a bias"},
    {0},
};

static const struct layer_arg batchnorm[] = {
    {"eps", LAYER_FLOAT, .def = "1e-5", RANGE(1e-12, 1), .help = "added to the variance"},
    {"momentum", LAYER_FLOAT, .def = "0.1", ABOVE(0, 1), .help = "weight of the new batch in the running statistics"},
    {0},
};

static const struct layer_arg groupnorm[] = {
    {"num_groups", LAYER_INT, CHANNELS, .help = "groups of channels"},
    {"eps", LAYER_FLOAT, .def = "1e-5", RANGE(1e-12, 1), .help = "added to the variance"},
    {0},
};

static const struct layer_arg layernorm[] = {
    {"eps", LAYER_FLOAT, .def = "1e-5", RANGE(1e-12, 1), .help = "added to the variance"},
    {"elementwise_affine", LAYER_BOOL, .def = "True", .help = "with weight and bias"},
    {0},
};

static const struct layer_arg layernorm2d[] = {
    {"eps", LAYER_FLOAT, .def = "1e-6", RANGE(1e-12, 1), .help = "added to the variance"},
    {0},
};

static const struct layer_arg maxpool2d[] = {
    {"kernel_size", LAYER_PAIR, SIDE, .help = "size of the window"},
    {"stride", LAYER_PAIR, .optional = true, SIDE, .help = "pixels between windows; default: kernel_size"},
    {"padding", LAYER_PAIR, .def = "0", RANGE(0, 512), .help = "pixels on each side, at most half of the window"},
    {"ceil_mode", LAYER_BOOL, .def = "False", .help = "the last window may extend beyond the image"},
    {0},
};

static const struct layer_arg avgpool2d[] = {
    {"kernel_size", LAYER_PAIR, SIDE, .help = "size of the window"},
    {"stride", LAYER_PAIR, .optional = true, SIDE, .help = "pixels between windows; default: kernel_size"},
    {"padding", LAYER_PAIR, .def = "0", RANGE(0, 512), .help = "zeros on each side, at most half of the window"},
    {"ceil_mode", LAYER_BOOL, .def = "False", .help = "the last window may extend beyond the image"},
    {"count_include_pad", LAYER_BOOL, .def = "True", .help = "the mean counts the padding"},
    {0},
};

static const struct layer_arg adaptive[] = {
    {"output_size", LAYER_PAIR, SIDE, .help = "size of the result"},
    {0},
};

static const struct layer_arg upsample[] = {
    {"scale_factor", LAYER_FLOAT, .optional = true, ABOVE(0, 1024), .help = "factor of the size"},
    {"size", LAYER_PAIR, .optional = true, RANGE(1, 65536), .help = "size of the result, instead of a factor"},
    {"mode", LAYER_WORD, .def = "nearest", .words = modes, .help = "interpolation"},
    {"align_corners", LAYER_BOOL, .def = "False", .help = "corner pixels stay corners (bilinear, bicubic)"},
    {0},
};

static const struct layer_arg dropout[] = {
    {"p", LAYER_FLOAT, .def = "0.5", RANGE(0, 0.999), .help = "probability"},
    {0},
};

static const struct layer_arg drop_path[] = {
    {"p", LAYER_FLOAT, RANGE(0, 0.999), .help = "probability"},
    {0},
};

static const struct layer_arg squeeze_excite[] = {
    {"squeeze_channels", LAYER_INT, CHANNELS, .help = "channels between the two layers"},
    {"activation", LAYER_WORD, .def = "relu", .words = cross_channel, .help = "after fc1"},
    {"scale_activation", LAYER_WORD, .def = "sigmoid", .words = gates, .help = "after fc2"},
    {0},
};

static const struct layer_arg leaky_relu[] = {
    {"negative_slope", LAYER_FLOAT, .def = "0.01", ABOVE(0, 1000), .help = "slope below 0"},
    {0},
};

static const struct layer_arg elu[] = {
    {"alpha", LAYER_FLOAT, .def = "1", ABOVE(0, 1000), .help = "the negative limit"},
    {0},
};

static const struct layer_arg gelu[] = {
    {"approximate", LAYER_WORD, .def = "none", .words = approximations, .help = "tanh: its approximation"},
    {0},
};

static const struct layer_op rows[] = {
    {"conv2d", "nn.Conv2d", "convolution", 1, 1, conv2d, layer_conv2d},
    {"conv_transpose2d", "nn.ConvTranspose2d", "transposed convolution", 1, 1, conv_transpose2d, layer_conv_transpose2d},
    {"linear", "nn.Linear", "fully connected layer, of [N, features]", 1, 1, linear, layer_linear},
    {"batchnorm", "nn.BatchNorm2d", "batch norm, of images or [N, features]", 1, 1, batchnorm, layer_batchnorm},
    {"groupnorm", "nn.GroupNorm", "group norm, of images", 1, 1, groupnorm, layer_groupnorm},
    {"layernorm", "nn.LayerNorm", "layer norm, of [N, features]", 1, 1, layernorm, layer_layernorm},
    {"layernorm2d", "timm's LayerNorm2d", "layer norm over the channels of each pixel", 1, 1, layernorm2d, layer_layernorm2d},
    {"maxpool2d", "nn.MaxPool2d", "maximum over windows", 1, 1, maxpool2d, layer_maxpool2d},
    {"avgpool2d", "nn.AvgPool2d", "mean over windows", 1, 1, avgpool2d, layer_avgpool2d},
    {"adaptive_avgpool2d", "nn.AdaptiveAvgPool2d", "means, to a given size", 1, 1, adaptive, layer_adaptive_avgpool2d},
    {"adaptive_maxpool2d", "nn.AdaptiveMaxPool2d", "maxima, to a given size", 1, 1, adaptive, layer_adaptive_maxpool2d},
    {"global_avgpool", "nn.AdaptiveAvgPool2d(1)", "mean over all pixels, to [N, C, 1, 1]", 1, 1, NULL, layer_global_avgpool},
    {"upsample", "nn.Upsample", "interpolation; with two inputs, to the size of the second", 1, 2, upsample, layer_upsample},
    {"flatten", "nn.Flatten", "an image as [N, C * H * W]", 1, 1, NULL, layer_flatten},
    {"dropout", "nn.Dropout", "zeroes elements in training", 1, 1, dropout, layer_dropout},
    {"dropout2d", "nn.Dropout2d", "zeroes channels in training", 1, 1, dropout, layer_dropout2d},
    {"drop_path", "timm's DropPath", "zeroes whole images in training, at the end of a residual branch", 1, 1, drop_path, layer_drop_path},
    {"squeeze_excite", "torchvision's SqueezeExcitation", "scales channels by a gate; layers fc1 and fc2", 1, 1, squeeze_excite, layer_squeeze_excite},
    {"concat", "torch.cat(..., 1)", "joins the channels or features of its inputs", 2, LAYER_INPUTS, NULL, layer_concat},
    {"add", "+", "sum of its inputs, which have one shape", 2, LAYER_INPUTS, NULL, layer_add},
    {"mul", "*", "product of two inputs; one may be [N, C, 1, 1] or [N, 1, H, W]", 2, 2, NULL, layer_mul},
    {"identity", "nn.Identity", "its input, under another name", 1, 1, NULL, layer_identity},
    {"relu6", "nn.ReLU6", "activation", 1, 1, NULL, layer_activation},
    {"leaky_relu", "nn.LeakyReLU", "activation", 1, 1, leaky_relu, layer_activation},
    {"elu", "nn.ELU", "activation", 1, 1, elu, layer_activation},
    {"gelu", "nn.GELU", "activation", 1, 1, gelu, layer_activation},
};
/* clang-format on */

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const struct layer_op *row_named(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

/* An activation without arguments. */
static struct layer_op plain_activation(const char *name)
{
    return (struct layer_op){.name = name,
                             .torch = name,
                             .help = "activation",
                             .min_in = 1,
                             .max_in = 1,
                             .build = layer_activation};
}

/* True for an activation that an argument of another one selects: gelu_tanh. */
static bool is_variant(const char *name)
{
    const char *tail = strrchr(name, '_');
    char base[16];

    if (!tail || (size_t)(tail - name) >= sizeof(base))
        return false;
    memcpy(base, name, (size_t)(tail - name));
    base[tail - name] = '\0';
    return row_named(base) != NULL;
}

struct layer_op layer_op_at(int i)
{
    if (i < ROWS)
        return rows[i];
    for (const struct activation *a = activations; a->name; a++)
        if (!row_named(a->name) && !is_variant(a->name) && i-- == ROWS)
            return plain_activation(a->name);
    return (struct layer_op){0};
}

/* True if the text is the class of the op in PyTorch, with or without its module. */
static bool is_class(const struct layer_op *op, const char *text)
{
    const char *dot = strrchr(op->torch, '.'), *last = strrchr(text, '.');

    return dot && !strcmp(dot + 1, last ? last + 1 : text);
}

bool layer_op_find(const char *name, struct layer_op *op, struct strbuf *why)
{
    struct suggest s;
    const char *class = NULL;

    suggest_init(&s, name);
    for (int i = 0; (*op = layer_op_at(i)).name; i++) {
        if (!strcmp(op->name, name))
            return true;
        if (is_class(op, name))
            class = op->name;
        suggest_try(&s, op->name);
    }
    if (class || s.best)
        strbuf_addf(why, " (did you mean %s?)", class ? class : s.best);
    return false;
}

void layer_arg_add_type(struct strbuf *s, const struct layer_arg *a)
{
    static const char *const name[] = {"int", "int or [rows, columns]", "float", "bool",
                                       ""};
    bool first = true;

    strbuf_addstr(s, name[a->type]);
    for (int i = 0; a->words && a->words[i]; i++) {
        strbuf_addf(s, "%s%s", *name[a->type] || !first ? ", " : "", a->words[i]);
        first = false;
    }
    if (!(a->min < a->max))
        return;
    if (a->max >= 1024 && a->type != LAYER_FLOAT)
        strbuf_addf(s, ", at least %.6g", a->min);
    else
        strbuf_addf(s, " in %c%.6g, %.6g]", a->above ? '(' : '[', a->min, a->max);
}
