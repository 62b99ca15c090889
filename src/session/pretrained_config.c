/* Sets the keys that public weights imply: MODEL.PRETRAINED resnet50.a1_in1k. */
#include <string.h>

#include "base/log.h"
#include "config/dump.h"
#include "models/pretrained.h"
#include "session/model_config.h"

const struct pretrained *pretrained_of_config(const struct config *cfg)
{
    struct pretrained_request r = {0};
    struct strbuf why = STRBUF_INIT;

    if (*cfg->model.pretrained)
        (void)pretrained_parse(cfg->model.pretrained, cfg->model.name, &r, &why);
    strbuf_release(&why);
    return r.row;
}

static void preset_list(struct config *cfg, const char *key, const double *numbers,
                        const char *origin)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text, "[%.8g, %.8g, %.8g]", numbers[0], numbers[1], numbers[2]);
    config_preset(cfg, key, text.buf, origin);
    strbuf_release(&text);
}

/* Replaces an old timm name in a key by the current one. */
static void rename_model(struct config *cfg, const char *key, const char *old)
{
    const char *name = pretrained_now(old), *origin = config_origin(cfg, key);

    if (name != old)
        config_set_for(cfg, key, name, origin ? origin : "");
}

/* Takes the mean and deviation of the images from the weights of the backbone. */
static void preset_backbone(struct config *cfg)
{
    struct pretrained_request r = {0};
    struct strbuf why = STRBUF_INIT;
    const struct model *m = backbone_of_config(cfg, &why);
    const char *text = cfg->model.pretrained_backbone;

    if (m && *text)
        (void)pretrained_parse(text, m->name, &r, &why);
    strbuf_reset(&why);
    strbuf_addf(&why, "MODEL.PRETRAINED_BACKBONE %s", text);
    if (r.row) {
        preset_list(cfg, "DATA.MEAN", r.row->mean, why.buf);
        preset_list(cfg, "DATA.STD", r.row->std, why.buf);
    }
    strbuf_release(&why);
}

void pretrained_preset(struct config *cfg)
{
    const struct pretrained *row;
    struct strbuf origin = STRBUF_INIT, text = STRBUF_INIT;

    rename_model(cfg, "MODEL.NAME", cfg->model.name);
    rename_model(cfg, "MODEL.TEACHER_MODEL", cfg->model.teacher_model);
    preset_backbone(cfg);
    row = pretrained_of_config(cfg);
    if (!row)
        return;
    strbuf_addf(&origin, PRETRAINED_ORIGIN "%s", row->name);
    strbuf_addf(&text, "%.*s", (int)strcspn(row->name, "."), row->name);
    config_preset(cfg, "MODEL.NAME", text.buf, origin.buf);
    preset_list(cfg, "DATA.MEAN", row->mean, origin.buf);
    preset_list(cfg, "DATA.STD", row->std, origin.buf);
    config_preset(cfg, "DATA.INTERPOLATION", row->bilinear ? "bilinear" : "bicubic",
                  origin.buf);
    strbuf_reset(&text);
    strbuf_addf(&text, "%.8g", row->crop_pct);
    config_preset(cfg, "DATA.CROP_PCT", text.buf, origin.buf);
    strbuf_reset(&text);
    strbuf_addf(&text, "%d", row->size);
    config_preset(cfg, "DATA.IMG_SIZE", text.buf, origin.buf);
    if (row->squash)
        config_preset(cfg, "TEST.CROP", "False", origin.buf);
    strbuf_release(&origin);
    strbuf_release(&text);
}

void pretrained_describe(const struct config *cfg)
{
    static const char *const key[] = {"DATA.IMG_SIZE",      "DATA.CROP_PCT", "TEST.CROP",
                                      "DATA.INTERPOLATION", "DATA.MEAN",     "DATA.STD",
                                      "MODEL.NUM_CLASSES",  "MODEL.IN_CHANS"};
    struct strbuf text = STRBUF_INIT;
    const char *origin = NULL;

    for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++) {
        const char *key_origin = config_origin(cfg, key[i]);

        if (!key_origin ||
            strncmp(key_origin, PRETRAINED_ORIGIN, strlen(PRETRAINED_ORIGIN)) != 0)
            continue;
        origin = key_origin;
        strbuf_addf(&text, "%s%s ", text.len ? ", " : "", key[i]);
        value_add_yaml(&text, config_get(cfg, key[i]));
    }
    if (origin)
        log_info("%s sets %s", origin, text.buf);
    strbuf_release(&text);
}

void pretrained_check(const struct config *cfg, struct problems *p)
{
    const struct pretrained *row = pretrained_of_config(cfg);
    size_t len = row ? strcspn(row->name, ".") : 0;

    if (row && (strcspn(cfg->model.name, ".") != len ||
                strncmp(cfg->model.name, row->name, len) != 0))
        config_blame(
            cfg, p, KEYS("MODEL.PRETRAINED", "MODEL.NAME"),
            "MODEL.PRETRAINED %s: these weights are for %.*s, but MODEL.NAME is %s",
            cfg->model.pretrained, (int)len, row->name, cfg->model.name);
}
