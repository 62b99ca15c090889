#include "models/table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/suggest.h"
#include "models/erfnet.h"
#include "models/resnet.h"

#define RESNET(...)                                                                      \
    .type = "resnet", .classes = 1000, .build = resnet_build,                            \
    .arch = &(const struct resnet)                                                       \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }
#define BASIC      .block = "BBBB", .planes = {64, 128, 256, 512}
#define BOTTLENECK .block = "NNNN", .planes = {64, 128, 256, 512}
#define DEPTH(...) .depth = {__VA_ARGS__}
#define D          .stem = RESNET_STEM_DEEP, .shortcut = RESNET_SHORTCUT_AVG
#define T          .stem = RESNET_STEM_TIERED, .shortcut = RESNET_SHORTCUT_AVG
#define C          .stem = RESNET_STEM_DEEP
#define S          .stem = RESNET_STEM_DEEP64
#define X(g, w)    .groups = (g), .base = (w)
#define SE         .se = true

#define IMAGENET(side, crop)                                                             \
    .size = (side), .crop_pct = (crop), .mean = {0.485, 0.456, 0.406},                   \
    .std = {0.229, 0.224, 0.225}

#define CIFAR(n)                                                                         \
    .type = "resnet", .tags = "", .classes = 10, .size = 32, .crop_pct = 1,              \
    .mean = {0.4914, 0.4822, 0.4465}, .std = {0.2470, 0.2435, 0.2616},                   \
    .build = resnet_build, .arch = &(const struct resnet)                                \
    {                                                                                    \
        .block = "BBB", .planes = {16, 32, 64}, .depth = {(n), (n), (n)},                \
        .stem = RESNET_STEM_3X3, .shortcut = RESNET_SHORTCUT_PAD, .cifar = true          \
    }

/* Pixels in [0, 1], neither shifted nor scaled. */
#define ERFNET(...)                                                                      \
    .type = "erfnet", .task = MODEL_SEGMENT, .classes = 20, .size = 1024, .height = 512, \
    .crop_pct = 1, .bilinear = true, .mean = {0, 0, 0}, .std = {1, 1, 1}, .tags = "",    \
    .build = erfnet_build, .arch = &(const struct erfnet)                                \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }

#define ROW(x) .name = #x
#define TAGS   .tags =
#define RECIPE .recipe =

