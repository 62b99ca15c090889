/*
 * Converts members of an archive to samples.
 *
 * An image in a class folder is a sample by itself, regardless of dots in its name.
 * Members next to it may add to it, as in WebDataset: KEY.cls, KEY.json, and KEY.txt are
 * a class, KEY.seg.png and KEY.mask.png a label map. KEY is the image's name without its
 * extension, or up to its first dot; if several images have such a KEY, the first is the
 * sample. Case of extensions is ignored. The members of a sample are adjacent: their
 * names are equal up to the first dot. Members that no sample uses are counted
 * (left_out.h).
 *
 *   struct members m = members_begin(samples, file, read);
 *   while (...) members_add(&m, name, &part, &why);
 *   members_end(&m, &why);
 *
 * If a member cannot be found because of damage, call members_drop().
 *
 * Private to src/dataset.
 */
#ifndef DATASET_MEMBERS_H
#define DATASET_MEMBERS_H

#include "base/strmap.h"
#include "dataset/samples.h"

struct archive_entry;

/* Reads a member's bytes. Returns a failure of base/failure.h and a reason. */
typedef int member_read(void *file, const struct sample_part *part, int64_t limit,
                        struct dataset_bytes *out, struct strbuf *why);

struct members {
    struct samples *samples;
    void *file;
    member_read *read;
    int64_t first; /* first sample of the file */

    /* The current run: adjacent members whose names are equal up to the first dot. */
    char *key;
    struct member_image {
        char *name;
        struct sample_part part, label_map;
        struct member_other *label; /* the member with its class, or NULL */
    } * image;
    int nimage;
    size_t image_cap;
    struct strmap stems; /* image name without extension -> its index + 1 */
    struct member_other {
        char *name;
        const struct member_kind *kind;
        struct sample_part part;
    } * other;
    int nother;
    size_t other_cap;

    bool damaged; /* the first sample of the run is damaged */
    /* Name of the damaged sample to add, unless the next run proves to be it; or NULL. */
    char *lost;
    const struct member_kind *best; /* the kind of class members or label maps that
                                     * samples have had so far, or NULL */
};

struct members members_begin(struct samples *s, void *file, member_read *read);

/* Returns the entry's name if it is a regular file and not hidden, else NULL. Skipped
 * entries other than folders are counted in `s` (unless NULL). */
const char *members_name(struct samples *s, struct archive_entry *e);

/* Returns a failure of base/failure.h and a reason only if the machine fails. */
int members_add(struct members *m, const char *name, const struct sample_part *part,
                struct strbuf *why);

/* Reports damage after the last member. The current sample or the next one is marked as
 * damaged if it lacks the class or label map that others have; otherwise a damaged sample
 * called `name` is added (unless NULL). */
int members_drop(struct members *m, const char *name, struct strbuf *why);

/* Adds the last samples, removes those that a later member of the same name replaces, and
 * releases m. */
int members_end(struct members *m, struct strbuf *why);

#endif
