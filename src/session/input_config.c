/* Derives other keys from the number of input channels. */
#include <string.h>

#include "base/error.h"
#include "config/value.h"
#include "image/image.h"
#include "ops/normalize.h"
#include "session/augment_items.h"
#include "session/model_config.h"

_Static_assert((int)NORMALIZE_CHANNELS == (int)IMAGE_CHANNELS,
               "images and their numbers");

/* Returns the family's own key, such as MODEL.SWIN.IN_CHANS, or NULL if it has none. */
static const char *own_key(const struct config *cfg)
{
    const struct model_family *f = model_family_find(cfg->model.type);
    const struct option *o = f ? f->options : NULL;

    for (; o && o->key; o++)
        if (!strcmp(strrchr(o->key, '.'), ".IN_CHANS"))
            return o->key;
    return NULL;
}

/* Both keys mean the same: if only one is set, copies it to the other. */
static void preset_channels(struct config *cfg)
{
    const char *key = own_key(cfg), *src, *dst;
    struct strbuf text = STRBUF_INIT, origin = STRBUF_INIT;

    if (!key || !config_origin(cfg, key) == !config_origin(cfg, "MODEL.IN_CHANS"))
        return;
    src = config_origin(cfg, key) ? key : "MODEL.IN_CHANS";
    dst = config_origin(cfg, key) ? "MODEL.IN_CHANS" : key;
    strbuf_addf(&text, "%lld", (long long)config_get(cfg, src)->i);
    strbuf_addf(&origin, "%s %s", src, text.buf);
    if (config_get(cfg, dst)->i != config_get(cfg, src)->i)
        config_preset(cfg, dst, text.buf, origin.buf);
    strbuf_release(&text);
    strbuf_release(&origin);
}

/* Extends RGB statistics that no user has set. */
static void preset_mean(struct config *cfg, const char *key,
                        const struct float_list *list, const char *origin)
{
    const char *old = config_origin(cfg, key);
    struct strbuf text = STRBUF_INIT;

    if (list->n != IMAGE_RGB ||
        (old && strncmp(old, PRETRAINED_ORIGIN, strlen(PRETRAINED_ORIGIN)) != 0 &&
         strncmp(old, INPUT_ORIGIN, strlen(INPUT_ORIGIN)) != 0))
        return;
    strbuf_addf(&text, "[%.8g]", (list->item[0] + list->item[1] + list->item[2]) / 3);
    config_set_for(cfg, key, text.buf, origin);
    strbuf_release(&text);
}

void input_preset(struct config *cfg)
{
    struct strbuf origin = STRBUF_INIT;

    preset_channels(cfg);
    if (cfg->model.in_chans == IMAGE_RGB)
        return;
    strbuf_addf(&origin, "MODEL.IN_CHANS %lld", (long long)cfg->model.in_chans);
    preset_mean(cfg, "DATA.MEAN", &cfg->data.mean, origin.buf);
    preset_mean(cfg, "DATA.STD", &cfg->data.std, origin.buf);
    if (cfg->model.in_chans != 1 && !augment_items_any(cfg)) {
        config_preset(cfg, "AUG.AUTO_AUGMENT", "none", origin.buf);
        config_preset(cfg, "AUG.COLOR_JITTER", "0", origin.buf);
        config_preset(cfg, "AUG.REPROB", "0", origin.buf);
    }
    strbuf_release(&origin);
}

static void check_numbers(const struct config *cfg, struct problems *p, const char *key,
                          const struct float_list *list)
{
    long long n = cfg->model.in_chans;

    if (list->n == 1 || list->n == n)
        return;
    if (n == 1)
        config_blame(cfg, p, KEYS(key, "MODEL.IN_CHANS"),
                     "%s has %d numbers, but images have one channel (MODEL.IN_CHANS)",
                     key, list->n);
    else
        config_blame(cfg, p, KEYS(key, "MODEL.IN_CHANS"),
                     "%s has %d numbers, but images have %lld channels (MODEL.IN_CHANS): "
                     "give one number per channel, or one for all",
                     key, list->n, n);
}

void input_check(const struct config *cfg, struct problems *p)
{
    const char *key = own_key(cfg);
    long long n = cfg->model.in_chans;

    if (key && config_get(cfg, key)->i != n)
        config_blame(cfg, p, KEYS(key, "MODEL.IN_CHANS"),
                     "%s is %lld, but MODEL.IN_CHANS is %lld", key,
                     (long long)config_get(cfg, key)->i, n);
    check_numbers(cfg, p, "DATA.MEAN", &cfg->data.mean);
    check_numbers(cfg, p, "DATA.STD", &cfg->data.std);
}

static double number(const struct float_list *list, int channel)
{
    if (channel >= list->n && list->n != 1)
        BUG("a number for channel %d of %d", channel, list->n);
    return list->item[list->n == 1 ? 0 : channel];
}

double input_mean(const struct config *cfg, int channel)
{
    return number(&cfg->data.mean, channel);
}

double input_std(const struct config *cfg, int channel)
{
    return number(&cfg->data.std, channel);
}
