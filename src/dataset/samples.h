/*
 * Samples in container files: many samples per file, any number of files per split.
 * Shared by the storages of containers. A kind of container is a struct container and a
 * row in table.c.
 *
 * shards.h finds the files of a split. Samples are numbered file by file, in the order of
 * the file. Their positions are read once and cached in an index (sample_index.h).
 * sample_classes.h assigns their classes.
 *
 * Private to src/dataset.
 */
#ifndef DATASET_SAMPLES_H
#define DATASET_SAMPLES_H

#include "base/arena.h"
#include "dataset/left_out.h"
#include "dataset/table.h"

/* A part of a file. Each container defines the units of `offset` and the checksum `sum`. */
struct sample_part {
    uint64_t offset, len, sum;
};

struct sample {
    struct sample_part image, label_map; /* len 0: absent */
    int32_t label;                       /* class index or enum sample_label */
    int32_t file;
    const char *name; /* in samples.mem */
    const char *text; /* also in samples.mem. The class of SAMPLE_TEXT and SAMPLE_REMARK.
                       * The reason of SAMPLE_DAMAGED; NULL: read() returns it */
};

enum sample_label {
    SAMPLE_NO_LABEL = -1,
    /* list() could not read it. Counts as having a class and a label map, so that the
     * damage is handled by DATA.ON_ERROR. */
    SAMPLE_DAMAGED = -2,
    SAMPLE_TEXT = -3,
    SAMPLE_REMARK = -4 /* a text, perhaps a caption: a class only if there are no other
                        * labels */
};

struct samples;

struct container {
    const char *name;             /* DATA.DATASET */
    const char *ending;           /* of its files: ".tar" */
    const char *other_endings[3]; /* alternatives to `ending`, terminated by NULL */
    const char *inside; /* a folder with an entry of this name counts as a file; may be
                         * NULL */
    bool numbered;      /* also accepts numbered files without the ending:
                         * train-00000-of-01024 */
    const char
        *companion_end; /* ending of companion files, which are not containers themselves:
                         * ".labels.rec"; may be NULL */
    const char *companion[3]; /* suffixes, in place of the ending, of companion files that
                               * list() reads: "_map.txt". The index is rebuilt if one of
                               * them changes. Terminated by NULL */
    /* Returns NULL and a reason, without the file's name, on failure. */
    void *(*open)(const char *path, struct strbuf *why);
    /* Adds the samples of an open file. Returns a failure (< 0) and a reason. */
    int (*list)(void *file, struct samples *s, struct strbuf *why);
    /* Reads a part of a sample, selected by `label_map`. Thread-safe. Returns a failure
     * of base/failure.h and a reason. */
    int (*read)(void *file, const struct sample *sample, bool label_map, int64_t limit,
                struct dataset_bytes *out, struct strbuf *why);
    void (*close)(void *file);
};

struct samples {
    struct dataset base;
    const struct container *type;
    bool label_maps;
    char **path; /* of the nfile containers */
    void **open;
    int nfile;
    int64_t *first; /* [nfile + 1]: first sample of each file, then the end */
    struct sample *sample;
    size_t cap;
    struct arena mem;
    int listed; /* index of the file that list() is reading */
    struct left_out left;
    char *hint; /* why a sample has no class, or NULL */
};

/* For list(): adds a sample of the current file. Copies the name. */
struct sample *samples_add(struct samples *s, const char *name);

/* Marks the sample as damaged. Copies the reason. */
__attribute__((format(printf, 3, 4))) void
samples_damage(struct samples *s, struct sample *sample, const char *why, ...);

/* Removes samples i in [first, n) with drop[i - first]. */
void samples_remove(struct samples *s, int64_t first, const bool *drop);

/* Returns the path of companion k, a heap string (PATH/train.zip -> PATH/train_map.txt),
 * or NULL after the last. */
char *samples_companion(const struct container *c, const char *path, int k);

/* Members of struct storage. */
bool samples_probe(const struct container *c, const struct dataset_source *s);
bool samples_has_label_maps(const struct container *c, const struct dataset_source *s);
bool samples_check(const struct container *c, const struct dataset_source *s,
                   struct strbuf *why);
struct dataset *samples_open(const struct container *c, const struct dataset_source *s);

extern const char *const container_reads[]; /* storage.reads */

/* Defines the storage of container_NAME; `text` is its help, `keys` its .reads. */
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
