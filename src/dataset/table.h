/*
 * The table of storages, that is, of the layouts that a data set can have on disk.
 * DATA.DATASET names one.
 *
 *   struct dataset_source s = {.path = "/data/voc", .split = "train", .labels = {...}};
 *   const struct storage *row = storage_find("voc");
 *   if (!row->check(&s, &why))
 *       ... why.buf says what is missing ...
 *   struct dataset *d = row->open(&s);
 *
 * A new storage is a file that defines storage_NAME, and a word in table.c; no other code
 * names it. `trainc help DATA.DATASET` lists all.
 */
#ifndef DATASET_TABLE_H
#define DATASET_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fields.h"
#include "base/names.h"
#include "dataset/dataset.h"

/* The meaning of values in label maps. */
struct label_options {
    const struct class_set *set; /* NULL: values 0 to classes - 1 */
    int classes;
    int first;                /* first class number: 0 or 1 */
    const char *const *names; /* class names; NULL: those of the set */
    bool train_ids; /* Cityscapes: *_labelTrainIds.png instead of *_labelIds.png */
    struct int_table replace; /* rows [v, w]: replaces value v of label files by w */
    bool reduce_zero;         /* then ignores 0 and subtracts 1 from other values */
};

/* Sets the classes of a data set of label maps, and the meaning of values. */
void label_options_apply(struct dataset *d, const struct label_options *o);

/* What to open: one split of a data set. Strings are not copied. */
struct dataset_source {
    const char *path;            /* DATA.DATA_PATH */
    const char *split;           /* "train"; empty or NULL: `path` is the split itself */
    struct label_options labels; /* generated data use only `classes` */
    struct {                     /* tables: column names, and the images' folder; NULL or
                                  * empty: the usual ones */
        const char *image, *label, *split, *folder, *weight, *separator;
    } columns;
    bool multilabel;  /* MODEL.TASK multilabel: a set of labels per image */
    bool values;      /* MODEL.TASK regression: numbers instead of a class */
    bool carved;      /* both splits are parts of one data set: DATA.VAL_FRACTION,
                       * DATA.FOLD */
    const char *keep; /* DATA.INDEX_DIR as a folder (keep.h), or NULL */

    /* Only for generated data, which is a function of these and the sample index. */
    int64_t samples;
    int width, height; /* pixels */
    int channels;      /* per pixel; 0: 3 */
    uint32_t number;   /* split number; each split has different images */
    bool label_maps;   /* STORAGE_EITHER: label maps instead of classes */
};

enum storage_labels {
    STORAGE_CLASSES,    /* one class per image */
    STORAGE_LABEL_MAPS, /* one class per pixel */
    STORAGE_EITHER      /* see dataset_source.label_maps */
};

struct storage {
    const char *name;     /* DATA.DATASET */
    const char *alias[4]; /* other names, terminated by NULL */
    const char *help;     /* one line: the files it consists of */
    enum storage_labels labels;
    const char *stand_in; /* command that generates a small data set of this layout,
                           * without `--out DIR`: "synth shapes"; may be NULL */
    bool generated; /* generated on the fly: has no files, so path, check, and probe are
                     * unused, and any number of samples */

    /* Keys that it reads and some other storage does not, terminated by NULL; may be
     * NULL. Keys that only other storages read are reported to have no effect. */
    const char *const *reads;

    /* True if the source looks like this storage; for hints. Must be fast, must not match
     * sources of other storages, and never ends the program. */
    bool (*probe)(const struct dataset_source *s);
    /* STORAGE_EITHER: true if the samples have label maps and no classes. False if
     * unknown; never ends the program. */
    bool (*has_label_maps)(const struct dataset_source *s);
    /* STORAGE_CLASSES: true if images appear to have sets of labels; for init. Never ends
     * the program. NULL: false. */
    bool (*has_label_sets)(const struct dataset_source *s);
    /* The same for numbers that cannot be classes; appends the names of their columns, with
     * commas between them, and the reason. NULL: false. */
    bool (*has_values)(const struct dataset_source *s, struct strbuf *columns,
                       struct strbuf *why);
    /* Returns false if the split does not exist, and appends what is missing: "'/data'
     * has no folder 'train'". Called before hours of work, with an existing path; does
     * not read files. */
    bool (*check)(const struct dataset_source *s, struct strbuf *why);
    /* Opens the data set; ends the program if it cannot be read. Close with
     * dataset_close(). */
    struct dataset *(*open)(const struct dataset_source *s);
};

/* In the order of the help, terminated by NULL. */
extern const struct storage *const storage_table[];

/* Finds a storage by name or alias; returns NULL if there is none. */
const struct storage *storage_find(const char *name);

extern const struct names storage_names; /* includes aliases */

bool storage_reads(const struct storage *row, const char *key);

/* Returns the first row, other than `except` (may be NULL), whose probe accepts the
 * source, or NULL. */
const struct storage *storage_probe(const struct storage *except,
                                    const struct dataset_source *s);

/*
 * Appends a guess such as "'/data' looks like DATA.DATASET list", from the probes of all
 * rows except `row`; for a file also tries its folder. Appends nothing if none matches.
 */
void storage_add_guess(const struct storage *row, const struct dataset_source *s,
                       struct strbuf *out);

/* Opens a data set by storage name; ends with usage() if there is no such storage. */
struct dataset *dataset_open(const char *name, const struct dataset_source *s);

#endif
