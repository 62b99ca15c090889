/*
 * predict --submission FILE: writes predictions in the format of a competition's sample
 * file.
 *
 *   struct submission *s = submission_open("sample_submission.csv", name, classes, false);
 *   submission_add(s, "test/0042.jpg", probability);     for each image
 *   submission_write(s, "submission.csv");
 *
 * The first column of the sample names images, with or without extension; rows and columns
 * keep their order. A single further column gets the name of the most likely class;
 * several columns, named like classes, get their probabilities. If the classes are 0 and 1
 * and the second column of the sample holds a fraction (0.5), it gets the probability of
 * class 1.
 */
#ifndef CMD_SUBMISSION_H
#define CMD_SUBMISSION_H

#include <stdbool.h>

#include "base/strbuf.h"

struct submission;

/* Exits if the sample is unreadable or has other classes. sample: NULL for the columns id
 * and label and one row per image, in the order of submission_add(). values: of a
 * regression, whose targets have the names; they are written as they are. */
struct submission *submission_open(const char *sample, char *const *name, int classes,
                                   bool values);
/* probability: one per class, or the values. Only the file name of `path` matters. */
void submission_add(struct submission *s, const char *path, const double *probability);
/* Exits if a row of the sample has no image, or the file cannot be written. Releases s. */
void submission_write(struct submission *s, const char *path);

#endif
