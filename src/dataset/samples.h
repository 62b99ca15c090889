/*
 * Samples in container files, many in each, any number of files per split: what the
 * storages of containers share. A kind of container is a struct container and a row in
 * table.c.
 *
 * The files of a split are those that shards.h finds. Samples are numbered file by file,
 * in the order in which they lie there. Where they lie is read once and kept in an index
 * (sample_index.h).
 *
 * sample_classes.h tells what their classes are.
 *
 * Private to src/dataset.
 */
#ifndef DATASET_SAMPLES_H
#define DATASET_SAMPLES_H

#include "base/arena.h"
#include "dataset/left_out.h"
#include "dataset/table.h"

/* Bytes of one file; what `at` counts and `sum` checks, each container decides. */
struct sample_part {
    uint64_t at, len, sum;
};

struct sample {
    struct sample_part image, label_map; /* len 0: there is none */
    int32_t label;                       /* a class index, or an enum sample_label */
    int32_t file;
    const char *name; /* in samples.mem */
    const char *text; /* the same: of SAMPLE_TEXT and SAMPLE_REMARK the class; of
                       * SAMPLE_DAMAGED the reason, NULL: read() tells it */
};

enum sample_label {
    SAMPLE_NO_LABEL = -1,
    /* list() could not read it. It passes both as a class and as a label map, so that
     * damage is dealt with as DATA.ON_ERROR says. */
    SAMPLE_DAMAGED = -2,
    SAMPLE_TEXT = -3,
    SAMPLE_REMARK = -4 /* a text that may be a caption: a class if nothing else is one */
};

struct samples;

struct container {
    const char *name;             /* DATA.DATASET */
    const char *ending;           /* of its files: ".tar" */
    const char *other_endings[3]; /* with which they are found, too; NULL ends them */
    const char *inside; /* a folder that holds this is one of the files; or NULL */
    bool numbered;      /* files without the ending count, too: train-00000-of-01024 */
    const char *beside; /* ending of companion files, which are no containers of their
                         * own: ".labels.rec"; NULL: there are none */
    const char *companion[3]; /* of companion files that list() reads, in place of the
                               * ending: "_map.txt"; the index is made again if one of
                               * them changes. NULL ends them */
    /* If it fails: NULL, and a reason without the file's name. */
    void *(*open)(const char *path, struct strbuf *why);
    /* Adds the samples of the open file; -1 and a reason. */
    int (*list)(void *file, struct samples *s, struct strbuf *why);
    /* By any number of threads at once. A failure of base/failure.h and a reason.
     * `label_map`: which part of the sample is read. */
    int (*read)(void *file, const struct sample *at, bool label_map, int64_t limit,
                struct dataset_bytes *out, struct strbuf *why);
    void (*close)(void *file);
};

struct samples {
    struct dataset base;
    const struct container *type;
    bool label_maps;
    char **path; /* of each of the nfile containers */
    void **open;
    int nfile;
    int64_t *first; /* [nfile + 1]: the first sample of each file, and the end */
    struct sample *sample;
    size_t cap;
    struct arena mem;
    int listed; /* while list() runs: the index of its file */
    struct left_out left;
    char *hint; /* why some sample has no class; NULL: nothing is known */
};

/* For list(): a sample of the file that is being listed; name is copied. */
struct sample *samples_add(struct samples *s, const char *name);

/* The sample cannot be read, for this reason, of which a copy is kept. */
__attribute__((format(printf, 3, 4))) void
samples_damage(struct samples *s, struct sample *at, const char *why, ...);

/* Removes those of samples [first, n) for which drop[i - first]. */
void samples_remove(struct samples *s, int64_t first, const bool *drop);

/* PATH/train.zip -> PATH/train_map.txt, companion k of the file; a heap string. NULL:
 * there are no such files. */
char *samples_companion(const struct container *c, const char *path, int k);

/* The members of struct storage. */
bool samples_probe(const struct container *c, const struct dataset_source *s);
bool samples_has_label_maps(const struct container *c, const struct dataset_source *s);
bool samples_check(const struct container *c, const struct dataset_source *s,
                   struct strbuf *why);
struct dataset *samples_open(const struct container *c, const struct dataset_source *s);

extern const char *const container_reads[]; /* storage.reads */

/* A row of the table for container_NAME; `text` is its help, `keys` its .reads. */
#define CONTAINER_STORAGE(id, text) CONTAINER_STORAGE_READS(id, text, container_reads)
#define CONTAINER_STORAGE_READS(id, text, keys)                                          \
    static bool id##_probe(const struct dataset_source *s)                               \
    {                                                                                    \
        return samples_probe(&container_##id, s);                                        \
    }                                                                                    \
    static bool id##_has_label_maps(const struct dataset_source *s)                      \
    {                                                                                    \
        return samples_has_label_maps(&container_##id, s);                               \
    }                                                                                    \
    static bool id##_check(const struct dataset_source *s, struct strbuf *why)           \
    {                                                                                    \
        return samples_check(&container_##id, s, why);                                   \
    }                                                                                    \
    static struct dataset *id##_open_all(const struct dataset_source *s)                 \
    {                                                                                    \
        return samples_open(&container_##id, s);                                         \
    }                                                                                    \
    const struct storage storage_##id = {                                                \
        .name = #id,                                                                     \
        .help = text,                                                                    \
        .labels = STORAGE_EITHER,                                                        \
        .reads = keys,                                                                   \
        .probe = id##_probe,                                                             \
        .has_label_maps = id##_has_label_maps,                                           \
        .check = id##_check,                                                             \
        .open = id##_open_all,                                                           \
    }

#endif
