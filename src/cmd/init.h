/*
 * trainc init DIR: a configuration for the images in a folder, with the reason for each
 * value.
 *
 *   init.c          the verb, and what it prints
 *   init_layout.c   how the images lie: storage and splits; lists where nothing says it
 *   init_doubt.c    what speaks against that, and the other readings
 *   init_look.c     what they are: sizes, colours, classes
 *   init_colours.c  which colours of label maps are classes
 */
#ifndef CMD_INIT_H
#define CMD_INIT_H

#include "dataset/class_colours.h"
#include "dataset/table.h"

struct init_layout {
    const char *path; /* DATA.DATA_PATH */
    const struct storage *storage;
    const char *train, *val; /* the splits; NULL of val: there is none */
    bool label_maps;
    char *found;    /* in words: what it is taken for, and why */
    char *beside;   /* the name of a CSV file that is not read; NULL: there is none */
    char *own_path; /* of lists that were made; freed with the layout, as those below */
    char *own_train, *own_val;
};

/*
 * `lists`: a folder for train.txt and val.txt, which are written if the images have no
 * splits; NULL: none. `as`: a storage; NULL: whatever they look like. Ends the program if
 * no images are found, or if trainc is not sure what they are.
 */
void init_layout(struct init_layout *l, const char *path, const char *lists,
                 const char *as);
void init_layout_release(struct init_layout *l);
/* What the folder looks like, `only` (or NULL) being the one storage that is tried. False:
 * nothing; *l is to be released all the same. */
bool init_find(struct init_layout *l, const char *path, const struct storage *only);
/* Ends the program, with all readings, if what was found may well be something else, or
 * nothing was found; else notes what lies beside the images. */
void init_doubt(struct init_layout *l);
/* The source of a split, of a class per image or of label maps with `classes` values. */
struct dataset_source init_source(const struct init_layout *l, const char *split,
                                  int classes);

enum { INIT_VALUES = 256, INIT_COLOURS = 64 /* of label maps, at most */ };

/* Of label maps in colours. */
struct init_colours {
    struct init_colour {
        uint32_t rgb;
        double share; /* of the pixels, summed over `maps` */
    } found[INIT_COLOURS];
    int n, maps; /* maps 0: label maps hold values */
    struct class_colours classes, ignored;
    char *file; /* that names them, such as label_colors.txt; NULL: there is none */
    bool named; /* the classes have names */
};

struct init_facts {
    int64_t train, val;  /* images */
    double val_fraction; /* without a split: the share of all that validates; else 0 */
    int classes;
    char *least_name, *most_name; /* of a class */
    int64_t least, most;          /* images of these; 0 with label maps */
    int looked;                   /* images that were decoded */
    int width, height, shortest;  /* medians, and the shortest side of all */
    bool uniform;                 /* all are squares of one size */
    bool glyphs;                  /* classes are numbers or letters: session/job.h */
    bool grey;                    /* none of them has colours */
    double bytes;                 /* of all training images, decoded */
    /* Label maps, of those that were looked at: */
    double share[INIT_VALUES]; /* of the pixels, by value */
    int top;                   /* the largest value but 255 */
    bool has_ignored;          /* 255 is among them, and ignored */
    bool binary;               /* they hold 0 and 255 alone: 255 is read as 1 */
    struct init_colours colours;
};

/* Adds the colours of r->rgb, of the label map `name`. Ends the program if there are too
 * many. */
void init_colours_add(struct init_colours *c, const struct label_reader *r,
                      const char *name);
/* Finds which colours are classes, of the data set `path`, and their shares. */
void init_colours_settle(struct init_colours *c, const char *path, double *share);
/* The value of a key as YAML, a heap string; NULL: the key is not needed. */
enum init_colours_key { INIT_CLASS_COLORS, INIT_CLASS_NAMES, INIT_IGNORED_COLORS };
char *init_colours_yaml(const struct init_colours *c, enum init_colours_key key);
const struct class_set *init_colours_set(const struct init_colours *c);
void init_colours_release(struct init_colours *c);

void init_look(struct init_facts *f, const struct init_layout *l);
void init_facts_release(struct init_facts *f);

#endif
