/*
 * TRAIN.VALIDATE beside: validation in a process of its own, an evaluator, while training
 * goes on. The two talk by a Unix domain socket in the run's folder, a JSON object per
 * line:
 *
 *   training   {"evaluate": "RUN/validate_step_400.safetensors", "step": 400, "epoch": 3}
 *   evaluator  {"step": 400, "epoch": 3, "images": 10000, "seconds": 21.4,
 *               "val_loss": ..., "val_top1": ..., "ema_top1": ..., "val_iou": [...]}
 *              {"alive": true}          while it works; without any line for DIST.TIMEOUT
 *                                       seconds it counts as ended
 *
 * What waits to be evaluated is a file, another name of a checkpoint of the run, so that
 * neither the end of a process nor KEEP_CHECKPOINTS takes it away. It is deleted when a
 * checkpoint with its result is written; a run that starts again finds the others, and
 * catches up. An evaluator that ends is started again. One that was started by hand, on
 * another device, serves as well: trainc eval --beside RUN/validate.sock.
 *
 *   beside_open(&b, cfg, dir, step, n);  after the run's folder is there
 *   beside_add(&b, file, step, epoch);   a checkpoint is written: evaluate it
 *   while (beside_next(&b, &r)) ...      results so far, in order; waits for nothing
 *   beside_keep(&b);                     a checkpoint begins to be written,
 *   beside_forget(&b);                   and is whole
 *   beside_close(&b);
 */
#ifndef TRAIN_BESIDE_H
#define TRAIN_BESIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "config/config.h"
#include "train/scores.h"
#include "train/segmentation.h"

#define BESIDE_SOCKET "validate.sock"
#define BESIDE_ALIVE  "{\"alive\": true}"

struct beside_result {
    int64_t step, epoch, images;
    double seconds;
    struct scores val, ema;
    struct class_iou iou;
};

struct beside {
    const struct config *cfg;
    const char *dir;     /* the caller's */
    int listening, peer; /* sockets: for evaluators, and with one; -1: none */
    pid_t child;         /* the evaluator that we started; 0: none */
    int failures;        /* ends of the evaluator since its last result */
    double not_before;   /* clock_now() of its next start */
    double heard;        /* and of its last sign of life */
    struct strbuf said;  /* by the evaluator: lines not taken yet */
    struct beside_item {
        int64_t step, epoch;
        char *path;
        bool told, known; /* to the evaluator; its result */
        bool kept;        /* the checkpoint that is being written has its result */
    } * item;
    int n, cap;
};

/* `step`: the update at which the run goes on, which may have left files before;
 * `epoch_updates`: updates per epoch. Dies if there can be no socket. */
void beside_open(struct beside *b, const struct config *cfg, const char *dir,
                 int64_t step, int64_t epoch_updates);
void beside_add(struct beside *b, const char *file, int64_t step, int64_t epoch);
bool beside_next(struct beside *b, struct beside_result *r); /* false: none for now */
bool beside_has(const struct beside *b, int64_t step);       /* with a result or not */
int beside_left(const struct beside *b);                     /* that have no result yet */
/* The evaluator failed again and again: nothing more will come. */
bool beside_gave_up(const struct beside *b);
/* best.safetensors becomes what was evaluated at `step`. */
void beside_best(const struct beside *b, int64_t step);
void beside_keep(struct beside *b);
void beside_forget(struct beside *b);
void beside_close(struct beside *b);

/* A line of the evaluator's, without its newline, and back. False: it is none. */
void beside_result_put(struct strbuf *line, const struct beside_result *r);
bool beside_result_get(const char *line, struct beside_result *r);

/*
 * A Unix domain socket at a path of any length: to listen, or to connect. -1 and errno.
 */
int beside_listen(const char *path);
int beside_connect(const char *path);

#endif