/* clang-format off */
const struct model model_table[] = {
    {ROW(resnet18), RESNET(BASIC, DEPTH(2, 2, 2, 2)), IMAGENET(224, 0.95), RECIPE "resnet18.yaml",
     TAGS "a1_in1k a2_in1k a3_in1k fb_ssl_yfcc100m_ft_in1k fb_swsl_ig1b_ft_in1k gluon_in1k tv_in1k"},
    {ROW(resnet34), RESNET(BASIC, DEPTH(3, 4, 6, 3)), IMAGENET(224, 0.95), RECIPE "resnet34.yaml",
     TAGS "a1_in1k a2_in1k a3_in1k bt_in1k gluon_in1k ra4_e3600_r224_in1k tv_in1k"},
    {ROW(resnet50), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3)), IMAGENET(224, 0.95), RECIPE "resnet50.yaml",
     TAGS "a1_in1k a1h_in1k a2_in1k a3_in1k am_in1k b1k_in1k b2k_in1k bamboo bt_in1k c1_in1k c2_in1k "
     "d_in1k fb_ssl_yfcc100m_ft_in1k fb_swsl_ig1b_ft_in1k gluon_in1k ra_in1k ram_in1k tv2_in1k tv_in1k"},
    {ROW(resnet101), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3)), IMAGENET(224, 0.95), RECIPE "resnet101.yaml",
     TAGS "a1h_in1k a1_in1k a2_in1k a3_in1k gluon_in1k tv2_in1k tv_in1k"},
    {ROW(resnet152), RESNET(BOTTLENECK, DEPTH(3, 8, 36, 3)), IMAGENET(224, 0.95), RECIPE "resnet152.yaml",
     TAGS "a1h_in1k a1_in1k a2_in1k a3_in1k gluon_in1k tv2_in1k tv_in1k"},

    {ROW(resnet18d), RESNET(BASIC, DEPTH(2, 2, 2, 2), D), IMAGENET(224, 0.875), RECIPE "resnet18d.yaml",
     TAGS "ra2_in1k ra4_e3600_r224_in1k"},
    {ROW(resnet34d), RESNET(BASIC, DEPTH(3, 4, 6, 3), D), IMAGENET(224, 0.875), RECIPE "resnet34d.yaml",
     TAGS "ra2_in1k"},
    {ROW(resnet50d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), D), IMAGENET(224, 0.875), RECIPE "resnet50d.yaml",
     TAGS "ra2_in1k a1_in1k a2_in1k a3_in1k gluon_in1k ra4_e3600_r224_in1k"},
    {ROW(resnet101d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), D), IMAGENET(256, 0.95), RECIPE "resnet101d.yaml",
     TAGS "ra2_in1k gluon_in1k"},
    {ROW(resnet152d), RESNET(BOTTLENECK, DEPTH(3, 8, 36, 3), D), IMAGENET(256, 0.95), RECIPE "resnet152d.yaml",
     TAGS "ra2_in1k gluon_in1k"},
    {ROW(resnet50c), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), C), IMAGENET(224, 0.875), TAGS "gluon_in1k"},
    {ROW(resnet50s), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), S), IMAGENET(224, 0.875), TAGS "gluon_in1k"},
    {ROW(resnet50t), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), T), IMAGENET(224, 0.875), TAGS ""},
    {ROW(resnet10t), RESNET(BASIC, DEPTH(1, 1, 1, 1), T), IMAGENET(176, 0.875), TAGS "c3_in1k"},
    {ROW(resnet14t), RESNET(BOTTLENECK, DEPTH(1, 1, 1, 1), T), IMAGENET(176, 0.875), TAGS "c3_in1k"},
    {ROW(resnet26), RESNET(BOTTLENECK, DEPTH(2, 2, 2, 2)), IMAGENET(224, 0.875), TAGS "bt_in1k"},
    {ROW(resnet26d), RESNET(BOTTLENECK, DEPTH(2, 2, 2, 2), D), IMAGENET(224, 0.875), TAGS "bt_in1k"},
    {ROW(resnet26t), RESNET(BOTTLENECK, DEPTH(2, 2, 2, 2), T), IMAGENET(256, 0.94), TAGS "ra2_in1k"},

    {ROW(resnext50_32x4d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), X(32, 4)), IMAGENET(224, 0.95),
     RECIPE "resnext50_32x4d.yaml", TAGS "a1h_in1k a1_in1k a2_in1k a3_in1k fb_ssl_yfcc100m_ft_in1k "
     "fb_swsl_ig1b_ft_in1k gluon_in1k ra_in1k tv2_in1k tv_in1k"},
    {ROW(resnext50d_32x4d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), D, X(32, 4)), IMAGENET(224, 0.875),
     TAGS "bt_in1k"},
    {ROW(resnext101_32x4d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), X(32, 4)), IMAGENET(224, 0.875),
     .bilinear = true, TAGS "fb_ssl_yfcc100m_ft_in1k fb_swsl_ig1b_ft_in1k gluon_in1k"},
    {ROW(resnext101_32x8d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), X(32, 8)), IMAGENET(224, 0.875),
     .bilinear = true, RECIPE "resnext101_32x8d.yaml",
     TAGS "tv_in1k fb_ssl_yfcc100m_ft_in1k fb_swsl_ig1b_ft_in1k fb_wsl_ig1b_ft_in1k tv2_in1k"},
    {ROW(resnext101_64x4d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), X(64, 4)), IMAGENET(224, 0.95),
     TAGS "c1_in1k gluon_in1k tv_in1k"},
    {ROW(wide_resnet50_2), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), X(1, 128)), IMAGENET(224, 0.875),
     RECIPE "wide_resnet50_2.yaml", TAGS "racm_in1k tv2_in1k tv_in1k"},
    {ROW(wide_resnet101_2), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), X(1, 128)), IMAGENET(224, 0.875),
     .bilinear = true, RECIPE "wide_resnet101_2.yaml", TAGS "tv_in1k tv2_in1k"},

    {ROW(seresnet18), RESNET(BASIC, DEPTH(2, 2, 2, 2), SE), IMAGENET(224, 0.875), TAGS ""},
    {ROW(seresnet34), RESNET(BASIC, DEPTH(3, 4, 6, 3), SE), IMAGENET(224, 0.875), TAGS ""},
    {ROW(seresnet50), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), SE), IMAGENET(224, 0.95), RECIPE "seresnet50.yaml",
     TAGS "a1_in1k a2_in1k a3_in1k ra2_in1k"},
    {ROW(seresnet101), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), SE), IMAGENET(224, 0.875), TAGS ""},
    {ROW(seresnet152), RESNET(BOTTLENECK, DEPTH(3, 8, 36, 3), SE), IMAGENET(224, 0.875), TAGS ""},
    {ROW(seresnext26d_32x4d), RESNET(BOTTLENECK, DEPTH(2, 2, 2, 2), D, SE, X(32, 4)), IMAGENET(224, 0.875),
     TAGS "bt_in1k"},
    {ROW(seresnext50_32x4d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), SE, X(32, 4)), IMAGENET(224, 0.875),
     TAGS "racm_in1k gluon_in1k"},

    {ROW(test_resnet), RESNET(.block = "BBNB", .planes = {32, 48, 48, 96}, DEPTH(1, 1, 1, 1), D),
     .size = 160, .crop_pct = 0.95, .bilinear = true, .mean = {0.5, 0.5, 0.5}, .std = {0.5, 0.5, 0.5},
     TAGS "r160_in1k"},

    {ROW(resnet20), CIFAR(3), RECIPE "cifar10/resnet20.yaml"},
    {ROW(resnet32), CIFAR(5), RECIPE "cifar10/resnet32.yaml"},
    {ROW(resnet44), CIFAR(7), RECIPE "cifar10/resnet44.yaml"},
    {ROW(resnet56), CIFAR(9), RECIPE "cifar10/resnet56.yaml"},
    {ROW(resnet110), CIFAR(18), RECIPE "cifar10/resnet110.yaml"},

    {ROW(erfnet), ERFNET(.drop = {0.03f, 0.3f}), .label_divisor = 1, RECIPE "erfnet.yaml"},
    {ROW(erfnet_encoder), ERFNET(.encoder_only = true, .drop = {0.03f, 0.3f}), .label_divisor = 8,
     RECIPE "cityscapes/encoder.yaml"},
    {.name = NULL},
};
/* clang-format on */

