/* What the name of public weights says about a run: MODEL.PRETRAINED resnet50.a1_in1k. */
#include <string.h>

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

static void preset_list(struct config *cfg, const char *key, const double *of,
                        const char *where)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text, "[%.8g, %.8g, %.8g]", of[0], of[1], of[2]);
    config_preset(cfg, key, text.buf, where);
    strbuf_release(&text);
}

void pretrained_preset(struct config *cfg)
{
    const struct pretrained *row = pretrained_of_config(cfg);
    struct strbuf where = STRBUF_INIT, text = STRBUF_INIT;

    if (!row)
        return;
    strbuf_addf(&where, "MODEL.PRETRAINED %s", row->name);
    strbuf_addf(&text, "%.*s", (int)strcspn(row->name, "."), row->name);
    config_preset(cfg, "MODEL.NAME", text.buf, where.buf);
    preset_list(cfg, "DATA.MEAN", row->mean, where.buf);
    preset_list(cfg, "DATA.STD", row->std, where.buf);
    config_preset(cfg, "DATA.INTERPOLATION", row->bilinear ? "bilinear" : "bicubic",
                  where.buf);
    strbuf_reset(&text);
    strbuf_addf(&text, "%.8g", row->crop_pct);
    config_preset(cfg, "DATA.CROP_PCT", text.buf, where.buf);
    strbuf_reset(&text);
    strbuf_addf(&text, "%d", row->size);
    config_preset(cfg, "DATA.IMG_SIZE", text.buf, where.buf);
    if (row->squash)
        config_preset(cfg, "TEST.CROP", "False", where.buf);
    strbuf_release(&where);
    strbuf_release(&text);
}

void pretrained_check(const struct config *cfg, struct problems *p)
{
    const struct pretrained *row = pretrained_of_config(cfg);
    size_t len = row ? strcspn(row->name, ".") : 0;

    if (row && (strcspn(cfg->model.name, ".") != len ||
                strncmp(cfg->model.name, row->name, len) != 0))
        config_blame(cfg, p, KEYS("MODEL.PRETRAINED", "MODEL.NAME"),
                     "MODEL.PRETRAINED %s: these weights are of %.*s, and MODEL.NAME is "
                     "%s",
                     cfg->model.pretrained, (int)len, row->name, cfg->model.name);
}
