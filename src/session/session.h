/*
 * A session: one model on one device, ready to step. Training, evaluation, benchmark, and
 * summary all start here.
 *
 *   struct session s;
 *   session_init(&s, cfg, &(struct session_options){.train = true, .eval = true});
 *   session_alloc(&s);            memory, initial weights
 *   session_step(&s, pixels, labels);
 *   session_release(&s);
 *
 * session_init opens the device and compiles the programs but allocates no tensor memory,
 * so that a summary can show sizes and claims for a device that is not installed;
 * session_alloc dies before it allocates if the run does not fit (session/fit.h). `cfg`
 * must outlive the session. Weights, moments, EMA, and control are the complete state for
 * a checkpoint: nothing else influences the next step.
 *
 * Batches are host memory: pixels uint8 in N,H,W,C order; labels int32, -1 for a sample
 * to be ignored, or for segmentation uint8 [N, h, w], LABEL_IGNORE for a pixel to be
 * ignored. session_step and session_eval return when both are copied. The _lent calls
 * copy memory of session_host_alloc asynchronously and return it later
 * (session/inflight.h).
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "graph/program.h"
#include "ops/control.h"
#include "session/build.h"
#include "session/inflight.h"
#include "session/plan.h"
#include "session/shares.h"

struct session_options {
    bool train, eval;
    bool stats;     /* with the program of session/norms.h, if the net has batch norms */
    bool phases;    /* with the programs of TRAIN.FREEZE_EPOCHS: session_hold() */
    int64_t images; /* training images; 0: unknown */
    struct class_factors factors; /* of the loss; its arrays must outlive the session */
    bool keep_declines;           /* for summary */
    bool observe;                 /* keep inputs of quantizable layers (session_tensor) */
    bool cam;                     /* compile SESSION_CAM, too */
    int cam_stage;                /* for it: plan.cam */
    const char *kernels;          /* device_options.kernels */
};

enum session_program {
    SESSION_TRAIN, /* the last batch of an update */
    SESSION_MICRO, /* any other batch: only accumulates gradients */
    SESSION_TAIL,  /* the smaller last batch of an epoch */
    SESSION_HEAD,  /* TRAIN.FREEZE_EPOCHS: the same three, which train only the head */
    SESSION_HEAD_MICRO,
    SESSION_HEAD_TAIL,
    SESSION_STATS, /* batch norm statistics: session/norms.h */
    SESSION_EVAL,
    SESSION_EVAL_EMA, /* the same, with the EMA as weights */
    SESSION_CAM,      /* gradients of logits with respect to a layer: Grad-CAM */
    SESSION_PROGRAMS
};

/* Selects the weights of an evaluation. */
enum session_weights { SESSION_RAW, SESSION_EMA, SESSION_WEIGHTS };

struct session {
    const struct config *cfg;
    const struct backend *backend;
    struct device *device;
    double open_seconds; /* time it took to open the device */
    struct plan plan;
    bool mixing; /* the training programs apply mixup or cutmix */
    bool phases; /* the programs of the head exist until session_hold(s, false) */
    bool holds;  /* the next step trains only the head */
    bool keep_declines, observe;
    struct build build[SESSION_PROGRAMS]; /* .graph is NULL if there is no such program */
    struct program *program[SESSION_PROGRAMS];
    void *derived[SESSION_PROGRAMS]; /* each program's own MEMORY_DERIVED */
    void *base[MEMORY_COUNT];
    size_t size[MEMORY_COUNT];           /* bytes allocated */
    void *eval_metrics[SESSION_WEIGHTS]; /* on the device */
    int64_t micro;                       /* batches so far, as control.micro */
    int64_t averaged; /* TRAIN.SWA: weights in the average, which s->ema holds */
    float *ema; /* TRAIN.EMA.DEVICE cpu: EMA in host memory, as on the device; or NULL */
    double
        *thresholds; /* [classes] of MODEL_MULTILABEL, chosen by the last validation; or
                         * NULL */
    void *unknown;   /* targets without a known one, of unknown_size bytes; or NULL */
    size_t unknown_size;
    float *host;   /* scratch: session_flat's weights_len floats */
    bool eval_ema; /* the current evaluation includes the EMA */
    struct inflight inflight;
    size_t library; /* device_memory.library when fit_settle() ran */
    bool settled;   /* fit_settle() has run */
};

void session_init(struct session *s, const struct config *cfg,
                  const struct session_options *o);
