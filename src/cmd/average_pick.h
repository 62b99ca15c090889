/*
 * The checkpoints that the arguments of `trainc average` name: files; folders of runs, which
 * stand for all their checkpoints, or the newest or best ones (--last, --best); and folders of
 * sweeps, which stand for best.safetensors of each run, or --last and --best of each.
 */
#ifndef CMD_AVERAGE_PICK_H
#define CMD_AVERAGE_PICK_H

#include "config/cmdline.h"

enum { AVERAGE_MAX = 500 }; /* open files */

struct picked {
    char **path;
    int n, cap;
};

/* Adds the checkpoints of all arguments. Dies if a folder is neither a run nor a sweep, or has
 * too few of them. */
void average_pick(struct picked *c, const struct cmdline *line);
void average_pick_release(struct picked *c);

/* Returns a checkpoint that an argument names, whose configuration the others share, as a heap
 * string; or NULL. Never dies. */
char *average_pick_first(const char *arg);

#endif
