#include "train/remake.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "models/imagenet22k.h"
#include "ops/image.h"
#include "train/statedict.h"
#include "train/weight_grid.h"

enum { RGB = 3 };

static const struct model_grid *grid_of(const struct model_family *f, const char *name)
{
    const struct model_grid *g = f->grids;
    size_t len = strlen(name);

    for (; g && g->end; g++)
        if (len >= strlen(g->end) && !strcmp(name + len - strlen(g->end), g->end))
            return g;
    return NULL;
}

/* True if the file's grid differs only in its side; dims: [..., rows, channels]. */
static bool grid_takes(const struct model_family *f, bool head, const struct tensor *t,
                       const struct safetensors_tensor *file)
{
    int n = t->ndim;
    struct weight_grid source, target;

    (void)head;
    if (!grid_of(f, t->name) || t->layout == LAYOUT_IMAGE || n < 2 || file->ndim != n ||
        file->dims[n - 1] != t->dim[n - 1])
        return false;
    for (int i = 0; i < n - 2; i++)
        if (file->dims[i] != 1 || t->dim[i] != 1)
            return false;
    source = weight_grid_of(file->dims[n - 2]);
    target = weight_grid_of(t->dim[n - 2]);
    return source.tokens == target.tokens && source.side > 0;
}

static void grid_make(const struct model_family *f, const struct tensor *t,
                      const float *src, const int64_t *dims, bool microsoft, float *dst)
{
    const struct model_grid *g = grid_of(f, t->name);
    struct weight_grid source = weight_grid_of(dims[t->ndim - 2]),
                       target = weight_grid_of(t->dim[t->ndim - 2]);

    source.suffix = target.suffix = g->suffix;
    weight_grid_resize(src, source, dst, target, t->dim[t->ndim - 1],
                       microsoft ? g->microsoft : g->timm);
}

/* True if all dimensions except the i-th are equal. */
static bool same_but(const struct tensor *t, const struct safetensors_tensor *file, int i)
{
    if (file->ndim != t->ndim)
        return false;
    for (int k = 0; k < t->ndim; k++)
        if (k != i && file->dims[k] != t->dim[k])
            return false;
    return true;
}

/* True if the file has a classifier of ImageNet-22k and the model one of ImageNet-1k. */
static bool rows_take(const struct model_family *f, bool head, const struct tensor *t,
                      const struct safetensors_tensor *file)
{
    return f->imagenet22k && head && t->layout != LAYOUT_IMAGE && same_but(t, file, 0) &&
           file->dims[0] == IMAGENET_22K && t->dim[0] == IMAGENET_1K;
}

static void rows_make(const struct model_family *f, const struct tensor *t,
                      const float *src, const int64_t *dims, bool microsoft, float *dst)
{
    int64_t len = tensor_len(t) / IMAGENET_1K;

    (void)f;
    (void)dims;
    (void)microsoft;
    for (int i = 0; i < IMAGENET_1K; i++)
        memcpy(dst + i * len, src + imagenet22k_rows[i] * len,
               (size_t)len * sizeof(*dst));
}

/* True for the first convolution of a net, which has three input channels in the file. */
static bool is_first(const struct tensor *t, const struct safetensors_tensor *file)
{
    return t->layout == LAYOUT_IMAGE && t->ndim == 4 && same_but(t, file, WEIGHT_I) &&
           file->dims[WEIGHT_I] == RGB;
}

static bool gray_takes(const struct model_family *f, bool head, const struct tensor *t,
                       const struct safetensors_tensor *file)
{
    (void)f;
    (void)head;
    return is_first(t, file) && t->dim[WEIGHT_I] == 1;
}

static bool bands_take(const struct model_family *f, bool head, const struct tensor *t,
                       const struct safetensors_tensor *file)
{
    (void)f;
    (void)head;
    return is_first(t, file);
}

void remake_channels(const float *src, int64_t n, int64_t channels, float *dst)
{
    float scale = RGB / (float)channels;

    for (int64_t i = 0; i < n; i++, src += RGB, dst += channels) {
        if (channels == 1)
            *dst = src[0] + src[1] + src[2];
        for (int64_t c = 0; c < channels && channels > 1; c++)
            dst[c] = src[c % RGB] * scale;
    }
}

static void first_make(const struct model_family *f, const struct tensor *t,
                       const float *src, const int64_t *dims, bool microsoft, float *dst)
{
    int64_t channels = t->dim[WEIGHT_I];

    (void)f;
    (void)dims;
    (void)microsoft;
    remake_channels(src, tensor_len(t) / channels, channels, dst);
}

static const struct remake remakes[] = {
    {": resized", true, grid_takes, grid_make},
    {": the rows of ImageNet-1k", false, rows_take, rows_make},
    {": for gray images, summed over R, G, and B", true, gray_takes, first_make},
    {": for other channel counts, R, G, and B in turn, times 3 / channels", true,
     bands_take, first_make},
};

const struct remake *remake_find(const struct model_family *f, bool head,
                                 const struct tensor *t,
                                 const struct safetensors_tensor *file)
{
    for (size_t i = 0; i < sizeof(remakes) / sizeof(remakes[0]); i++)
        if (remakes[i].takes(f, head, t, file))
            return &remakes[i];
    return NULL;
}

bool remake_load(const struct remake *r, const struct model_family *f,
                 const struct segment *seg, float *flat,
                 const struct safetensors_tensor *file, const void *packed,
                 bool microsoft)
{
    struct tensor shape = *seg->tensor;
    struct segment source = {.tensor = &shape};
    float *src;
    bool ok;

    memcpy(shape.dim, file->dims, (size_t)shape.ndim * sizeof(*shape.dim));
    source.len = tensor_len(&shape);
    src = xcalloc((size_t)source.len, sizeof(*src));
    ok = statedict_unpack(&source, src, packed, file->dtype);
    if (ok)
        r->make(f, seg->tensor, src, file->dims, microsoft, flat + seg->offset);
    free(src);
    return ok;
}
