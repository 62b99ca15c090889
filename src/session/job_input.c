/* The model's own input, and the batch; see session/job.h. */
#include <string.h>

#include "config/names.h"
#include "session/job.h"
#include "session/model_config.h"

static void preset_numbers(struct config *cfg, const char *key, const double *numbers,
                           const char *origin)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text, "[%.8g, %.8g, %.8g]", numbers[0], numbers[1], numbers[2]);
    config_preset(cfg, key, text.buf, origin);
    strbuf_release(&text);
}

static void preset_size(struct config *cfg, const char *key, int size, const char *origin)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text, "%d", size);
    config_preset(cfg, key, text.buf, origin);
    strbuf_release(&text);
}

void job_preset_input(struct config *cfg)
{
    struct strbuf text = STRBUF_INIT, origin = STRBUF_INIT;
    const struct model *m = model_lookup(cfg, &text);
    const struct pretrained *tag =
        strchr(cfg->model.name, '.')
            ? pretrained_find(cfg->model.name, strlen(cfg->model.name))
            : NULL;

    strbuf_reset(&text);
    if (m && m->size) {
        strbuf_addf(&origin, INPUT_ORIGIN "%s", cfg->model.name);
        if (m->height && !config_origin(cfg, "DATA.IMG_SIZE")) {
            preset_size(cfg, "DATA.IMG_WIDTH", m->size, origin.buf);
            preset_size(cfg, "DATA.IMG_HEIGHT", m->height, origin.buf);
        } else if (!m->height) {
            preset_size(cfg, "DATA.IMG_SIZE", tag ? tag->size : m->size, origin.buf);
        }
        preset_numbers(cfg, "DATA.MEAN", tag ? tag->mean : m->mean, origin.buf);
        preset_numbers(cfg, "DATA.STD", tag ? tag->std : m->std, origin.buf);
        strbuf_addf(&text, "%.8g", tag ? tag->crop_pct : m->crop_pct);
        config_preset(cfg, "DATA.CROP_PCT", text.buf, origin.buf);
        config_preset(cfg, "DATA.INTERPOLATION",
                      (tag ? tag->bilinear : m->bilinear) ? "bilinear" : "bicubic",
                      origin.buf);
        if (tag && tag->squash)
            config_preset(cfg, "TEST.CROP", "False", origin.buf);
    }
    strbuf_release(&text);
    strbuf_release(&origin);
}

int64_t job_batch(int64_t images, int64_t max)
{
    enum { MIN_BATCH = 16, BATCHES = 16 };
    int64_t batch = images >= 4 * MIN_BATCH ? MIN_BATCH : 2;

    while (batch < max && 2 * BATCHES * batch <= images)
        batch *= 2;
    return batch < images ? batch : images > 0 ? images : 1;
}
