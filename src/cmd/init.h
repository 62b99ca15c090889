/*
 * trainc init DIR: prints a configuration for the images in a folder, with the reason for
 * each value.
 *
 *   init.c          the verb, and its output
 *   init_layout.c   detects storage and splits; writes lists if there are no splits
 *   init_doubt.c    finds ambiguities, and the other possible readings
 *   init_look.c     inspects the images: sizes, colors, classes
 *   init_colors.c  finds the colors of label maps that are classes
 */
#ifndef CMD_INIT_H
#define CMD_INIT_H

#include "base/strbuf.h"
#include "dataset/class_colors.h"
#include "dataset/table.h"

struct init_layout {
    const char *path; /* DATA.DATA_PATH */
    const struct storage *storage;
    const char *train, *val; /* the splits; val is NULL if there is none */
    bool label_maps, label_sets;
    bool values;                            /* numbers that cannot be classes */
    struct strbuf value_columns, value_why; /* their columns, and why */
    char *found;                            /* a phrase: the detected layout, and why */
    char *unread_csv; /* the name of a CSV file that is not read, or NULL */
    char *own_path;   /* of written lists; freed with the layout, as those below */
    char *own_train, *own_val;
};

/*
 * Exits if no images are found, or if the layout is ambiguous.
 * lists: the folder for train.txt and val.txt, which are written if the images have no
 * splits; NULL: write no lists.
 * as: the name of a storage; NULL: detect it.
 */
void init_layout(struct init_layout *l, const char *path, const char *lists,
                 const char *layout);
void init_layout_release(struct init_layout *l);
/* Detects the layout of the folder. only: the only storage to try, or NULL for all.
 * Returns false if nothing is found; release *l in either case. */
bool init_find(struct init_layout *l, const char *path, const struct storage *only);
/* Exits, listing all possible readings, if the layout is ambiguous or unknown. Otherwise
 * sets l->unread_csv. */
void init_check_ambiguity(struct init_layout *l);
/* Returns the source of a split. classes: the number of label values, for label maps. */
struct dataset_source init_source(const struct init_layout *l, const char *split,
                                  int classes);

enum { INIT_VALUES = 256, INIT_COLORS = 64 /* most colors of label maps */ };

/* The colors of label maps. */
struct init_colors {
    struct init_color {
        uint32_t rgb;
        double share; /* of the pixels, summed over `maps` */
    } found[INIT_COLORS];
    int n, maps; /* maps is 0 if label maps hold values, not colors */
    struct class_colors classes, ignored;
    char *file; /* the file that lists the colors, such as label_colors.txt, or NULL */
    bool named; /* true if the classes have names */
};

struct init_facts {
    int64_t train, val;  /* images */
    double val_fraction; /* fraction to hold out if there is no val split, or 0 */
    int classes;
    char *smallest_name, *largest_name; /* the smallest and the largest class */
    int64_t smallest, largest;          /* their images; 0 for label maps */
    int looked;                         /* number of inspected images */
    int width, height, shortest;        /* medians, and the shortest side of all */
    bool uniform;                       /* all are squares of one size */
    bool glyphs;  /* classes are numbers or letters: session/job.h */
    bool gray;    /* all inspected images are gray */
    double bytes; /* of all training images, decoded */
    /* Of the inspected label maps: */
    double share[INIT_VALUES];   /* of the pixels, by value */
    int top;                     /* the largest value except 255 */
    bool has_ignored;            /* 255 occurs and is ignored */
    const struct class_set *set; /* the class set that their files tell, or NULL */
    bool binary;                 /* only 0 and 255 occur: 255 becomes 1 */
    struct init_colors colors;
};

/* Adds the colors in r->rgb of the label map `name`. Exits if there are too many. */
void init_colors_add(struct init_colors *c, const struct label_reader *r,
                     const char *name);
/* Finds which colors of the data set at `path` are classes, and their shares. */
void init_colors_find_classes(struct init_colors *c, const char *path, double *share);
/* Returns the value of a key as YAML in a heap string, or NULL if the key is not needed. */
enum init_colors_key { INIT_CLASS_COLORS, INIT_CLASS_NAMES, INIT_IGNORED_COLORS };
char *init_colors_yaml(const struct init_colors *c, enum init_colors_key key);
const struct class_set *init_colors_set(const struct init_colors *c);
void init_colors_release(struct init_colors *c);

void init_look(struct init_facts *f, const struct init_layout *l);
void init_facts_release(struct init_facts *f);

#endif
