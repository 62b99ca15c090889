/* The loader's transform of an image, from the DATA, AUG, and TEST keys. */
#include <string.h>

#include "base/error.h"
#include "session/augment_config.h"
#include "session/augment_items.h"
#include "session/model_config.h"
#include "train/data_config.h"
#include "train/segment_config.h"

_Static_assert((int)PAD_MODE_CONSTANT == (int)PAD_CONSTANT &&
                   (int)PAD_MODE_EDGE == (int)PAD_EDGE &&
                   (int)PAD_MODE_REFLECT == (int)PAD_REFLECT &&
                   (int)PAD_MODE_SYMMETRIC == (int)PAD_SYMMETRIC,
               "the config's pad modes are the loader's");

bool data_pads(const struct config *cfg)
{
    int mode = cfg->aug.crop_mode;

    return mode == CROP_MODE_PAD || (mode == CROP_MODE_AUTO && cfg->aug.pad_crop > 0);
}

static void data_augment(const struct config *cfg, struct transform *t)
{
    struct device_augment d = device_augment_of_config(cfg);
    struct strbuf why = STRBUF_INIT;
    double mean[3], std[3];

    for (int c = 0; c < cfg->model.in_chans; c++)
        t->fill[c] = model_mean_byte(cfg, c);
    augment_items_of_config(cfg, &t->list);
    t->flip = d.flip.flips;
    if (t->list.n)
        return;
    t->vflip = cfg->aug.vflip;
    if (policy_parse(&t->policy, cfg->aug.auto_augment, &why) < 0)
        usage("AUG.AUTO_AUGMENT %s", why.buf);
    for (int c = 0; c < 3; c++) {
        int channel = c < cfg->model.in_chans ? c : 0;

        t->jitter[c] = t->policy.kind ? 0 : cfg->aug.color_jitter;
        mean[c] = input_mean(cfg, channel);
        std[c] = input_std(cfg, channel);
    }
    erase_init(&t->erase, d.erases ? 0 : cfg->aug.reprob, (enum erase_mode)d.erase.mode,
               d.erase.count, mean, std);
    if (d.flips)
        t->flip = (struct augment_flips){0};
    if (d.jitters)
        memset(t->jitter, 0, sizeof(t->jitter));
}

static void data_interpolate(const struct config *cfg, struct transform *t)
{
    int how = cfg->aug.interpolation;

    if (how == AUG_INTERPOLATION_BILINEAR)
        t->filter = RESIZE_BILINEAR;
    else if (how == AUG_INTERPOLATION_BICUBIC)
        t->filter = RESIZE_BICUBIC;
    t->filter_random = how == AUG_INTERPOLATION_RANDOM;
}

struct image_limits data_limits(const struct config *cfg)
{
    struct image_limits l = {
        .max_pixels = cfg->data.max_pixels,
        .max_bytes = cfg->data.max_bytes,
        .truncated = cfg->data.load_truncated_images,
        .rotate = cfg->data.exif_rotate,
    };

    (void)value_range_parse(cfg->data.range, &l.range); /* the schema checks it */
    return l;
}

struct transform data_transform(const struct config *cfg, enum data_split split)
{
    int size = (int)cfg->data.img_size;
    struct transform t = transform_for_evaluation(size, (int)(size / cfg->data.crop_pct));
    bool train = split == DATA_TRAIN;

    if (segment_config(cfg)) {
        t = segment_transform(cfg, train);
        t.shrink_gap = train || cfg->test.shrink ? t.shrink_gap : 0;
        return t;
    }
    if (!train && !cfg->test.shrink)
        t.shrink_gap = 0;
    if (train && data_pads(cfg)) {
        t = transform_for_small_training(size);
        t.pad = (int)cfg->aug.pad_crop;
        t.pad_mode = (enum pad_mode)cfg->aug.pad_mode;
    } else if (train && cfg->aug.crop_mode != CROP_MODE_NONE) {
        t = transform_for_training(size);
        memcpy(t.scale, cfg->aug.scale.item, sizeof(t.scale));
        memcpy(t.ratio, cfg->aug.ratio.item, sizeof(t.ratio));
    } else if (!cfg->test.crop) {
        t.kind = TRANSFORM_STRETCH;
    }
    t.channels = (int)cfg->model.in_chans;
    t.filter = cfg->data.interpolation == INTERPOLATION_BILINEAR ? RESIZE_BILINEAR
                                                                 : RESIZE_BICUBIC;
    if (train) {
        t.resize_later = device_resizes(cfg);
        data_interpolate(cfg, &t);
        data_augment(cfg, &t);
    }
    return t;
}
