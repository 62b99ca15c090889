/*
 * A checkpoint is one safetensors file with everything that a run needs to resume bit for
 * bit. Other tools can read it as a state dict.
 *
 *   NAME                      weights and buffers, with timm's names and dimension order
 *   ema.NAME                  their EMA, with TRAIN.EMA
 *   optimizer.MOMENT.NAME     MOMENT is PyTorch's name: momentum_buffer, exp_avg, ...
 *
 * Metadata: "trainc" (JSON: version, epoch, step, control, metrics of the current epoch,
 * best results), "classes" (JSON, in label order), "class_weights" and "thresholds"
 * (JSON, if the run has them), "kernels" (JSON, if some were chosen by their speed),
 * "config" (YAML). Random numbers are functions of the seed
 * and of counters in "trainc", so there is no other generator state. Files are written
 * atomically and carry a checksum (io/safetensors.h).
 */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include "base/strbuf.h"
#include "session/session.h"
#include "train/class_list.h"
#include "train/run_state.h"

enum { CHECKPOINT_ARRAYS = 2 + OPTIMIZER_MOMENTS }; /* weights, EMA, moments */

/*
 * A copy of everything that a checkpoint holds, so that training continues while a thread
 * writes it. The next copy reuses the memory. Initialize with {0}.
 */
struct checkpoint {
    const struct session *s;        /* borrowed; has the layout of `flat` */
    float *flat[CHECKPOINT_ARRAYS]; /* weights_len floats each */
    struct strbuf state, classes, class_weights, thresholds; /* JSON */
    char *kernels;              /* backend.choices(), or NULL */
    struct strbuf state_before; /* stored if the best file cannot be */
    const char *config;         /* YAML; borrowed */
};

/* Copies the arrays and state of `s`; waits for the device. */
void checkpoint_copy(struct checkpoint *c, const struct session *s,
                     const struct run_state *state, const struct class_list *classes,
                     const char *config);
/* Sets the state that is stored with the same arrays after checkpoint_fall_back(). */
void checkpoint_copy_before(struct checkpoint *c, const struct run_state *state);
void checkpoint_fall_back(struct checkpoint *c);
void checkpoint_release(struct checkpoint *c);

/* True if all weights, statistics, moments, and EMA weights are finite. Otherwise the run
 * has diverged, and the name of the first tensor that is not finite is appended to
 * `what`. Any thread may call it. */
bool checkpoint_is_finite(const struct checkpoint *c, struct strbuf *what);

/* Returns 0, or -1 with errno and a reason; an existing file at `path` is then intact.
 * Any thread may call it. */
int checkpoint_store(const struct checkpoint *c, const char *path, struct strbuf *why);
/* Returns the approximate file size in bytes. Does not require session_alloc. */
size_t checkpoint_size(const struct session *s);

/*
 * Loads the checkpoint into the session. Returns -1 with a reason if the file is damaged;
 * the session is unchanged, and the caller may try another file. Dies if the file is
 * sound but does not belong to this run: another model, optimizer, or (unless `classes`
 * is NULL) class list.
 */
int checkpoint_read(const char *path, struct session *s, struct run_state *state,
                    const struct class_list *classes, struct strbuf *why);

/* The progress of the run that wrote a checkpoint. */
struct checkpoint_mark {
    int64_t step, epoch;
    int64_t done; /* steps tried; unlike `step` it never decreases (run_state_done) */
    bool ema;     /* True if the file has EMA weights. */
};
/* Reads only the header. Returns -1 and a reason if the file is not a sound checkpoint. */
int checkpoint_mark(const char *path, struct checkpoint_mark *mark, struct strbuf *why);

#endif
