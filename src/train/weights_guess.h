/*
 * The models that a weights file seems to be of, by names and shapes: it has each tensor
 * of theirs, classifiers and grids of positions of any size, and no other.
 *
 *   struct weights_guess g = {0};
 *   weights_guess_make(&g, &file);
 *   for (i < g.n) ... g.model[i]->name     all with the same names
 *   weights_guess_release(&g);
 */
#ifndef TRAIN_WEIGHTS_GUESS_H
#define TRAIN_WEIGHTS_GUESS_H

#include "models/table.h"
#include "train/file_names.h"

enum { WEIGHTS_GUESSES = 8 };

struct weights_guess {
    const struct model *model[WEIGHTS_GUESSES]; /* the best, equally good */
    int n;
    struct file_names names; /* the file's, for the first; set if n > 0 */
    char **name;             /* the first model's tensors that the file has */
    int nname;
};

void weights_guess_make(struct weights_guess *g, const struct weights_file *file);
void weights_guess_release(struct weights_guess *g);

/* Appends "; the file looks like resnet34 or ...", or nothing if `but` is among them or no
 * model fits. */
void weights_guess_add(struct strbuf *s, const struct weights_file *file,
                       const struct model *but);

#endif
