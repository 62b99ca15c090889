/*
 * The checkpoints that lie in an output folder, newest first: what a run goes on from, and
 * what may be deleted. train/saves.h has their names.
 */
#ifndef TRAIN_SAVE_LIST_H
#define TRAIN_SAVE_LIST_H

#include <stdbool.h>
#include <sys/types.h>

#include "train/checkpoint.h"

#define SAVE_ENDING ".safetensors"

struct save {
    char *path;
    struct checkpoint_mark mark;
    bool numbered; /* ckpt_epoch_E or ckpt_step_S, not last or best */
    bool damaged;  /* sorted last */
    dev_t dev;     /* and ino: names of one file have them in common */
    ino_t ino;
};

struct save_list {
    struct save *item;
    int n, cap;
    int unknown; /* errno of a folder that cannot be read */
};

/* True for a name that saves give, and no other: ckpt_good.safetensors, a copy that somebody
 * made, is not the run's. */
bool save_is_named(const char *name, const char *ending, bool *numbered);

/* `tell`: damaged files are named in the log, and the program ends at one that the machine
 * cannot read for now. Free it with save_list_free. */
struct save_list save_list_read(const char *dir, bool tell);
/* The same at the start, where a folder that cannot be read ends the program: it must not be
 * taken for an empty one, whose checkpoints would be overwritten. */
struct save_list save_list_all(const char *dir, bool tell);
void save_list_free(struct save_list *l);

/* Ends the program. A newer checkpoint that a disk error hides must not be passed over: the
 * logs would be cut to the older one, and be short when the newer one is read again. */
_Noreturn void save_die_of_machine(const char *why);

#endif