/* Initializes weights from SEED, moments to zero, and the EMA to the weights. */
void session_alloc(struct session *s);
void session_release(struct session *s);

/* Returns the layout of weights, moments, and EMAs, which all programs share. Valid until
 * session_mix(). */
const struct flat *session_flat(const struct session *s);
/* Return the bytes of memory m for all programs, and of the batches in flight. */
size_t session_bytes(const struct session *s, enum memory m);
size_t session_slot_bytes(const struct session *s);

/* Compiles plan and programs as session_init does; frees them. */
void session_compile(struct session *s, const struct session_options *o);
void session_drop(struct session *s);

/* Trains on one batch. Returns true if it ended an update (always without accumulation). */
bool session_step(struct session *s, const void *pixels, const void *labels);
bool session_step_lent(struct session *s, const struct lent_batch *b);

/* Gets the weight of batch `k` from now in its update (session/shares.h). */
void session_weights(const struct session *s, const struct lent_batch *b, int k,
                     double weight[SHARES]);

/* Call after each step: updates an EMA in host memory (TRAIN.EMA.DEVICE cpu). */
void session_step_ema(struct session *s);

/* TRAIN.SWA: adds the weights to their equal average: avg += (w - avg) / (n + 1), as
 * torch.optim.swa_utils.AveragedModel; buffers are copied. */
void session_average(struct session *s);

/* Returns the images of the next batch: the last of an epoch may be smaller. */
int64_t session_next_batch(const struct session *s);

/* Gets the results of the next completed step, each once and in order, or returns false.
 * A step waits only for the last step but one. */
bool session_next_snapshot(struct session *s, struct snapshot *dst);
/* With plan.votes: true in all processes if one of them trained on the last batch but one
 * with lent_batch.stop. Waits for that batch. */
bool session_voted_to_stop(struct session *s);
/* Starts the time of snapshots. Nothing may be in flight. */
void session_mark(struct session *s);

/* Waits for the device: all batches are returned, all snapshots are complete. */
void session_drain(struct session *s);

/* Allocates pinned host memory. At most INFLIGHT_LENT batches may be lent at once. */
void *session_host_alloc(struct session *s, size_t size);
void session_host_free(struct session *s, void *p);

/* Enables or disables mixup and cutmix from the next step on; recompiles the training
 * programs on a change. */
void session_mix(struct session *s, bool mix);

/* TRAIN.FREEZE_EPOCHS: from the next step on, trains the head alone, or everything. The
 * programs of both exist since session_init; those of the head are freed once everything is
 * trained, so that there is no way back. Does nothing without session_options.phases. */
void session_hold(struct session *s, bool hold);

/* Begins an evaluation of the weights and, with `ema`, of the EMA on the same batches. Do
 * not train before the last session_eval. */
void session_eval_begin(struct session *s, bool ema);
void session_eval(struct session *s, const void *pixels, const void *labels);
void session_eval_lent(struct session *s, const struct lent_batch *b);
/* Waits for the device. Returns zeros if these weights were not evaluated. */
struct metrics session_eval_metrics(const struct session *s, enum session_weights index);
/* Segmentation: matrix[y * K + p] counts the pixels of class y that were predicted as p;
 * see ops/confusion.h. Waits for the device. */
void session_eval_matrix(const struct session *s, enum session_weights index,
                         int64_t *matrix);
/* Copies the logits of the last evaluated batch (of the EMA if it is evaluated, too) as
 * floats with the classes last: [N, K] or [N, h, w, K]. Waits for the device. */
void session_logits(struct session *s, float *dst);
/* MODEL.FEATURES_ONLY: returns stage plan.out[i]; its map as floats is [N, H, W, C], or
 * [N, prefix + H * W, C] for tokens. Waits for the device. */
const struct model_stage *session_stage(const struct session *s, int i);
void session_stage_data(struct session *s, int i, float *dst);
/* session_options.cam, after session_eval_begin(): runs one batch through SESSION_CAM.
 * seed: fp32 [batch, classes], the weights of the logits whose sum is differentiated.
 * Copies the output of the layer build[SESSION_CAM].cam and its gradient, both in the
 * layout of session_stage_data(). Waits for the device. */
void session_cam(struct session *s, const void *pixels, const float *seed, float *x,
                 float *dx);
/* Copies an observed tensor of the evaluation program in its stored layout. */
void session_tensor(struct session *s, const struct tensor *t, float *dst);
int64_t session_classes(const struct session *s);
bool session_has_ema(const struct session *s); /* TRAIN.SWA: only once it averages */

#endif
