/*
 * predict --submission FILE: answers in the form of a competition's sample file.
 *
 *   struct submission *s = submission_open("sample_submission.csv", name, classes);
 *   submission_add(s, "test/0042.jpg", probability);     for each image
 *   submission_write(s, "submission.csv");
 *
 * The sample's first column names images, with or without extension; rows and columns keep
 * their order. One more column gets the name of the likeliest class; a column for each
 * class, called as the class is, gets its probability. Two classes called 0 and 1 and a
 * sample whose second column has a fraction (0.5) mean the probability of class 1.
 */
#ifndef CMD_SUBMISSION_H
#define CMD_SUBMISSION_H

#include "base/strbuf.h"

struct submission;

/* Ends the program if the sample is none, or has other classes. `sample` NULL: a row per
 * image in the order of submission_add, with the columns id and label. */
struct submission *submission_open(const char *sample, char *const *name, int classes);
/* `probability`: of all classes. Only the file name of `path` counts. */
void submission_add(struct submission *s, const char *path, const double *probability);
/* Ends the program if a row of the sample has no image, or the file cannot be written.
 * Releases s. */
void submission_write(struct submission *s, const char *path);

#endif
