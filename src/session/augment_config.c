#include "session/augment_config.h"

#include <string.h>

#include "base/error.h"
#include "image/policy.h"
#include "session/augment_items.h"
#include "session/model_config.h"

/* True if AUG.AUTO_AUGMENT names a policy. */
static bool has_policy(const struct config *cfg)
{
    struct strbuf why = STRBUF_INIT;
    struct policy policy;

    if (policy_parse(&policy, cfg->aug.auto_augment, &why) < 0)
        usage("AUG.AUTO_AUGMENT %s", why.buf);
    return policy.kind != NULL;
}

static int erase_mode(const struct config *cfg)
{
    static const char *const modes[] = {
        [ERASE_PIXEL] = "pixel", [ERASE_RAND] = "rand", [ERASE_CONST] = "const"};
    int mode = ERASE_PIXEL;

    while (mode < ERASE_CONST && strcmp(cfg->aug.remode, modes[mode]) != 0)
        mode++;
    return mode;
}

bool device_resizes(const struct config *cfg)
{
    const struct model_family *f = model_family_find(cfg->model.type);

    return cfg->data.resize == PLACEMENT_DEVICE && f && f->task != MODEL_SEGMENT;
}

struct device_augment device_augment_of_config(const struct config *cfg)
{
    const struct model_family *f = model_family_find(cfg->model.type);
    struct device_augment d = {
        .flip = {"flip", {cfg->aug.hflip, cfg->aug.hflip_mode == HFLIP_MODE_ALTERNATE}},
        .jitter = {.layer = "color_jitter"},
        .erase = {.layer = "erase",
                  .probability = cfg->aug.reprob,
                  .mode = erase_mode(cfg),
                  .count = (int)cfg->aug.recount},
    };
    bool label_maps, policy;

    if (augment_items_any(cfg)) {
        d.flip.flips = (struct augment_flips){0};
        d.erase.probability = 0;
        return d;
    }
    if ((!cfg->aug.on_device && !device_resizes(cfg)) || !f)
        return d;
    label_maps = f->task == MODEL_SEGMENT;
    if (label_maps && cfg->aug.mosaic > 0)
        return d;
    policy = !label_maps && has_policy(cfg);
    for (int c = 0; c < 3; c++) {
        int channel = c < cfg->model.in_chans ? c : 0;

        d.jitter.strength[c] = cfg->aug.color_jitter;
        d.erase.mean[c] = input_mean(cfg, channel);
        d.erase.std[c] = input_std(cfg, channel);
    }
    d.flips = !policy && cfg->aug.hflip > 0;
    d.jitters = !policy && cfg->aug.color_jitter > 0;
    d.erases = !label_maps && cfg->aug.reprob > 0;
    return d;
}
