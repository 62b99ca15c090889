/* The pools and the interpolation of MODEL.LAYERS. */
#include <math.h>
#include <string.h>

#include "layers/op.h"
#include "ops/avgpool2d.h"
#include "ops/global_avgpool.h"
#include "ops/image.h"
#include "ops/maxpool2d.h"
#include "ops/resample.h"
#include "ops/window.h"

/* Reads the windows of both pools. Returns false if they are refused. */
static bool read_windows(struct layer_call *c, struct pool2d_attrs *a)
{
    const struct tensor *x = c->in[0];
    const int *kernel = layer_pair(c, "kernel_size"), *pad = layer_pair(c, "padding"),
              *stride = layer_given(c, "stride") ? layer_pair(c, "stride") : kernel;

    *a = (struct pool2d_attrs){.layer = c->layer,
                               .kernel_h = kernel[0],
                               .kernel_w = kernel[1],
                               .stride_h = stride[0],
                               .stride_w = stride[1],
                               .pad_h = pad[0],
                               .pad_w = pad[1],
                               .ceil_mode = layer_int(c, "ceil_mode")};
    for (int i = 0; i < 2; i++)
        if (pad[i] > kernel[i] / 2)
            layer_refuse(c, "padding %d is more than half of the window, which is %d",
                         pad[i], kernel[i]);
    return layer_wants_image(c, x) &&
           layer_wants_size(c,
                            window_count(x->dim[IMAGE_H], kernel[0], stride[0], pad[0], 1,
                                         a->ceil_mode),
                            window_count(x->dim[IMAGE_W], kernel[1], stride[1], pad[1], 1,
                                         a->ceil_mode));
}

struct tensor *layer_maxpool2d(struct layer_call *c)
{
    struct pool2d_attrs a;

    return read_windows(c, &a) ? maxpool2d_(c->b, c->in[0], &a) : NULL;
}

struct tensor *layer_avgpool2d(struct layer_call *c)
{
    struct pool2d_attrs a;

    if (!read_windows(c, &a))
        return NULL;
    a.count_include_pad = layer_int(c, "count_include_pad") && (a.pad_h || a.pad_w);
    return avgpool2d_(c->b, c->in[0], &a);
}

struct tensor *layer_global_avgpool(struct layer_call *c)
{
    return layer_wants_image(c, c->in[0]) ? global_avgpool(c->b, c->in[0], c->layer)
                                          : NULL;
}

struct tensor *layer_adaptive_avgpool2d(struct layer_call *c)
{
    const int *out = layer_pair(c, "output_size");
    struct tensor *x = c->in[0];

    if (!layer_wants_image(c, x))
        return NULL;
    if (out[0] == x->dim[IMAGE_H] && out[1] == x->dim[IMAGE_W])
        return x;
    if (out[0] == 1 && out[1] == 1)
        return global_avgpool(c->b, x, c->layer);
    return avgpool2d(c->b, x, c->layer, .out_h = out[0], .out_w = out[1]);
}

struct tensor *layer_adaptive_maxpool2d(struct layer_call *c)
{
    const int *out = layer_pair(c, "output_size");

    if (!layer_wants_image(c, c->in[0]))
        return NULL;
    return maxpool2d(c->b, c->in[0], c->layer, .out_h = out[0], .out_w = out[1]);
}

static enum resample_mode mode_of(const char *word)
{
    return !strcmp(word, "nearest")    ? RESAMPLE_NEAREST
           : !strcmp(word, "bilinear") ? RESAMPLE_BILINEAR
                                       : RESAMPLE_BICUBIC;
}

/* Sets the size of the result: of the second input, size, or a factor of the input's. */
static bool read_size(struct layer_call *c, struct resample_attrs *a)
{
    const struct tensor *x = c->in[0];
    bool scaled = layer_given(c, "scale_factor"), sized = layer_given(c, "size");
    double factor = layer_float(c, "scale_factor");
    int64_t dst[2];

    if (scaled + sized + (c->nin > 1) != 1) {
        layer_refuse(c, "upsample needs one of scale_factor, size, and a second input");
        return false;
    }
    for (int i = 0; i < 2; i++)
        dst[i] = sized         ? layer_pair(c, "size")[i]
                 : c->nin == 1 ? (int64_t)floor((double)x->dim[IMAGE_H + i] * factor)
                               : c->in[1]->dim[IMAGE_H + i];
    if (scaled)
        a->scale_h = a->scale_w = (float)factor;
    if (!layer_wants_size(c, dst[0], dst[1]))
        return false;
    a->out_h = (int)dst[0];
    a->out_w = (int)dst[1];
    return true;
}

struct tensor *layer_upsample(struct layer_call *c)
{
    struct resample_attrs a = {.layer = c->layer,
                               .mode = (int)mode_of(layer_word(c, "mode")),
                               .align_corners = layer_int(c, "align_corners")};

    for (int i = 0; i < c->nin; i++)
        if (!layer_wants_image(c, c->in[i]))
            return NULL;
    if (a.align_corners && a.mode == RESAMPLE_NEAREST)
        return layer_refuse(c, "align_corners is for mode bilinear and bicubic");
    return read_size(c, &a) ? resample_(c->b, c->in[0], &a) : NULL;
}
