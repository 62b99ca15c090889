#include "layers/family.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/strmap.h"
#include "config/dump.h"
#include "layers/op.h"
#include "models/stages.h"
#include "ops/batchnorm.h"
#include "ops/image.h"
#include "ops/table.h"

enum { TRY_BATCH = 2 };

struct described {
    struct model model;
    struct model_family family; /* its own: the task differs */
    struct layers_source source;
    struct arena mem;
    char *location; /* of the reason of the last check, allocated */
};

static struct strmap known; /* source as text -> struct described */

/* What a network is for images of one size. */
struct trial {
    bool ok, image, batchnorm;
    int64_t out, height; /* channels and rows of the output */
};

static struct trial try_build(const struct layers_source *s, int64_t classes,
                              int64_t channels, int64_t side)
{
    struct builder b = {.g = graph_new(&graph_ops_default, true)};
    const int64_t dim[] = {TRY_BATCH, channels, side, side};
    struct strbuf unused = STRBUF_INIT;
    struct trial t = {0};
    struct tensor *y;

    y = layers_build(&b, s, classes,
                     graph_input(&b, "images", DTYPE_F32, LAYOUT_IMAGE, 4, dim), &unused)
            .output;
    if (y)
        t = (struct trial){.ok = true,
                           .image = tensor_is_image(y),
                           .out = tensor_channels(y),
                           .height = tensor_is_image(y) ? y->dim[IMAGE_H] : 1};
    for (int i = 0; i < b.g->nnode; i++)
        t.batchnorm |= b.g->node[i]->op == &op_batchnorm;
    graph_free(b.g);
    strbuf_release(&unused);
    return t;
}

/* Sets what follows from the output: the task, and the classes if they are fixed. The
 * images' size is not known yet, so usual ones are tried. */
static void describe(struct described *d, int channels)
{
    static const int sides[] = {256, 224, 1024, 32, 8};
    struct trial t = {0}, other;
    int side = 0;

    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]) && !t.ok; i++) {
        side = sides[i];
        t = try_build(&d->source, 7, channels, side);
    }
    if (!t.ok)
        return;
    other = try_build(&d->source, 11, channels, side);
    d->model.classes = other.out == t.out ? (int)t.out : 0;
    d->family.layer_norm = !t.batchnorm;
    if (t.image && t.height > 1) {
        d->family.task = MODEL_SEGMENT;
        d->model.label_divisor = (int)(side / t.height);
    }
}

static const struct value *keep(struct arena *mem, const struct value *v)
{
    struct value *dst = arena_new(mem, sizeof(*dst));

    *dst = value_copy(mem, v);
    return dst;
}

static struct described *new_model(const struct layers_source *s, const char *name,
                                   int channels)
{
    struct described *d = xcalloc(1, sizeof(*d));

    d->source = (struct layers_source){
        .layers = keep(&d->mem, s->layers),
        .blocks = keep(&d->mem, s->blocks),
        .layers_origin =
            s->layers_origin ? arena_strdup(&d->mem, s->layers_origin) : NULL,
        .blocks_origin =
            s->blocks_origin ? arena_strdup(&d->mem, s->blocks_origin) : NULL,
    };
    d->family = layers_family;
    d->model = (struct model){.name = arena_strdup(&d->mem, name),
                              .family = &d->family,
                              .tags = "",
                              .label_divisor = 1,
                              .channels = channels,
                              .crop_pct = 0.875,
                              .mean = {0.485, 0.456, 0.406},
                              .std = {0.229, 0.224, 0.225},
                              .arch = d};
    describe(d, channels);
    return d;
}

const struct model *layers_model(const struct layers_source *s, const char *name,
                                 int channels)
{
    struct strbuf key = STRBUF_INIT;
    struct described *d;

    strbuf_addf(&key, "%s\n%d\n%s\n%s\n", name, channels,
                s->layers_origin ? s->layers_origin : "",
                s->blocks_origin ? s->blocks_origin : "");
    value_add_yaml(&key, s->layers);
    strbuf_addch(&key, '\n');
    value_add_yaml(&key, s->blocks);
    d = strmap_get(&known, key.buf);
    if (!d) {
        d = new_model(s, name, channels);
        strmap_put(&known, key.buf, d);
    }
    strbuf_release(&key);
    return &d->model;
}

static const struct model *find(const char *name, struct strbuf *why)
{
    (void)name;
    strbuf_addstr(why, "MODEL.TYPE layers needs MODEL.LAYERS, the layers of a network");
    return NULL;
}

/* Ends the only stage, for Grad-CAM and features. Returns true if the net ends with it. */
static bool end_stage(const struct model_options *o, const struct tensor *images,
                      struct tensor *features)
{
    int64_t reduction = features ? images->dim[IMAGE_H] / features->dim[IMAGE_H] : 1;

    return features &&
           model_stage(o, "features", reduction > 1 ? (int)reduction : 1, features);
}

static struct tensor *build(struct builder *b, const void *arch,
                            const struct model_options *o, struct tensor *x)
{
    const struct described *d = arch;
    struct strbuf why = STRBUF_INIT;
    struct layers_built built = layers_build(b, &d->source, o->classes, x, &why);

    if (!built.output)
        die("%s: %s", built.location, why.buf);
    strbuf_release(&why);
    return end_stage(o, x, built.features) ? NULL : built.output;
}

/* Appends what is wrong with the output, if anything is. */
static void check_output(const struct described *d, const struct layers_built *built,
                         int64_t classes, int height, int width, struct strbuf *why)
{
    const struct tensor *y = built->output;
    struct strbuf shape = STRBUF_INIT;
    bool image = tensor_is_image(y), segment = d->family.task == MODEL_SEGMENT;
    int64_t h = image ? y->dim[IMAGE_H] : 0, w = image ? y->dim[IMAGE_W] : 0;

    layer_add_shape(&shape, y);
    if (image && !segment)
        strbuf_addf(why, "layer '%s': the output of the network is %s: add a flatten",
                    built->last, shape.buf);
    else if (tensor_channels(y) != classes)
        strbuf_addf(why,
                    "layer '%s': the output of the network is %s, and there are %lld "
                    "classes: write num_classes for %lld",
                    built->last, shape.buf, (long long)classes,
                    (long long)tensor_channels(y));
    else if (segment &&
             (h < 1 || w < 1 || height % h || width % w || height / h != width / w))
        strbuf_addf(why,
                    "layer '%s': the output of the network is %s, and the sides of "
                    "images of %d x %d are no multiples of it",
                    built->last, shape.buf, width, height);
    strbuf_release(&shape);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    static const char *const keys[] = {"MODEL.LAYERS", NULL};
    struct described *d = (struct described *)(uintptr_t)m->arch;
    struct builder b = {.g = graph_new(&graph_ops_default, true)};
    const int64_t dim[] = {TRY_BATCH, m->channels, height, width};
    struct layers_built built =
        layers_build(&b, &d->source, o->classes,
                     graph_input(&b, "images", DTYPE_F32, LAYOUT_IMAGE, 4, dim), why);

    if (built.output)
        check_output(d, &built, o->classes, height, width, why);
    free(d->location);
    d->location = xstrdup(built.location);
    graph_free(b.g);
    return why->len ? keys : NULL;
}

static const char *blamed(const struct model *m)
{
    return ((const struct described *)m->arch)->location;
}

static const struct model models[] = {{.name = NULL}};
static const char *const reads[] = {"MODEL.NUM_CLASSES", NULL};

const struct model_family layers_family = {
    .type = "layers",
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = reads,
    .find = find,
    .build = build,
    .check = check,
    .blamed = blamed,
};
