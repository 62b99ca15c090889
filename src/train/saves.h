/*
 * The checkpoints of one output folder.
 *
 *   ckpt_epoch_E.safetensors   behind epoch E (the first is 0)
 *   ckpt_step_S.safetensors    in the middle of an epoch
 *   last.safetensors           a hard link to the newest of them
 *   best.safetensors           a hard link to the one that validated best
 *
 * A save writes the new file whole, moves `last` to it, and only then deletes numbered
 * files beyond the KEEP_CHECKPOINTS newest. `best` is written before its numbered name is
 * there: a run that is killed between the two goes on from `best`, and one that knows of
 * a best checkpoint has it. Where there are no hard links, `last` and `best` are files of
 * their own. Other files are left alone, whatever their names.
 */
#ifndef TRAIN_SAVES_H
#define TRAIN_SAVES_H

#include <stdbool.h>

#include "train/checkpoint.h"

struct saves {
    const char *dir; /* the caller's */
    const struct class_list *classes;
    const char *config; /* YAML */
    int keep;
};

/* Dies if the folder has no room for one checkpoint; warns if not for all of them. */
void saves_check_room(const struct saves *v, const struct session *s);

/* Removes what saves that were killed have left half written. No other may be under way.
 */
void saves_sweep(const char *dir);

/* Writes best.safetensors. 0, or -1 with a warning in the log, the older one in place. */
int saves_best(const struct saves *v, const struct session *s,
               const struct run_state *state);

/*
 * `epoch_end`: state->epoch epochs are finished. `best`: saves_best has just written this
 * state, so that the new names are names of its file. 0, or -1 with a warning in the log.
 */
int saves_write(const struct saves *v, const struct session *s,
                const struct run_state *state, bool epoch_end, bool best);

/*
 * Loads the newest checkpoint that is sound, naming each one that it passes over. False:
 * there is none at all. Dies if there are some and none can be loaded: training again
 * from the start would overwrite them.
 */
bool saves_resume(const struct saves *v, struct session *s, struct run_state *state);

bool saves_exist(const char *dir);

/* run_state_done() of the newest sound checkpoint; -1: there is none. */
int64_t saves_newest(const char *dir);

#endif
