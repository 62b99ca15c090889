#include "train/hub_config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "config/problems.h"
#include "io/json.h"
#include "session/model_config.h"
#include "train/weights_cache.h"
#include "train/weights_fetch.h"

struct hub {
    struct config *cfg;
    struct problems *p;
    const char *path;   /* path of config.json */
    const char *origin; /* what messages give as the source of its keys */
};

/* True if MODEL.PRETRAINED names a hub repository or a folder; fills `r`. */
static bool is_of_hub(const struct config *cfg, struct pretrained_request *r)
{
    struct strbuf unused = STRBUF_INIT;
    bool is = *cfg->model.pretrained &&
              pretrained_parse(cfg->model.pretrained, cfg->model.name, r, &unused) &&
              !r->row;

    strbuf_release(&unused);
    return is;
}

/* Returns the config.json next to the weights, or NULL if they are not cached, not from
 * the hub or a folder, or have none. */
static char *find_file(const struct config *cfg)
{
    struct pretrained_request r;
    char *weights = is_of_hub(cfg, &r) ? weights_cache_find(&r) : NULL;
    char *folder, *path = NULL;

    if (!weights)
        return NULL;
    folder = path_dirname(weights);
    path = path_join(folder, "config.json");
    free(folder);
    free(weights);
    if (file_exists(path))
        return path;
    free(path);
    return NULL;
}

/* Returns NULL and a reason on failure. */
static json_t *read_object(const char *path, struct strbuf *why)
{
    size_t len;
    char *text = file_read_limit(path, 1 << 24, &len);
    json_t *j = text ? json_parse(text, len, why) : NULL;

    if (!text)
        strbuf_addstr(why, "cannot be read");
    free(text);
    if (j && !json_is_object(j)) {
        strbuf_addstr(why, "is not a JSON object");
        json_decref(j);
        return NULL;
    }
    return j;
}

static void blame(const struct hub *h, const char *key, const char *what)
{
    problems_error(h->p, h->origin, "'%s': \"%s\" %s", h->path, key, what);
}

/* Sets `key` to the list of numbers `name`: three, or one per channel. */
static void preset_numbers(const struct hub *h, const json_t *j, const char *name,
                           const char *key)
{
    const json_t *list = json_object_get(j, name);
    struct strbuf text = STRBUF_INIT;
    bool good = json_array_size(list) > 0;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);

        good &= json_is_number(v) && isfinite(json_number_value(v));
        strbuf_addf(&text, "%s%.8g", i ? ", " : "[", json_number_value(v));
    }
    strbuf_addch(&text, ']');
    if (list && !good)
        blame(h, name, "is not a list of numbers");
    else if (list)
        config_preset(h->cfg, key, text.buf, h->origin);
    strbuf_release(&text);
}

/* [channels, height, width] */
static void preset_size(const struct hub *h, const json_t *j)
{
    const json_t *list = json_object_get(j, "input_size");
    long long v[3];

    if (!list)
        return;
    for (size_t i = 0; i < 3; i++)
        v[i] = json_integer_value(json_array_get(list, i));
    if (json_array_size(list) != 3 || v[0] < 1 || v[1] < 1 || v[2] < 1) {
        blame(h, "input_size", "is not [channels, height, width]");
        return;
    }
    if (v[1] != v[2]) {
        blame(h, "input_size", "is not square: classifiers need square images");
        return;
    }
    char *side = xasprintf("%lld", v[1]), *channels = xasprintf("%lld", v[0]);

    config_preset(h->cfg, "DATA.IMG_SIZE", side, h->origin);
    if (v[0] != 3)
        config_preset(h->cfg, "MODEL.IN_CHANS", channels, h->origin);
    free(side);
    free(channels);
}

