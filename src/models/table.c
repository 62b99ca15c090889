#include "models/table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/suggest.h"
#include "models/beit.h"
#include "models/bisenet.h"
#include "models/convnext.h"
#include "models/deeplab.h"
#include "models/densenet.h"
#include "models/efficientnet.h"
#include "models/erfnet.h"
#include "models/ghostnet.h"
#include "models/inception.h"
#include "models/mit.h"
#include "models/mixer.h"
#include "models/mobilenetv2.h"
#include "models/mobilenetv3.h"
#include "models/mobilenetv4.h"
#include "models/pyramid.h"
#include "models/regnet.h"
#include "models/resnet.h"
#include "models/resnetv2.h"
#include "models/swin.h"
#include "models/swin_mlp.h"
#include "models/swin_moe.h"
#include "models/swinv2.h"
#include "models/unet.h"
#include "models/vgg.h"
#include "models/vit.h"

const struct model_family *const model_families[] = {
    &resnet_family,
    &resnetv2_family,
    &vgg_family,
    &densenet_family,
    &inception_family,
    &regnet_family,
    &efficientnet_family,
    &ghostnet_family,
    &mobilenetv2_family,
    &mobilenetv3_family,
    &mobilenetv4_family,
    &swin_family,
    &swinv2_family,
    &swin_mlp_family,
    &swin_moe_family,
    &vit_family,
    &beit_family,
    &convnext_family,
    &mixer_family,
    &mit_family,
    &erfnet_family,
    &unet_family,
    &deeplab_family,
    &pyramid_family,
    &bisenet_family,
    &pt2_family,
    &layers_family,
    NULL,
};

static struct named family_at(const void *table, int i)
{
    const struct model_family *const *row = table;

    return (struct named){.name = row[i] ? row[i]->type : NULL};
}

const struct names model_family_names = {.entry = family_at, .table = model_families};

const struct model_family *model_family_find(const char *type)
{
    for (int i = 0; model_families[i]; i++)
        if (!strcmp(model_families[i]->type, type))
            return model_families[i];
    return NULL;
}

const struct model *model_custom(const struct model_family *f, const char *name)
{
    for (const struct model *m = f->custom; m->name; m++)
        if (!strcmp(m->name, name))
            return m;
    return f->custom;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
}

bool model_decays(const struct model_family *f, const struct tensor *t, bool decay_1d)
{
    for (int i = 0; f->no_decay && f->no_decay[i]; i++)
        if (strstr(t->name, f->no_decay[i]))
            return false;
    return decay_1d || (t->ndim > 1 && !ends_with(t->name, ".bias"));
}

/* True if m is the architecture of "architecture.tag". */
static bool same_arch(const struct model *m, const char *name)
{
    size_t len = strcspn(name, ".");

    return strlen(m->name) == len && !memcmp(m->name, name, len);
}

const struct model_family *model_family_of(const char *name)
{
    const struct model_family *f = NULL;

    for (int i = 0; model_families[i]; i++)
        if (model_families[i]->ending && ends_with(name, model_families[i]->ending))
            return model_families[i];
    for (int i = 0; model_families[i]; i++)
        for (const struct model *m = model_families[i]->models; m->name; m++) {
            if (!same_arch(m, name))
                continue;
            if (f && f != m->family)
                return NULL;
            f = m->family;
        }
    return f;
}

/* Appends the family that has the name. */
static void say_family(struct strbuf *why, const char *name)
{
    for (int i = 0; model_families[i]; i++)
        for (const struct model *m = model_families[i]->models; m->name; m++)
            if (same_arch(m, name))
                strbuf_addf(why, " (%s is a %s: --model-type %s)", m->name,
                            m->family->type, m->family->type);
}

static void say_types(struct strbuf *why, const char *type, const char *name)
{
    strbuf_addf(why, "no models of MODEL.TYPE '%s'; there are:", type);
    for (int i = 0; model_families[i]; i++)
        strbuf_addf(why, " %s", model_families[i]->type);
    say_family(why, name);
}

static int count_models(void)
{
    int n = 0;

    for (int i = 0; model_families[i]; i++)
        for (const struct model *m = model_families[i]->models; m->name; m++)
            n++;
    return n;
}

static void say_name(struct strbuf *why, const struct model_family *f, const char *name,
                     size_t len)
{
    char *arch = xstrndup(name, len);
    const char *hub = strrchr(arch, '/'); /* timm/resnet50.a1_in1k */
    struct suggest s;

    suggest_init(&s, hub ? hub + 1 : arch);
    for (const struct model *m = f->models; m->name; m++)
        suggest_try(&s, m->name);
    /* May suggest a model of another family; say_family() handles equal names. */
    for (int i = 0; model_families[i] && !s.best && !model_family_of(name); i++)
        for (const struct model *m = model_families[i]->models; m->name; m++)
            suggest_try(&s, m->name);
    if (model_family_of(name))
        strbuf_addf(why, "MODEL.TYPE %s has no model called '%s'", f->type, arch);
    else
        strbuf_addf(why, "no model is called '%s'", arch);
    if (ends_with(name, ".yaml") || ends_with(name, ".yml"))
        strbuf_addf(why, " (a network in YAML is a configuration: --cfg %s)", name);
    else if (s.best)
        strbuf_addf(why, " (did you mean %s?)", s.best);
    say_family(why, name);
    strbuf_addf(why, "; `trainc models` lists %d", count_models());
    free(arch);
}

static bool has_tag(const struct model *m, const char *tag)
{
    size_t len = strlen(tag);

    for (const char *p = m->tags; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");

        if (n == len && !memcmp(p, tag, n))
            return true;
        p += n;
    }
    return false;
}

const struct model *model_find(const char *type, const char *name, struct strbuf *why)
{
    const struct model_family *f = model_family_find(type);
    size_t len = strcspn(name, ".");

    if (!f) {
        say_types(why, type, name);
        return NULL;
    }
    if (f->find)
        return f->find(name, why);
    for (const struct model *m = f->models; m->name; m++) {
        if (!same_arch(m, name))
            continue;
        if (!name[len] || has_tag(m, name + len + 1))
            return m;
        strbuf_addf(why, "%s has no tag '%s'; it has: %s", m->name, name + len + 1,
                    *m->tags ? m->tags : "none");
        return NULL;
    }
    say_name(why, f, name, len);
    return NULL;
}

bool model_provide(const char *graph, struct strbuf *why)
{
    for (int i = 0; model_families[i]; i++)
        if (model_families[i]->provide)
            return model_families[i]->provide(graph, why);
    return false;
}

const struct model *model_pair(const struct model *m, const char *eval,
                               struct strbuf *why)
{
    if (m->family->pair)
        return m->family->pair(m, eval, why);
    strbuf_addf(why,
                "MODEL.EVAL '%s' is the evaluation graph of a network that PyTorch "
                "exported (--model net.pt2), and %s has its own",
                eval, m->name);
    return NULL;
}

struct tensor *model_build(struct builder *b, const struct model *m,
                           const struct model_options *o, struct tensor *x)
{
    if (o->classes < 1)
        die("%s needs at least one class, not %lld", m->name, (long long)o->classes);
    return m->family->build_model ? m->family->build_model(b, m, o, x)
                                  : m->family->build(b, m->arch, o, x);
}

int model_natural_order(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            char *ea, *eb;
            unsigned long va = strtoul(a, &ea, 10), vb = strtoul(b, &eb, 10);

            if (va != vb)
                return va < vb ? -1 : 1;
            a = ea, b = eb;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++, b++;
        }
    }
    return (unsigned char)*a - (unsigned char)*b;
}
