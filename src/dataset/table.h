/*
 * The storages, a row each: how a data set can lie on a disk. DATA.DATASET names one.
 *
 *   struct dataset_source s = {.path = "/data/voc", .split = "train", .labels = {...}};
 *   const struct storage *row = storage_find("voc");
 *   if (!row->check(&s, &why))
 *       ... why.buf says what is not there ...
 *   struct dataset *d = row->open(&s);
 *
 * A new storage is its file, which defines storage_NAME, and a word in table.c; nothing
 * else in the tree names it. `trainc help DATA.DATASET` lists them.
 */
#ifndef DATASET_TABLE_H
#define DATASET_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fields.h"
#include "base/names.h"
#include "dataset/dataset.h"

/* What the values of label maps mean. */
struct label_options {
    const struct class_set *set; /* NULL: values 0 .. classes - 1 */
    int classes;
    int first;                /* of classes that are numbers, the first: 0 or 1 */
    const char *const *names; /* of each class; NULL: those of the set */
    bool train_ids; /* Cityscapes: *_labelTrainIds.png in place of *_labelIds.png */
    struct int_table replace; /* rows [v, w]: value v of label files is read as w */
    bool reduce_zero;         /* then 0 is ignored, and other values become one less */
};

/* Classes of a data set of label maps, and the meaning of their values. */
void label_options_apply(struct dataset *d, const struct label_options *o);

/* What to open: one split of a data set. Texts stay the caller's, and must stay. */
struct dataset_source {
    const char *path;            /* DATA.DATA_PATH */
    const char *split;           /* "train"; empty or NULL: the path is the split's */
    struct label_options labels; /* generated classes: `classes` alone */
    struct {                     /* tables: names of columns, and the images' folder; NULL
                                  * or empty: the usual ones */
        const char *image, *label, *split, *folder, *weight, *separator;
    } columns;
    bool multilabel;  /* MODEL.TASK: a set of labels per image */
    bool carved;      /* both splits are parts of one: DATA.VAL_FRACTION, DATA.FOLD */
    const char *keep; /* DATA.INDEX_DIR as a folder (keep.h); NULL: none */

    /* For generated data alone, which is a function of these and the sample's index. */
    int64_t samples;
    int width, height; /* pixels */
    int channels;      /* per pixel; 0: 3 */
    uint32_t number;   /* of the split: other splits, other images */
    bool label_maps;   /* STORAGE_EITHER: not a class per image */
};

enum storage_labels {
    STORAGE_CLASSES,    /* a class per image */
    STORAGE_LABEL_MAPS, /* a class per pixel */
    STORAGE_EITHER      /* what dataset_source.label_maps says */
};

struct storage {
    const char *name;     /* DATA.DATASET */
    const char *alias[4]; /* other names of the same; NULL ends them */
    const char *help;     /* one line: which files it consists of */
    enum storage_labels labels;
    const char *stand_in; /* the command that makes a small data set of this layout,
                           * without `--out DIR`: "synth shapes"; NULL: there is none */
    bool generated; /* made while it is read: no files, so path, check and probe are not
                     * used, and it has as many samples as are asked for */

    /* The keys that it reads and some other storage does not; NULL ends them, and NULL in
     * place of the list is none. Keys that only others read are said to have no
     * effect. */
    const char *const *reads;

    /* For hints: does the source look like this storage? A quick look, which must not
     * claim what another storage's is, and never ends the program. */
    bool (*probe)(const struct dataset_source *s);
    /* Of STORAGE_EITHER: do the samples have label maps, and no class per image? False also
     * if that cannot be told; never ends the program. */
    bool (*has_label_maps)(const struct dataset_source *s);
    /* Of STORAGE_CLASSES: true if images look as if they had sets of labels, for init;
     * NULL: never. Never ends the program. */
    bool (*has_label_sets)(const struct dataset_source *s);
    /* Before hours of work: is the split there? The caller has checked the path. Reads no
     * file. False, and `why` gets what is missing: "'/data' has no folder 'train'". */
    bool (*check)(const struct dataset_source *s, struct strbuf *why);
    /* Ends the program if the data set cannot be read. For dataset_close(). */
    struct dataset *(*open)(const struct dataset_source *s);
};

/* Ends with NULL; in the order of the help. */
extern const struct storage *const storage_table[];

/* By a name or an alias; NULL: there is none. */
const struct storage *storage_find(const char *name);

extern const struct names storage_names; /* aliases included */

bool storage_reads(const struct storage *row, const char *key);

/* The first row but `except` (or NULL) whose probe knows the source; NULL: none. */
const struct storage *storage_probe(const struct storage *except,
                                    const struct dataset_source *s);

/*
 * What else the source may be: "'/data' looks like DATA.DATASET list", by the probes of
 * all rows but `row`; of a file also by the folder that it lies in. Nothing if none fits.
 */
void storage_add_guess(const struct storage *row, const struct dataset_source *s,
                       struct strbuf *out);

/* Opens by name; ends with usage() if there is no such storage. */
struct dataset *dataset_open(const char *name, const struct dataset_source *s);

#endif
