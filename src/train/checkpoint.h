/*
 * A checkpoint: one safetensors file with everything that a run needs to go on bit for
 * bit, and that any other tool can read as a state dict.
 *
 *   NAME                      weights and buffers, timm's names and order of dims
 *   ema.NAME                  their average, with TRAIN.EMA
 *   optimizer.MOMENT.NAME     MOMENT is torch's: momentum_buffer, exp_avg, ...
 *
 * Metadata: "trainc" (JSON: version, epoch, step, control, metrics of the epoch under
 * way, best results), "classes" (JSON, in the order of the labels), "class_weights"
 * (JSON, if the loss has some), "config" (YAML). Random numbers are functions of the seed
 * and of counters that are in "trainc", so there is no other generator state. Files are
 * all or nothing and carry a checksum (io/safetensors.h).
 */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include "base/strbuf.h"
#include "session/session.h"
#include "train/class_list.h"
#include "train/run_state.h"

/* 0, or -1 with a reason; then a file that was there before is intact. */
int checkpoint_write(const char *path, const struct session *s,
                     const struct run_state *state, const struct class_list *classes,
                     const char *config, struct strbuf *why);
size_t
checkpoint_size(const struct session *s); /* bytes, about; before session_alloc, too */

/*
 * Loads all of it into the session. -1 with a reason: the file is damaged, another may
 * do; the session is unchanged. A sound file that does not belong to this run (another
 * model, optimizer or, if `classes` is given, class list) ends the program.
 */
int checkpoint_read(const char *path, struct session *s, struct run_state *state,
                    const struct class_list *classes, struct strbuf *why);

/* How far the run was; looks at the header only. -1 and a reason. */
struct checkpoint_mark {
    int64_t step, epoch;
    int64_t done; /* updates tried; unlike step it never goes back (run_state_done) */
    bool average; /* it has an average of the weights */
};
int checkpoint_mark(const char *path, struct checkpoint_mark *mark, struct strbuf *why);

#endif
