/*
 * The folder of a run, OUTPUT/NAME/TAG, and the files that the run writes into it:
 *
 *   config.yaml     the configuration as given, which can be run again
 *   overrides.txt   its command line: trainc train @overrides.txt
 *   derived.yaml    derived values: scaled learning rates, steps per epoch, sizes, device
 *   log.txt         the log
 *   metrics.jsonl   one object per training log line and per validation
 *   summary.csv     one row per epoch
 *   events.*        the same for TensorBoard (LOG.TENSORBOARD)
 *   report.html     a page about the run, with its other files: train/run_files.h
 *   *.safetensors   checkpoints (train/saves.h)
 *
 * A resumed run continues all of them from its checkpoint. Only the first of several
 * processes writes them; in the others, calls write nothing.
 */
#ifndef TRAIN_OUTPUT_H
#define TRAIN_OUTPUT_H

#include "io/csv.h"
#include "io/jsonl.h"
#include "io/tensorboard.h"
#include "session/session.h"
#include "train/run_state.h"
#include "train/scores.h"
#include "train/segmentation.h"

struct output {
    char *dir;
    int lock;     /* locked descriptor of the folder */
    char *config; /* text of config.yaml */
    char *words;  /* text of overrides.txt */
    struct jsonl metrics;
    struct csv summary;
    struct tensorboard events;
    int64_t ahead; /* steps tried (run_state_done) - step */
    int64_t shift; /* output_axis - step; from the checkpoint */
    bool open, tensorboard;
    bool silent; /* True if another process writes the run's files. */
    enum model_task task;
    const struct class_list *classes; /* borrowed */
};

/* The first line of derived.yaml, which identifies a folder that trainc made. */
#define OUTPUT_DERIVED_FIRST "# What config.yaml means here; not a configuration.\n"

/*
 * Creates the folder if necessary, and locks it. Dies before anything is written if
 * another process holds the lock, or if the folder has checkpoints and MODEL.RESUME is
 * not set: any checkpoints with TRAIN.AUTO_RESUME off, else those of a run whose
 * config.yaml differs in a key that changes the result (the message lists the keys).
 */
void output_prepare(struct output *o, const struct config *cfg);

/* Warns about keys in which this run differs from the one that wrote `checkpoint`, if
 * that run's config.yaml is next to it: a longer cosine schedule, for example, makes the
 * learning rate jump. */
void output_compare(const struct config *cfg, const char *checkpoint);

/* True if the folder has checkpoints of exactly this configuration, including
 * MODEL.RESUME: these are then newer than the one that MODEL.RESUME names. */
bool output_again(const struct output *o, const struct config *cfg);

/* Returns OUTPUT/NAME/TAG, which need not exist; the caller frees it. */
char *output_dir(const struct config *cfg);

/* Opens the files. If `resumed`, truncates those that grow after step `step` and the last
 * finished epoch of `state`. */
void output_open(struct output *o, const struct session *s, const struct run_state *state,
                 const struct class_list *classes, int64_t step, bool resumed);
void output_close(struct output *o);

/* Returns the descriptor of file i on which a checkpoint depends (saves.h), or -1 if it
 * is not open: metrics.jsonl, summary.csv, events. */
int output_log(const void *output, int i);

/*
 * Returns the x coordinate of a step in TensorBoard. It is the step, shifted if the
 * resumed run had longer epochs, so that it continues after state->axis: x must never
 * decrease, or TensorBoard drops the later points.
 */
int64_t output_axis(const struct output *o, int64_t step);

/* A window of training steps that ends with step `step`. */
struct train_line {
    int64_t step, epoch;
    double loss, right; /* window: mean loss, and top1 or acc (scores.h) in percent */
    double epoch_loss;  /* mean loss of the epoch so far */
    double lr, grad_norm, loss_scale; /* loss_scale: minimum of `scale` */
    double scale[CONTROL_LOSSES];     /* one for all losses, or one per loss */
    int nscale;
    double images_per_second, data_share; /* fraction of time spent waiting for data */
    int64_t skipped;                      /* steps skipped since the run began */
};
void output_train(struct output *o, const struct train_line *l);

struct val_line {
    int64_t step, epoch;
    struct scores val, ema;             /* NaN without a validation or an EMA */
    const struct segmentation *classes; /* scores of the weights, or NULL */
};
void output_val(struct output *o, const struct val_line *l);

/* The same for an epoch that is already finished (TRAIN.VALIDATE background); also
 * completes its row in summary.csv. Skips the line if a run that was killed has already
 * written it. */
void output_late(struct output *o, const struct val_line *l);

struct epoch_line {
    int64_t epoch;
    double train_loss, train_right, lr, images_per_second, seconds; /* as in train_line */
    struct val_line val;
};
void output_epoch(struct output *o, const struct epoch_line *l);

#endif
