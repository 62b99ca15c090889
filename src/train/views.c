#include "train/views.h"

#include <stdio.h>
#include <string.h>

#include "train/segment_config.h"

enum { NAME_SIZE = 64 };

/* Copies the first name of a list with commas to `name`. Returns the rest, or NULL at the
 * end. */
static const char *next_name(const char *list, char name[NAME_SIZE])
{
    size_t len = strcspn(list, ",");

    (void)snprintf(name, NAME_SIZE, "%.*s", (int)len, list);
    return list[len] ? list + len + 1 : NULL;
}

static bool listed(const struct config *cfg, const char *want)
{
    char name[NAME_SIZE];

    for (const char *rest = cfg->test.tta; rest;) {
        rest = next_name(rest, name);
        if (!strcmp(name, want))
            return true;
    }
    return false;
}

static bool known(const char *name)
{
    static const char *const names[] = {"hflip", "vflip", "five_crop", "ten_crop"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static bool crops(const struct config *cfg)
{
    return listed(cfg, "five_crop") || listed(cfg, "ten_crop");
}

void views_check(const struct config *cfg, struct problems *p)
{
    char name[NAME_SIZE];

    for (const char *rest = *cfg->test.tta ? cfg->test.tta : NULL; rest;) {
        rest = next_name(rest, name);
        if (!known(name))
            problems_error(p, "TEST.TTA",
                           "has no view '%s'; views are hflip, vflip, five_crop, and "
                           "ten_crop",
                           name);
    }
    if (crops(cfg) && segment_config(cfg))
        problems_error(
            p, "TEST.TTA",
            "five_crop and ten_crop are for classifiers; a segmentation covers "
            "whole images with windows (TEST.SCALES)");
    else if (crops(cfg) && !cfg->test.crop)
        problems_error(p, "TEST.TTA",
                       "five_crop and ten_crop need TEST.CROP True: the corners of a "
                       "stretched image are all the same");
    else if (crops(cfg) && cfg->data.crop_pct >= 1)
        problems_warn(
            p, "TEST.TTA",
            "the five crops of a square image are the same with DATA.CROP_PCT 1; "
            "timm's usual 0.875 leaves room for corners");
}

int views_of_config(const struct config *cfg, struct view view[VIEWS_MAX])
{
    int corners = crops(cfg) ? CORNERS : 1, n = 0;
    int vflips = listed(cfg, "vflip") ? 2 : 1;
    int hflips = listed(cfg, "hflip") || listed(cfg, "ten_crop") ? 2 : 1;

    for (int c = 0; c < corners; c++)
        for (int v = 0; v < vflips; v++)
            for (int h = 0; h < hflips; h++)
                view[n++] = (struct view){h == 1, v == 1, (enum transform_corner)c};
    return n;
}

void view_apply(const struct view *v, struct transform *t)
{
    t->corner = v->corner;
    t->flip = (struct augment_flips){.probability = v->hflip};
    t->vflip = v->vflip;
}
