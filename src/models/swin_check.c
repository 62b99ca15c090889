/* Checks the options and image sizes of all kinds of Swin. */
#include <stdio.h>

#include "models/swin_net.h"
#include "ops/window_attention.h"

/* Returns the names of keys to blame; valid until the next call. */
static const char *const *blame(const struct swin_kind *kind, const char *key,
                                const char *other)
{
    static _Thread_local char text[2][64];
    static _Thread_local const char *keys[3];

    (void)snprintf(text[0], sizeof(text[0]), "%s.%s", kind->prefix, key);
    keys[0] = text[0];
    keys[1] = NULL;
    if (other && *other == '.') {
        (void)snprintf(text[1], sizeof(text[1]), "%s%s", kind->prefix, other);
        keys[1] = text[1];
    } else if (other) {
        keys[1] = other;
    }
    keys[2] = NULL;
    return keys;
}

static const char *const *check_stages(const struct swin_kind *kind,
                                       const struct swin_options *o, struct strbuf *why)
{
    int n = o->depths.n, windows = o->pretrained_window_sizes.n;

    if (n < 1 || n > SWIN_STAGES) {
        strbuf_addf(why, "%s.DEPTHS has %d stages; there are 1 to %d", kind->prefix, n,
                    SWIN_STAGES);
        return blame(kind, "DEPTHS", NULL);
    }
    if (o->num_heads.n != n) {
        strbuf_addf(why, "%s.NUM_HEADS is of %d stages, and DEPTHS of %d", kind->prefix,
                    o->num_heads.n, n);
        return blame(kind, "NUM_HEADS", ".DEPTHS");
    }
    if (windows && windows != n) {
        strbuf_addf(why, "%s.PRETRAINED_WINDOW_SIZES is of %d stages, and DEPTHS of %d",
                    kind->prefix, windows, n);
        return blame(kind, "PRETRAINED_WINDOW_SIZES", ".DEPTHS");
    }
    return NULL;
}

static const char *const *check_heads(const struct swin_kind *kind,
                                      const struct swin_options *o, struct strbuf *why)
{
    for (int i = 0; i < o->depths.n; i++) {
        long long c = (long long)o->embed_dim << i, heads = o->num_heads.item[i];

        if (c % heads) {
            strbuf_addf(why,
                        "stage %d of %s has %lld channels, which %lld heads do not "
                        "divide",
                        i + 1, kind->prefix, c, heads);
            return blame(kind, "NUM_HEADS", ".EMBED_DIM");
        }
        if (c / heads > WINDOW_ATTENTION_HEAD && !kind->whole) {
            strbuf_addf(why,
                        "stage %d of %s has heads of %lld channels; at most %d can "
                        "be",
                        i + 1, kind->prefix, c / heads, WINDOW_ATTENTION_HEAD);
            return blame(kind, "NUM_HEADS", ".EMBED_DIM");
        }
    }
    if (!((double)o->embed_dim * o->mlp_ratio >= 1)) {
        strbuf_addf(why, "%s.MLP_RATIO %g leaves the MLP of the first stage no channel",
                    kind->prefix, o->mlp_ratio);
        return blame(kind, "MLP_RATIO", NULL);
    }
    return NULL;
}

/* For one direction; Swin-MLP does not pad. */
static const char *const *check_whole(const struct swin_kind *kind,
                                      const struct swin_options *o, int pixels,
                                      struct strbuf *why)
{
    long long side = pixels / o->patch_size;

    for (int i = 0; i < o->depths.n; i++) {
        long long window;

        if (i > 0 && side % 2) {
            strbuf_addf(why,
                        "with images of %d pixels stage %d has %lld tokens a side, "
                        "which cannot be merged in pairs",
                        pixels, i, side);
            return blame(kind, "PATCH_SIZE", "DATA.IMG_SIZE");
        }
        side = i > 0 ? side / 2 : side;
        window = side < o->window_size ? side : o->window_size;
        if (side % window) {
            strbuf_addf(why,
                        "with images of %d pixels stage %d has %lld tokens a side, "
                        "which are not whole windows of %lld",
                        pixels, i + 1, side, window);
            return blame(kind, "WINDOW_SIZE", "DATA.IMG_SIZE");
        }
    }
    return NULL;
}

static const char *const *check_side(const struct swin_kind *kind,
                                     const struct swin_options *o, int pixels,
                                     struct strbuf *why)
{
    if (pixels % o->patch_size) {
        strbuf_addf(why, "images of %d pixels a side are not whole patches of %lld",
                    pixels, (long long)o->patch_size);
        return blame(kind, "PATCH_SIZE", "DATA.IMG_SIZE");
    }
    return kind->whole ? check_whole(kind, o, pixels, why) : NULL;
}

const char *const *swin_check(const struct swin_kind *kind, const struct model *m,
                              const struct model_options *common, int height, int width,
                              struct strbuf *why)
{
    const struct swin_options *o = common->family ? common->family : m->arch;
    const char *const *keys = check_stages(kind, o, why);

    if (!keys)
        keys = check_heads(kind, o, why);
    if (!keys && o->window_size * o->window_size > WINDOW_ATTENTION_TOKENS) {
        strbuf_addf(why, "%s.WINDOW_SIZE %lld: a window has at most %d tokens",
                    kind->prefix, (long long)o->window_size, WINDOW_ATTENTION_TOKENS);
        keys = blame(kind, "WINDOW_SIZE", NULL);
    }
    if (!keys)
        keys = check_side(kind, o, height, why);
    return keys ? keys : check_side(kind, o, width, why);
}
