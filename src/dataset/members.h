/*
 * Members of an archive as samples.
 *
 * An image in a class folder is a sample by itself, whatever dots are in its name. A
 * member next to it that belongs to it gives it more, as WebDataset has it: KEY.cls,
 * KEY.json, KEY.txt a class, KEY.seg.png or KEY.mask.png a label map. KEY is the image's
 * name without its ending or up to its first dot; of several images of one such KEY the
 * first is the sample. Endings count in any case. Members of a sample follow one another:
 * those whose names up to the first dot are equal. What no sample takes is left out
 * (left_out.h).
 *
 *   struct members m = members_begin(samples, file, read);
 *   while (...) members_add(&m, name, &part, &why);
 *   members_end(&m, &why);
 *
 * Where a member cannot be found, members_lose().
 *
 * Private to src/dataset.
 */
#ifndef DATASET_MEMBERS_H
#define DATASET_MEMBERS_H

#include "base/strmap.h"
#include "dataset/samples.h"

struct archive_entry;

/* Reads a member's bytes; a failure of base/failure.h and a reason. */
typedef int member_read(void *file, const struct sample_part *part, int64_t limit,
                        struct dataset_bytes *out, struct strbuf *why);

struct members {
    struct samples *samples;
    void *file;
    member_read *read;
    int64_t first; /* sample of the file */

    /* The run of members whose names are equal up to the first dot. */
    char *key;
    struct member_image {
        char *name;
        struct sample_part part, label_map;
        struct member_other *label; /* that has its class; NULL: none */
    } * image;
    int nimage;
    size_t image_cap;
    struct strmap stems; /* an image's name without its ending, to its index + 1 */
    struct member_other {
        char *name;
        const struct member_kind *kind;
        struct sample_part part;
    } * other;
    int nother;
    size_t other_cap;

    bool damaged; /* the first sample of the run is */
    char
        *lost; /* what is damaged is called so, unless the next sample is that; or NULL */
    const struct member_kind *best; /* what samples have of the kinds that tell a class,
                                     * or of label maps; NULL: none */
};

struct members members_begin(struct samples *s, void *file, member_read *read);

/* The name of an entry that is a file and not hidden. NULL: it is passed over, and counts
 * as left out of `s` (NULL: of nothing) unless it is a folder. */
const char *members_name(struct samples *s, struct archive_entry *e);

/* Fails only where the machine does: a failure of base/failure.h and a reason. */
int members_add(struct members *m, const char *name, const struct sample_part *part,
                struct strbuf *why);

/* What came next is damaged: the sample whose members are being read, or the next one, if
 * they lack their class or label map and others have theirs; else one more, called `name`
 * (NULL: none). */
int members_lose(struct members *m, const char *name, struct strbuf *why);

/* Adds the last samples, removes those whose names are there again later, and releases. */
int members_end(struct members *m, struct strbuf *why);

#endif