static void preset_images(const struct hub *h, const json_t *j)
{
    const char *how = json_string_value(json_object_get(j, "interpolation"));
    const char *crop = json_string_value(json_object_get(j, "crop_mode"));
    const json_t *share = json_object_get(j, "crop_pct");
    char *text = xasprintf("%.8g", json_number_value(share));

    preset_size(h, j);
    preset_numbers(h, j, "mean", "DATA.MEAN");
    preset_numbers(h, j, "std", "DATA.STD");
    if (how && strcmp(how, "bicubic") != 0 && strcmp(how, "bilinear") != 0)
        blame(h, "interpolation", "is neither bicubic nor bilinear");
    else if (how)
        config_preset(h->cfg, "DATA.INTERPOLATION", how, h->origin);
    if (share && !json_is_number(share))
        blame(h, "crop_pct", "is not a number");
    else if (share)
        config_preset(h->cfg, "DATA.CROP_PCT", text, h->origin);
    if (crop && !strcmp(crop, "squash"))
        config_preset(h->cfg, "TEST.CROP", "False", h->origin);
    else if (crop && strcmp(crop, "center") != 0)
        blame(h, "crop_mode", "is neither center nor squash");
    free(text);
}

static void preset(const struct hub *h, const json_t *j)
{
    const char *name = json_string_value(json_object_get(j, "architecture"));
    const json_t *images = json_object_get(j, "pretrained_cfg");
    const json_t *args = json_object_get(j, "model_args");

    bool named = config_origin(h->cfg, "MODEL.NAME") != NULL;

    if (name && !named && !model_family_of(name))
        problems_error(
            h->p, h->origin,
            "'%s': unknown \"architecture\" '%s' ('trainc models' lists the models)",
            h->path, name);
    else if (name)
        config_preset(h->cfg, "MODEL.NAME", name, h->origin);
    else if (!named)
        blame(h, "architecture", "is missing: set the model with --model");
    if (json_object_size(args))
        problems_warn(h->p, h->origin,
                      "'%s': ignoring \"model_args\": --model names another model",
                      h->path);
    /* Older timm files have these keys at the top level. */
    preset_images(h, images ? images : j);
}

/* Downloads config.json of a hub repository whose weights are not cached. Returns NULL if
 * there is nothing to download. */
static char *fetch_file(const struct config *cfg, struct problems *p)
{
    struct pretrained_request r;
    struct strbuf why = STRBUF_INIT;
    char *weights = NULL, *path = NULL;

    if (is_of_hub(cfg, &r) && !r.dir) {
        weights = weights_cache_find(&r);
        if (!weights)
            path = weights_fetch_config(cfg, &r, &why);
    }
    if (why.len)
        config_blame(cfg, p, KEYS("MODEL.PRETRAINED"), "MODEL.PRETRAINED: %s", why.buf);
    strbuf_release(&why);
    free(weights);
    return path;
}

void hub_config_preset(struct config *cfg, bool fetch, struct problems *p)
{
    struct strbuf why = STRBUF_INIT;
    char *path = fetch ? fetch_file(cfg, p) : NULL;
    char *origin = xasprintf(PRETRAINED_ORIGIN "%s", cfg->model.pretrained);
    json_t *j;

    if (!path)
        path = find_file(cfg);
    j = path ? read_object(path, &why) : NULL;
    if (j)
        preset(&(struct hub){cfg, p, path, origin}, j);
    else if (path)
        problems_error(p, origin, "'%s': %s", path, why.buf);
    json_decref(j);
    strbuf_release(&why);
    free(origin);
    free(path);
}

int hub_config_classes(const struct config *cfg)
{
    struct strbuf unused = STRBUF_INIT;
    char *path = find_file(cfg);
    json_t *j = path ? read_object(path, &unused) : NULL;
    const json_t *n = json_object_get(j, "num_classes");
    json_int_t v;

    if (!n)
        n = json_object_get(json_object_get(j, "pretrained_cfg"), "num_classes");
    v = json_integer_value(n);
    json_decref(j);
    strbuf_release(&unused);
    free(path);
    return v > 0 && v <= 1 << 20 ? (int)v : 0;
}

json_t *hub_config_labels(const struct config *cfg)
{
    struct strbuf unused = STRBUF_INIT;
    char *path = find_file(cfg);
    json_t *j = path ? read_object(path, &unused) : NULL;
    json_t *list = json_incref(json_object_get(j, "label_names"));
    size_t n = json_array_size(list);
    bool good = n == (size_t)cfg->model.num_classes;

    for (size_t i = 0; i < n; i++)
        good &= json_is_string(json_array_get(list, i));
    json_decref(j);
    strbuf_release(&unused);
    free(path);
    if (good)
        return list;
    json_decref(list);
    return NULL;
}
