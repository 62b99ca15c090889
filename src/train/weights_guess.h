/*
 * Guesses the models that match a weights file, by names and shapes: the file has all of
 * the model's tensors and no others; classifiers and position grids may have any size.
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
    const struct model *model[WEIGHTS_GUESSES]; /* the best models, with equal scores */
    int n;
    struct file_names names; /* mapping for the first model; set if n > 0 */
    char **name;             /* tensors of the first model that the file has */
    int nname;
};

void weights_guess_make(struct weights_guess *g, const struct weights_file *file);
void weights_guess_release(struct weights_guess *g);

/* Appends "; the file looks like resnet34 or ...", or nothing if `but` is among them or no
 * model fits. */
void weights_guess_add(struct strbuf *s, const struct weights_file *file,
                       const struct model *but);

#endif
