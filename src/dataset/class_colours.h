/*
 * Class sets of label files in colours: DATA.CLASS_COLORS, and files such as CamVid's
 * label_colors.txt ("64 128 64 Animal") or class_dict.csv ("Animal,64,128,64").
 */
#ifndef DATASET_CLASS_COLOURS_H
#define DATASET_CLASS_COLOURS_H

#include "base/fields.h"
#include "dataset/class_set.h"

/* "#804080", "128 64 128". False: it is no colour. */
bool class_colour_parse(const char *text, uint32_t *rgb);

struct class_colours {
    struct class_colour {
        uint32_t rgb;
        char *name; /* empty: none */
    } * at;
    int n, cap;
};

/* False, and a reason: it cannot be read, or a line has no colour. */
bool class_colours_read(struct class_colours *c, const char *path, struct strbuf *why);
void class_colours_release(struct class_colours *c);

/*
 * The set of `colours`: one for each class, or the name of one file, in `dir` if it does
 * not start with a slash. `names`: of the classes; empty: those of the file, or class7.
 * `ignored`: colours without a class, or "others", which is all. NULL, and the reason:
 * there is no such set. Lives as long as the program.
 */
const struct class_set *class_colours_set(const struct str_list *colours,
                                          const struct str_list *names,
                                          const struct str_list *ignored, const char *dir,
                                          struct strbuf *why);

#endif
