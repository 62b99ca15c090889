/*
 * Class sets of label files in colors: DATA.CLASS_COLORS, and files such as CamVid's
 * label_colors.txt ("64 128 64 Animal") or class_dict.csv ("Animal,64,128,64").
 */
#ifndef DATASET_CLASS_COLORS_H
#define DATASET_CLASS_COLORS_H

#include "base/fields.h"
#include "dataset/class_set.h"

/* Parses "#804080" or "128 64 128". Returns false if the text is not a color. */
bool class_color_parse(const char *text, uint32_t *rgb);

struct class_colors {
    struct class_color {
        uint32_t rgb;
        char *name; /* may be empty */
    } * item;
    int n, cap;
};

/* Returns false and a reason if the file cannot be read or a line has no color. */
bool class_colors_read(struct class_colors *c, const char *path, struct strbuf *why);
void class_colors_release(struct class_colors *c);

/*
 * Returns the class set of `colors`, which has one color per class or the name of a
 * single file (relative to `dir`). `names`: class names; if empty, those of the file, or
 * "class7". `ignored`: colors without a class, or "others" for all remaining colors.
 * Returns NULL and a reason on failure. The set is never freed.
 */
const struct class_set *class_colors_set(const struct str_list *colors,
                                         const struct str_list *names,
                                         const struct str_list *ignored, const char *dir,
                                         struct strbuf *why);

#endif
