/*
 * The folder of a run, OUTPUT/NAME/TAG, and what is written into it as it goes:
 *
 *   config.yaml     the configuration, as given: it can be run again
 *   overrides.txt   the command line that asked for it: trainc train @overrides.txt
 *   derived.yaml    what it means: scaled rates, steps per epoch, sizes, device
 *   log.txt         every line of the log
 *   metrics.jsonl   one object per log line, validation and epoch
 *   summary.csv     a row per epoch
 *   events.*        the same for TensorBoard (LOG.TENSORBOARD)
 *   report.html     a page of all that, and what else it is made of: train/run_files.h
 *   *.safetensors   checkpoints (train/saves.h)
 *
 * A resumed run takes all of them up where its checkpoint was. Of several processes the
 * first writes them; in the others, calls write nothing.
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
    int lock;     /* the folder itself, open and locked */
    char *config; /* the text of config.yaml */
    char *words;  /* and of overrides.txt */
    struct jsonl metrics;
    struct csv summary;
    struct tensorboard events;
    int64_t ahead; /* updates tried (run_state_done) less the step */
    int64_t shift; /* of output_axis: what the checkpoint's x was beyond its step */
    bool open, tensorboard;
    bool silent; /* another process writes the outputs of the run */
    enum model_task task;
    const struct class_list *classes; /* the caller's */
};

/* The first line of derived.yaml: by it a folder that trainc made is known. */
#define OUTPUT_DERIVED_FIRST "# What config.yaml means here; not a configuration.\n"

/*
 * Finds or makes the folder, and locks it. Ends the program before anything is written if
 * the folder holds checkpoints of a run whose config.yaml differs in a key that changes
 * the result (it names the keys), or any with TRAIN.AUTO_RESUME off, unless MODEL.RESUME
 * says that this is meant; and if another process has the folder.
 */
void output_prepare(struct output *o, const struct config *cfg);

/* Logs the keys in which this run differs from the one that wrote `checkpoint`, if the
 * config.yaml of that lies beside it: with a longer cosine, for one, the rate jumps. */
void output_compare(const struct config *cfg, const char *checkpoint);

/* Does the folder have checkpoints of this very configuration, MODEL.RESUME included?
 * Then they are further than the one that MODEL.RESUME names. */
bool output_again(const struct output *o, const struct config *cfg);

/* OUTPUT/NAME/TAG, which need not be there; a heap string. */
char *output_dir(const struct config *cfg);

/* Files that grow are cut after update `step` and the epoch of `state`. */
void output_open(struct output *o, const struct session *s, const struct run_state *state,
                 const struct class_list *classes, int64_t step, bool resumed);
void output_close(struct output *o);

/* Files that a checkpoint relies on, for saves.h: metrics.jsonl, summary.csv, events. */
int output_log(const void *output, int i);

/*
 * The x of an update in TensorBoard: the update, or what follows state->axis where a run
 * with other epochs went beyond that. It never goes back: points after it would be lost.
 */
int64_t output_axis(const struct output *o, int64_t step);

/* A window of training that ends with update `step`. */
struct train_line {
    int64_t step, epoch;
    double loss, right; /* of the window: the mean loss, and top1 or acc of scores.h */
    double epoch_loss;  /* of the epoch so far */
    double lr, grad_norm, loss_scale; /* the least of `scale` */
    double scale[CONTROL_LOSSES];     /* one, or one for each loss */
    int nscale;
    double images_per_second, data_share; /* share of the time spent waiting for data */
    int64_t skipped;                      /* updates skipped since the run began */
};
void output_train(struct output *o, const struct train_line *l);

struct val_line {
    int64_t step, epoch;
    struct scores val, ema;             /* NaN: not validated, no EMA */
    const struct segmentation *classes; /* of the weights; NULL: none */
};
void output_val(struct output *o, const struct val_line *l);

/* The same for an epoch that is over (TRAIN.VALIDATE beside): fills its row of
 * summary.csv, too. A line that a killed run had written already is not written again. */
void output_late(struct output *o, const struct val_line *l);

struct epoch_line {
    int64_t epoch;
    double train_loss, train_right, lr, images_per_second, seconds; /* as in train_line */
    struct val_line val;
};
void output_epoch(struct output *o, const struct epoch_line *l);

#endif
