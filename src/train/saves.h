/*
 * The checkpoints of one output folder.
 *
 *   ckpt_epoch_E.safetensors   after epoch E (counted from 0)
 *   ckpt_step_S.safetensors    in the middle of an epoch
 *   last.safetensors           a hard link to the newest of them
 *   best.safetensors           a hard link to the one with the best validation
 *
 * A save copies the run's arrays; a thread then writes the new file and links `last` to
 * it, and saves_rotate() deletes all but the KEEP_CHECKPOINTS newest numbered files. If
 * the process is killed meanwhile, the older files are intact, and resuming links `last`
 * to the resumed one. metrics.jsonl and other logs are synced before a checkpoint is
 * written. `best` is written before its numbered name: a run that is killed between the
 * two resumes from `best`, and no checkpoint records a best score without `best`. If hard
 * links are not supported, `last` and `best` are separate files. Files with other names
 * are never touched.
 *
 * Arrays that are not finite are not written: a run that has diverged keeps its older
 * checkpoints. If the disk is full, the oldest numbered file is deleted, as long as
 * another sound one remains. A removed folder is recreated.
 */
#ifndef TRAIN_SAVES_H
#define TRAIN_SAVES_H

#include <stdbool.h>

#include "train/checkpoint.h"

enum { SAVES_LOGS = 3 };

struct saves {
    const char *dir; /* borrowed */
    const struct class_list *classes;
    const char *config; /* YAML */
    int keep;           /* TRAIN.KEEP_CHECKPOINTS */
    bool reads_only;    /* True if another process writes the folder. */
    /* Returns the descriptor of log i < SAVES_LOGS, which is synced before a checkpoint,
     * or -1 if there is none. May be NULL. */
    int (*log)(const void *arg, int i);
    const void *log_arg;
    struct saves_writer *writer; /* NULL at first */
};

/* The outcome of the last save; warnings are already logged. */
struct saves_end {
    bool any;       /* False if there was no save. */
    bool failed;    /* True if a file could not be written; older ones are intact. */
    bool best_lost; /* True if `best` could not be written and is still the older one. */
    char *diverged; /* first tensor that is not finite (the caller frees it), or NULL */
};

/* Dies if there is no room for one checkpoint; warns if there is none for v->keep of
 * them. */
void saves_check_room(const struct saves *v, const struct session *s);

/* Deletes incomplete files of a killed process. Must not be called during a save. */
void saves_sweep(const char *dir);

/*
 * Copies the arrays and starts writing. Must not be called during a save. `epoch_end`:
 * state->epoch epochs are finished. `before`: NULL unless these weights are the best so
 * far; then the state to store if best.safetensors cannot be written.
 */
void saves_start(struct saves *v, const struct session *s, const struct run_state *state,
                 const struct run_state *before, bool epoch_end);

/* True if the save is complete, so that saves_wait returns at once. */
bool saves_ready(const struct saves *v);
struct saves_end saves_wait(struct saves *v);

/* Returns the numbered file of the last save (the caller frees it), or NULL if there was
 * none. */
char *saves_path(const struct saves *v);

/* Deletes all but the v->keep newest numbered files. Must not be called during a save. */
void saves_rotate(const struct saves *v);

void saves_release(struct saves *v); /* Waits for a save. */

/*
 * Loads the newest sound checkpoint, and warns about each one that it skips. Returns
 * false if there are no checkpoints. Dies if none of them can be loaded, because training
 * from the start would overwrite them.
 */
bool saves_resume(const struct saves *v, struct session *s, struct run_state *state);
void saves_say_resumed(const char *path, const struct session *s,
                       const struct run_state *state);

bool saves_exist(const char *dir);

/* Returns run_state_done() of the newest sound checkpoint, or -1 if there is none. */
int64_t saves_newest(const char *dir);

#endif
