/*
 * Members of an archive as WebDataset names them: a name up to the first dot after the
 * last slash is its sample's key, what follows says what it is: an image's extension
 * (.jpg), .cls a class as a decimal number, .seg.png or .mask.png a label map. Members of
 * a sample follow one another; those of other kinds are passed over. Without .cls the
 * folder that an image lies in is its class, as in timm (samples.h).
 *
 *   struct members m = members_begin(samples, file, read);
 *   while (...) members_add(&m, name, &part, &why);
 *   members_end(&m);
 *
 * Where a member cannot be found, members_lose().
 *
 * Private to src/dataset.
 */
#ifndef DATASET_MEMBERS_H
#define DATASET_MEMBERS_H

#include "dataset/samples.h"

struct archive_entry;

struct members {
    struct samples *samples;
    void *file;
    /* Reads a member's bytes; a failure of base/failure.h and a reason. */
    int (*read)(void *file, const struct sample_part *part, int64_t limit,
                struct dataset_bytes *out, struct strbuf *why);

    /* The sample whose members are being read. */
    char *key, *name; /* name: of the image */
    struct sample_part image, label_map;
    int32_t label;
    char *lost;    /* what is damaged is called so, unless the next sample is that; or NULL */
    bool labelled; /* some sample has had a class, or a label map */
};

/* An entry that is a file and not hidden: its name; NULL: it is passed over. */
const char *members_name(struct archive_entry *e);

/* -1 and a reason: a .cls that holds no class. */
int members_add(struct members *m, const char *name, const struct sample_part *part,
                struct strbuf *why);

/* What came next is damaged: the sample whose members are being read, or the next one, if
 * they lack their class or label map and others have theirs; else one more, called `name`
 * (NULL: none). */
void members_lose(struct members *m, const char *name);

void members_end(struct members *m); /* adds the last sample, and releases */

#endif
