/*
 * A checkpoint: one safetensors file with everything that a run needs to go on bit for
 * bit, and that any other tool can read as a state dict.
 *
 *   NAME                      weights and buffers, timm's names and order of dims
 *   ema.NAME                  their EMA, with TRAIN.EMA
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

enum { CHECKPOINT_ARRAYS = 2 + OPTIMIZER_MOMENTS }; /* weights, EMA, moments */

/*
 * A copy of all that a checkpoint holds, so that training goes on while a thread writes
 * it. Memory is kept from one copy to the next. Begins as {0}.
 */
struct checkpoint {
    const struct session *s; /* the caller's, with the layout of `flat`; unchanged */
    float *flat[CHECKPOINT_ARRAYS];              /* weights_len floats each */
    struct strbuf state, classes, class_weights, thresholds; /* JSON */
    struct strbuf state_before; /* the state to be stored if `best` cannot be */
    const char *config;         /* YAML; the caller's */
};

/* Copies what `s` holds; waits for the device. */
void checkpoint_copy(struct checkpoint *c, const struct session *s,
                     const struct run_state *state, const struct class_list *classes,
                     const char *config);
/* Sets the state that the same arrays are stored with after checkpoint_fall_back(). */
void checkpoint_copy_before(struct checkpoint *c, const struct run_state *state);
void checkpoint_fall_back(struct checkpoint *c);
void checkpoint_release(struct checkpoint *c);

/* Are all weights, statistics, moments and EMA weights finite? If not, the run has
 * diverged, and the name of the first tensor that is not is appended to `what`. Any
 * thread. */
bool checkpoint_is_finite(const struct checkpoint *c, struct strbuf *what);

/* 0, or -1 with errno and a reason: a file that was at `path` before is then intact. Any
 * thread. */
int checkpoint_store(const struct checkpoint *c, const char *path, struct strbuf *why);
/* Bytes of the file, about. May be called before session_alloc, too. */
size_t checkpoint_size(const struct session *s);

/*
 * Loads all of it into the session. -1 with a reason if the file is damaged: the session
 * is unchanged, and another file may do. A sound file that does not belong to this run
 * (of another model, optimizer or, if `classes` is given, class list) ends the program.
 */
int checkpoint_read(const char *path, struct session *s, struct run_state *state,
                    const struct class_list *classes, struct strbuf *why);

/* How far the run was; reads the header only. -1 and a reason. */
struct checkpoint_mark {
    int64_t step, epoch;
    int64_t done; /* updates tried; unlike step it never goes back (run_state_done) */
    bool ema;     /* it has an EMA of the weights */
};
int checkpoint_mark(const char *path, struct checkpoint_mark *mark, struct strbuf *why);

#endif
