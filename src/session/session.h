/*
 * A session: one model on one device, ready to step. Training, evaluation, benchmark and
 * summary all start here.
 *
 *   struct session s;
 *   session_init(&s, cfg, &(struct session_options){.train = true, .eval = true});
 *   session_alloc(&s);            memory, initial weights
 *   session_step(&s, pixels, labels);
 *   session_release(&s);
 *
 * session_init opens the device and compiles the programs but allocates no tensor memory,
 * so that a summary can show sizes and claims for a device that is not there;
 * session_alloc dies before it allocates if the run does not fit (session/fit.h). `cfg`
 * must outlive the session. Everything that a checkpoint must hold is in weights,
 * moments, EMA and control; no other state influences the next step.
 *
 * Batches are host memory: pixels uint8 in N,H,W,C order; labels int32, -1 for a sample
 * that does not count, or for segmentation uint8 [N, h, w], LABEL_IGNORE for a pixel that
 * does not. session_step and session_eval have copied them when they return; with the
 * _lent calls, memory of session_host_alloc is copied while the host goes on, and given
 * back later (session/inflight.h).
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
    int64_t images;            /* of the training set; 0: unknown */
    const float *class_weight; /* of the loss of segmentation, for as long as the session
                                * lives; NULL: each class weighs 1 */
    bool keep_declines;        /* for summary */
    bool observe;              /* keep the inputs of layers that could be in 8 bits, for
                                * session_tensor() */
};

enum session_program {
    SESSION_TRAIN, /* a batch that ends an update */
    SESSION_MICRO, /* one that does not: gradients are only accumulated */
    SESSION_TAIL,  /* of the last batch of an epoch, if it is smaller than the others */
    SESSION_EVAL,
    SESSION_EVAL_EMA, /* the same with the EMA for weights */
    SESSION_PROGRAMS
};

/* The weights that an evaluation reads. */
enum session_weights { SESSION_RAW, SESSION_EMA, SESSION_WEIGHTS };

struct session {
    const struct config *cfg;
    const struct backend *backend;
    struct device *device;
    double open_seconds; /* that it took to open the device */
    struct plan plan;
    bool mixing; /* the programs of training have mixup or cutmix */
    bool keep_declines, observe;
    struct build build[SESSION_PROGRAMS]; /* .graph is NULL where there is none */
    struct program *program[SESSION_PROGRAMS];
    void *derived[SESSION_PROGRAMS]; /* each program's own MEMORY_DERIVED */
    void *base[MEMORY_COUNT];
    size_t size[MEMORY_COUNT];           /* bytes allocated */
    void *eval_metrics[SESSION_WEIGHTS]; /* on the device */
    int64_t micro;                       /* batches of the run so far, as control.micro */
    float *ema;    /* TRAIN.EMA.DEVICE cpu: the host's copy, or NULL */
    float *host;   /* scratch: flat.weights_len floats */
    bool eval_ema; /* the evaluation under way is of the EMA too */
    struct inflight inflight;
    size_t library; /* device_memory.library as fit_settle() found it */
    bool settled;   /* it has */
};

void session_init(struct session *s, const struct config *cfg,
                  const struct session_options *o);
/* Weights from SEED, moments zero, EMA = weights. */
void session_alloc(struct session *s);
void session_release(struct session *s);

/* The layout of weights, moments and EMAs; the same for all programs. Valid until
 * session_mix(). */
const struct flat *session_flat(const struct session *s);
/* Bytes that all programs together need in memory m, and that batches on their way do. */
size_t session_bytes(const struct session *s, enum memory m);
size_t session_slot_bytes(const struct session *s);

/* Make plan and programs of s->cfg for s->device, as session_init does; free them. */
void session_compile(struct session *s, const struct session_options *o);
void session_drop(struct session *s);

/* Trains on one batch. True: it ended an update (always, unless gradients accumulate). */
bool session_step(struct session *s, const void *pixels, const void *labels);
bool session_step_lent(struct session *s, const struct lent_batch *b);

/* How much batch `k` from now weighs in its update (session/shares.h). */
void session_weights(const struct session *s, const struct lent_batch *b, int k,
                     double weight[SHARES]);

/* After each update: updates an EMA in host memory (TRAIN.EMA.DEVICE cpu). One on the
 * device is updated by the training step itself. */
void session_step_ema(struct session *s);

/* How many images the next batch is to have: the last of an epoch may be smaller. */
int64_t session_next_batch(const struct session *s);

/* The results of an update, as soon as they are there; each comes once and in order.
 * False: no more for now. A step waits only for the last step but one. */
bool session_next_snapshot(struct session *s, struct snapshot *to);
/* The time of snapshots begins now: nothing may be in flight. */
void session_mark(struct session *s);

/* Waits for the device: all batches are given back, all snapshots are there. */
void session_drain(struct session *s);

/* Host memory that is copied fastest. At most INFLIGHT_LENT batches are lent at once. */
void *session_host_alloc(struct session *s, size_t size);
void session_host_free(struct session *s, void *p);

/* Trains with mixup and cutmix, or without, from the next step on; compiles training's
 * programs anew if that is a change. */
void session_mix(struct session *s, bool mix);

/*
 * Begins an evaluation of the weights and, if `ema` is set and there is one, of the EMA
 * on the same batches. No training step between this and the last session_eval.
 */
void session_eval_begin(struct session *s, bool ema);
void session_eval(struct session *s, const void *pixels, const void *labels);
void session_eval_lent(struct session *s, const struct lent_batch *b);
/* Waits for the device. All zero if these weights were not evaluated. */
struct metrics session_eval_metrics(const struct session *s, enum session_weights which);
/* Segmentation: matrix[y * K + p] counts the pixels of class y that were predicted to be
 * p, see ops/confusion.h. Waits for the device. */
void session_eval_matrix(const struct session *s, enum session_weights which,
                         int64_t *matrix);
/*
 * The logits of the last evaluated batch, with the EMA weights if those are evaluated,
 * too, as floats with the classes last: [N, K] or [N, h, w, K]. Waits for the device.
 */
void session_logits(struct session *s, float *dst);
/* With MODEL.FEATURES_ONLY: stage plan.out[i], and its map as floats: [N, H, W, C], or
 * [N, prefix + H * W, C] of tokens. Waits for the device. */
const struct model_stage *session_stage(const struct session *s, int i);
void session_stage_data(struct session *s, int i, float *dst);
/* Copies an observed tensor of the evaluation program, as it is stored. */
void session_tensor(struct session *s, const struct tensor *t, float *dst);
int64_t session_classes(const struct session *s);
bool session_has_ema(const struct session *s);

#endif
