#include "train/quantize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/strmap.h"
#include "graph/flat.h"
#include "ops/batchnorm.h"
#include "ops/conv2d.h"
#include "ops/qlayer.h"
#include "ops/quantize_formula.h"
#include "session/state.h"
#include "train/kept_meta.h"
#include "train/statedict.h"

/* The flat weights of both nets, and a map from names to segments of the new net. */
struct move {
    const float *src;
    float *dst;
    struct strmap segments; /* name -> segment */
};

static const float *old_at(const struct move *m, const struct tensor *t)
{
    return m->src + t->offset / sizeof(float);
}

static float *new_at(const struct move *m, const char *layer, const char *suffix)
{
    char *name = xasprintf("%s.%s", layer, suffix);
    const struct segment *s = strmap_get(&m->segments, name);

    if (!s)
        BUG("no parameter %s", name);
    free(name);
    return m->dst + s->offset;
}

/* Computes the scale and shift that batch norm applies to channel o; 1 and 0 if `bn` is
 * NULL. */
static void norm_of(const struct move *m, const struct node *bn, int64_t o, double *scale,
                    double *shift)
{
    const struct batchnorm_attrs *a = bn ? bn->attrs : NULL;

    *scale = 1;
    *shift = 0;
    if (!bn)
        return;
    *scale = (double)old_at(m, bn->in[BATCHNORM_WEIGHT])[o] /
             sqrt((double)old_at(m, bn->in[BATCHNORM_INFERENCE_VAR])[o] + (double)a->eps);
    *shift = (double)old_at(m, bn->in[BATCHNORM_BIAS])[o] -
             (double)old_at(m, bn->in[BATCHNORM_INFERENCE_MEAN])[o] * *scale;
}

/* Folds batch norm into a layer and quantizes its weight per output channel. The channel
 * is the first dimension in memory, so the order of the others does not matter. */
static void move_layer(const struct move *m, const struct quantized_layer *l)
{
    const struct node *n = l->node;
    const struct tensor *w = n->in[CONV2D_WEIGHT];
    const struct tensor *b = n->nin > CONV2D_BIAS ? n->in[CONV2D_BIAS] : NULL;
    int64_t inner = tensor_len(w) / w->dim[0];
    float *quantized = new_at(m, n->layer, QLAYER_WEIGHT_NAME);
    float *scale = new_at(m, n->layer, QLAYER_WEIGHT_SCALE_NAME);
    float *bias = l->bn ? new_at(m, n->layer, "bias") : NULL;

    for (int64_t o = 0; o < w->dim[0]; o++) {
        const float *src = old_at(m, w) + o * inner;
        double f, shift, max_abs = 0;

        norm_of(m, l->bn, o, &f, &shift);
        for (int64_t i = 0; i < inner; i++)
            max_abs = fmax(max_abs, fabs((double)src[i] * f));
        scale[o] = max_abs > 0 ? (float)(max_abs / QUANTIZE_MAX_I8) : 1;
        for (int64_t i = 0; i < inner; i++)
            quantized[o * inner + i] = quantize_element(
                (float)((double)src[i] * f), scale[o], -QUANTIZE_MAX_I8, QUANTIZE_MAX_I8);
        if (bias)
            bias[o] = (float)((b ? (double)old_at(m, b)[o] : 0) * f + shift);
    }
}

/* Copies the tensors that both nets have. */
static void move_same(const struct move *m, const struct flat *src)
{
    for (int i = 0; i < src->nsegment; i++) {
        const struct segment *s = &src->segment[i];
        const struct segment *dst = strmap_get(&m->segments, s->tensor->name);

        if (dst && dst->len == s->len)
            memcpy(m->dst + dst->offset, m->src + s->offset,
                   (size_t)s->len * sizeof(float));
    }
}

void quantize_weights(struct session *dst, const struct session *src,
                      const struct quantized_layer *list, int n, const double *input)
{
    const struct flat *f = session_flat(dst);
    float *old = xmalloc((size_t)session_flat(src)->weights_len * sizeof(*old));
    struct move m = {.src = old, .dst = xcalloc((size_t)f->weights_len, sizeof(*m.dst))};

    session_get(src, MEMORY_WEIGHTS, old);
    for (int i = 0; i < f->nsegment; i++)
        strmap_put(&m.segments, f->segment[i].tensor->name, &f->segment[i]);
    move_same(&m, session_flat(src));
    for (int i = 0; i < n; i++) {
        move_layer(&m, &list[i]);
        *new_at(&m, list[i].scale_of, QLAYER_INPUT_SCALE_NAME) = (float)input[i];
    }
    session_set(dst, MEMORY_WEIGHTS, m.dst);
    session_refresh(dst);
    strmap_release(&m.segments);
    free(m.dst);
    free(old);
}

int quantize_write(const struct session *s, const char *path, const char *config,
                   const char *classes, struct strbuf *why)
{
    const struct flat *f = session_flat(s);
    float *flat = xmalloc((size_t)f->weights_len * sizeof(*flat));
    char **data = xcalloc((size_t)f->nsegment, sizeof(*data));
    struct safetensors_writer out = {0};
    int rc;

    session_get(s, MEMORY_WEIGHTS, flat);
    for (int i = 0; i < f->nsegment; i++) {
        const struct tensor *t = f->segment[i].tensor;
        struct statedict_shape shape = statedict_shape(t);

        data[i] = xmalloc(statedict_size(t));
        statedict_pack(&f->segment[i], flat, data[i]);
        safetensors_writer_add(&out, t->name, shape.dtype, shape.ndim, shape.dims,
                               data[i]);
    }
    safetensors_writer_meta(&out, "trainc_config", config);
    safetensors_writer_meta(&out, "format", "pt");
    if (classes)
        safetensors_writer_meta(&out, "classes", classes);
    kept_meta_add_graphs(&out, s->plan.model);
    rc = safetensors_writer_commit(&out, path, why);
    safetensors_writer_release(&out);
    for (int i = 0; i < f->nsegment; i++)
        free(data[i]);
    free(data);
    free(flat);
    return rc;
}

void quantize_check_file(const struct weights_file *f, bool enable)
{
    bool has = false;

    for (size_t i = 0; i < f->n && !has; i++)
        has = strstr(f->tensor[i].name, "." QLAYER_WEIGHT_NAME) != NULL;
    if (has && !enable)
        die("'%s' is an 8-bit model, which cannot be trained or loaded into a "
            "floating-point model: evaluate it without --cfg or with QUANT.ENABLE True",
            f->path);
    if (enable && !has)
        die("'%s' is a floating-point model, but QUANT.ENABLE is True: convert it with "
            "trainc quantize",
            f->path);
}
