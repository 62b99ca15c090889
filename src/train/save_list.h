/*
 * Lists the checkpoints in an output folder, newest first, to resume from one or to
 * delete some. train/saves.h describes their names.
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
    dev_t dev;     /* dev and ino are equal for names of the same file */
    ino_t ino;
};

struct save_list {
    struct save *item;
    int n, cap;
    int unknown; /* errno of a folder that cannot be read */
};

/* True for names that saves.h assigns. Other names, such as ckpt_good.safetensors, belong
 * to the user. */
bool save_is_named(const char *name, const char *ending, bool *numbered);

/* Returns a list for save_list_free. `verbose`: logs damaged files, and dies at a file that
 * cannot be read at the moment. */
struct save_list save_list_read(const char *dir, bool verbose);
/* The same, for the start of a run: dies if the folder cannot be read, because treating
 * it as empty would overwrite its checkpoints. */
struct save_list save_list_all(const char *dir, bool verbose);
void save_list_free(struct save_list *l);

/* Dies because of a read error. A newer checkpoint must not be skipped for that reason:
 * the logs would be truncated to an older one, and lack lines when the newer one is
 * readable again. */
_Noreturn void save_die_of_machine(const char *why);

#endif
