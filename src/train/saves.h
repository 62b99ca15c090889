/*
 * The checkpoints of one output folder.
 *
 *   ckpt_epoch_E.safetensors   after epoch E (the first is 0)
 *   ckpt_step_S.safetensors    in the middle of an epoch
 *   last.safetensors           a hard link to the newest of them
 *   best.safetensors           a hard link to the one that validated best
 *
 * A save copies the run's arrays and leaves the rest to a thread, which writes the whole
 * new file and moves `last` to it; saves_rotate() then deletes numbered files beyond the
 * KEEP_CHECKPOINTS newest. If the process is killed meanwhile, the older files are
 * intact; `last` is then made the one that is resumed. Lines of metrics.jsonl and others
 * are synced before a checkpoint that goes on after them. `best` is written before its
 * numbered name: a run that is killed between the two goes on from `best`, and a checkpoint
 * that tells of a best one never lies without it. Where there are no hard links, `last` and
 * `best` are files of their own. Other files stay as they are, whatever their names.
 *
 * Arrays that are not finite are not written: a run that has diverged keeps its older
 * checkpoints. Where the disk is full, the oldest numbered file is deleted, as long as
 * another sound one stays. A folder that was removed is made again.
 */
#ifndef TRAIN_SAVES_H
#define TRAIN_SAVES_H

#include <stdbool.h>

#include "train/checkpoint.h"

enum { SAVES_LOGS = 3 };

struct saves {
    const char *dir; /* the caller's */
    const struct class_list *classes;
    const char *config; /* YAML */
    int keep;           /* TRAIN.KEEP_CHECKPOINTS */
    bool reads_only;    /* another process writes the folder */
    /* Returns a file that has to be on the disk before a checkpoint, i < SAVES_LOGS; -1: no
     * such one. NULL: there are none. */
    int (*log)(const void *arg, int i);
    const void *log_arg;
    struct saves_writer *writer; /* NULL at first */
};

/* How the last save ended; its warnings are in the log. */
struct saves_end {
    bool any;       /* false: none was under way */
    bool failed;    /* a file could not be written; older ones are intact */
    bool best_lost; /* `best` was not written, and is still the older one */
    char *diverged; /* the first tensor that is not finite, the caller's; NULL: none */
};

/* Dies if the folder has no room for one checkpoint; warns if not for all of them. */
void saves_check_room(const struct saves *v, const struct session *s);

/* Removes half-written files of a process that was killed. No save may be under way. */
void saves_sweep(const char *dir);

/*
 * Copies, and starts to write; no save may be under way. `epoch_end`: state->epoch epochs
 * are finished. `before`: NULL if these weights are not the best so far; else the state
 * to store if best.safetensors cannot be written.
 */
void saves_start(struct saves *v, const struct session *s, const struct run_state *state,
                 const struct run_state *before, bool epoch_end);

/* Has the save ended, so that saves_wait does not wait? */
bool saves_ready(const struct saves *v);
struct saves_end saves_wait(struct saves *v);

/* The numbered file of the last save; a heap string. NULL: there was none. */
char *saves_path(const struct saves *v);

/* Deletes numbered files beyond v->keep; no save may be under way. */
void saves_rotate(const struct saves *v);

void saves_release(struct saves *v); /* waits */

/*
 * Loads the newest checkpoint that is sound, naming each one that it passes over. False:
 * there is none at all. Dies if there are some and none can be loaded: training again
 * from the start would overwrite them.
 */
bool saves_resume(const struct saves *v, struct session *s, struct run_state *state);
void saves_say_resumed(const char *path, const struct session *s,
                       const struct run_state *state);

bool saves_exist(const char *dir);

/* run_state_done() of the newest sound checkpoint; -1: there is none. */
int64_t saves_newest(const char *dir);

#endif
