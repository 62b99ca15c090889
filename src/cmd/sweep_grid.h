/*
 * The runs of a sweep: every combination of the values of some keys, or the lines of a
 * file.
 *
 *   TRAIN.BASE_LR=0.1,0.2          two values
 *   MODEL.DROP_PATH_RATE=0:0.3:0.1 0, 0.1, 0.2, 0.3: from, to, step
 *   TRAIN.OPTIMIZER.NAME=sgd,adamw
 *   AUG.SCALE=[0.2,1],[0.5,1]      commas in brackets do not separate values
 */
#ifndef CMD_SWEEP_GRID_H
#define CMD_SWEEP_GRID_H

#include <stdbool.h>
#include <stdint.h>

struct sweep_run {
    char *name;  /* "base_lr=0.1_drop_path_rate=0": its TAG, and names its files */
    char **word; /* arguments: KEY=VALUE, or the words of a line */
    int nword;
};

struct sweep_grid {
    struct sweep_run *run;
    int n, cap;
};

/* Adds all combinations of `axis` (KEY=VALUES); the last key varies fastest. Exits if an
 * axis is invalid. */
void sweep_grid_add_axes(struct sweep_grid *g, char *const *axis, int naxis);

/* Splits "A,B,[C,D]" or a range FROM:TO:STEP. Returns a heap array of n heap strings. */
char **sweep_grid_values(const char *text, int *n);

/* Adds a run with these words, which it then owns. Returns false, and frees them, if there is
 * a run of the same name. */
bool sweep_grid_add_words(struct sweep_grid *g, char **word, int nword);

/* Adds one run per line (words and quotes: base/words.h); ignores empty lines and comments
 * (#). Exits if the file cannot be read. */
void sweep_grid_add_file(struct sweep_grid *g, const char *path);

/* Keeps n runs, chosen by `seed`, in their order. */
void sweep_grid_sample(struct sweep_grid *g, int n, uint64_t seed);

/* Exits if two runs would share a folder. */
void sweep_grid_check(const struct sweep_grid *g);

void sweep_grid_release(struct sweep_grid *g);

#endif
