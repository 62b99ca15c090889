/*
 * trainc init DIR: a configuration for the images in a folder, with the reason for each
 * value.
 *
 *   init.c          the verb, and what it prints
 *   init_layout.c   how the images lie: storage and splits; lists where nothing says it
 *   init_look.c     what they are: sizes, colours, classes
 */
#ifndef CMD_INIT_H
#define CMD_INIT_H

#include "dataset/table.h"

struct init_layout {
    const char *path; /* DATA.DATA_PATH */
    const struct storage *storage;
    const char *train, *val; /* the splits; NULL of val: there is none */
    bool label_maps;
    char *found;    /* in words */
    char *own_path; /* of lists that were made; freed with the layout */
};

/*
 * `lists`: a folder for train.txt and val.txt, which are written if the images have no
 * splits or lie in pairs of folders; NULL: none. Ends the program if no images are found,
 * or lists are needed.
 */
void init_layout(struct init_layout *l, const char *path, const char *lists);
void init_layout_release(struct init_layout *l);
/* The source of a split, of a class per image or of label maps with `classes` values. */
struct dataset_source init_source(const struct init_layout *l, const char *split,
                                  int classes);

enum { INIT_VALUES = 256 };

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
};

void init_look(struct init_facts *f, const struct init_layout *l);
void init_facts_release(struct init_facts *f);

#endif