bool model_type_known(const char *type)
{
    for (const struct model *m = model_table; m->name; m++)
        if (!strcmp(m->type, type))
            return true;
    return false;
}

/* Is m the architecture of "architecture.tag"? */
static bool same_arch(const struct model *m, const char *name)
{
    size_t len = strcspn(name, ".");

    return strlen(m->name) == len && !memcmp(m->name, name, len);
}

static void say_types(struct strbuf *why, const char *type, const char *name)
{
    const char *last = "";

    strbuf_addf(why, "no models of MODEL.TYPE '%s'; there are:", type);
    for (const struct model *m = model_table; m->name; m++) {
        if (strcmp(last, m->type) != 0)
            strbuf_addf(why, " %s", m->type);
        last = m->type;
    }
    for (const struct model *m = model_table; m->name; m++)
        if (same_arch(m, name))
            strbuf_addf(why, " (%s is a %s: --model-type %s)", m->name, m->type, m->type);
}

static void say_name(struct strbuf *why, const char *type, const char *name, size_t len)
{
    char *arch = xstrndup(name, len);
    const char *hub = strrchr(arch, '/'); /* timm/resnet50.a1_in1k */
    struct suggest s;

    suggest_init(&s, hub ? hub + 1 : arch);
    for (const struct model *m = model_table; m->name; m++)
        if (!strcmp(m->type, type))
            suggest_try(&s, m->name);
    strbuf_addf(why, "MODEL.TYPE %s has no MODEL.NAME '%s'", type, arch);
    if (s.best)
        strbuf_addf(why, " (did you mean %s?)", s.best);
    strbuf_addstr(why, "; 'trainc models' lists them");
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
    size_t len = strcspn(name, ".");

    if (!model_type_known(type)) {
        say_types(why, type, name);
        return NULL;
    }
    for (const struct model *m = model_table; m->name; m++) {
        if (strcmp(m->type, type) != 0 || !same_arch(m, name))
            continue;
        if (!name[len] || has_tag(m, name + len + 1))
            return m;
        strbuf_addf(why, "%s has no tag '%s'; it has: %s", m->name, name + len + 1,
                    *m->tags ? m->tags : "none");
        return NULL;
    }
    say_name(why, type, name, len);
    return NULL;
}

struct tensor *model_build(struct builder *b, const struct model *m,
                           const struct model_options *o, struct tensor *x)
{
    if (o->classes < 1)
        die("%s needs at least one class, not %d", m->name, o->classes);
    return m->build(b, m->arch, o, x);
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
