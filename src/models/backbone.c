#include "models/backbone.h"

#include <string.h>

#include "base/error.h"
#include "ops/view.h"

const struct model *backbone_of(const struct model *m, const struct model_options *o,
                                struct strbuf *why)
{
    const char *name = o->backbone && *o->backbone ? o->backbone : m->backbone;
    const struct model_family *f;
    const struct model *found;

    if (!m->backbone)
        return NULL;
    f = model_family_of(name);
    found = model_find(f ? f->type : m->family->type, name, why);
    if (found && found->graph) {
        strbuf_addf(why, "'%s' is an exported network: its stages are unknown", name);
        return NULL;
    }
    if (found && found->family->task != MODEL_CLASSIFY) {
        strbuf_addf(why, "%s is no classifier, so it is no backbone", found->name);
        return NULL;
    }
    return found;
}

bool backbone_dilates(const struct model *m)
{
    for (int i = 0; m->family->reads[i]; i++)
        if (!strcmp(m->family->reads[i], "MODEL.OUTPUT_STRIDE"))
            return true;
    return false;
}

void backbone_build(struct builder *b, const struct model *m,
                    const struct model_options *o, struct tensor *x, struct backbone *k)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *src = backbone_of(m, o, &why);
    struct model_options options = {.classes = 1,
                                    .drop_path = o->drop_path,
                                    .init = o->init,
                                    .output_stride = o->output_stride,
                                    .dilates_first = o->dilates_first,
                                    .aux_weight = {.has = true},
                                    .branches_start_at_one = true,
                                    .smp_stages =
                                        !strcmp(m->backbone_prefix, "encoder.")};
    const char *before = b->part_prefix;

    if (!src)
        BUG("%s: %s", m->name, why.buf);
    model_stages_list(src, &options, (int)x->dim[1], (int)x->dim[2], (int)x->dim[3],
                      &k->stages);
    k->m = m;
    k->classifier = src;
    k->stages = (struct model_stages){.last = k->stages.n - 1};
    options.stages = &k->stages;
    b->part_prefix = m->backbone_prefix;
    (void)model_build(b, src, &options, x);
    b->part_prefix = before;
    strbuf_release(&why);
}

/* Returns a stage as an image. */
static struct tensor *image_of(struct builder *b, const struct backbone *k, int i)
{
    const struct model_stage *s = &k->stages.stage[i];
    const char *name =
        arena_printf(&b->g->arena, "%s%s.image", k->m->backbone_prefix, s->name);

    if (s->x->ndim != 4)
        usage("--backbone: the stages of %s are rows of tokens, but %s needs maps",
              k->classifier->name, k->m->name);
    return s->channels_last ? view_image(b, s->x, name) : s->x;
}

struct tensor *backbone_map(struct builder *b, const struct backbone *k, int reduction)
{
    for (int i = k->stages.n; i-- > 0;)
        if (k->stages.stage[i].reduction == reduction)
            return image_of(b, k, i);
    return NULL;
}

struct tensor *backbone_map_needed(struct builder *b, const struct backbone *k,
                                   int reduction)
{
    struct tensor *map = backbone_map(b, k, reduction);

    if (!map)
        usage("--backbone: %s has no map of 1/%d of the image, which %s needs",
              k->classifier->name, reduction, k->m->name);
    return map;
}

struct tensor *backbone_last(struct builder *b, const struct backbone *k)
{
    return image_of(b, k, k->stages.n - 1);
}

struct tensor *backbone_before_last(struct builder *b, const struct backbone *k)
{
    return image_of(b, k, k->stages.n - 2);
}

const char *backbone_name(const struct model *m, const char *name)
{
    size_t len = m->backbone_prefix ? strlen(m->backbone_prefix) : 0;

    return len && !strncmp(name, m->backbone_prefix, len) ? name + len : NULL;
}

const struct model_family *backbone_owner(const struct model *m,
                                          const struct model_options *o, const char *name)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *src = backbone_name(m, name) ? backbone_of(m, o, &why) : NULL;

    strbuf_release(&why);
    return src ? src->family : m->family;
}
