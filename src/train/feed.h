/*
 * The data of a run: data sets, classes, and loaders.
 *
 *   struct feed f;
 *   feed_open(&f, cfg, true);     lists the files; false: only validation files
 *   feed_start(&f, &session);     starts the workers
 *   feed_close(&f);
 */
#ifndef TRAIN_FEED_H
#define TRAIN_FEED_H

#include "base/jpeg_device.h"
#include "config/config.h"
#include "config/problems.h"
#include "dataset/loader.h"
#include "session/session.h"
#include "train/class_list.h"
#include "train/views.h"

/* The batches of an update, all of which are fetched before the first one runs, and their
 * shares (session/shares.h). share[turn] is for this update; the other one is for the
 * last update, which may still be copied. */
struct feed_update {
    const struct batch **batch;
    float *share[2];
    int n, next, turn;
};

struct feed {
    const struct config *cfg;
    struct dataset *train, *val; /* train is NULL in an evaluation */
    struct loader *train_loader, *val_loader;
    struct class_list classes; /* points into the data sets */
    float *class_weight;       /* NULL: all 1 */
    float *class_bias;         /* TRAIN.LOSS.LOGIT_ADJUST, or NULL */
    bool other_failed;         /* True if a loader of another process failed. */
    /* Lets a profiler observe the training loader; set between open and start. */
    void (*observe)(const struct loader_event *s, void *arg);
    void *observe_arg;
    struct feed_update update;
    struct jpeg_device jpeg; /* DATA.DECODE device; .device NULL: the host decodes */
};

/*
 * Dies if the data cannot be opened, or if the splits' classes differ or their number is
 * not MODEL.NUM_CLASSES. For a classifier, an unset MODEL.NUM_CLASSES is first set to the
 * number of classes in the data.
 */
void feed_open(struct feed *f, struct config *cfg, bool train);
/* Returns the loss's class weights and biases; valid until feed_close(). */
struct class_factors feed_factors(const struct feed *f);
/* Starts the loaders; that of training images only if a program reads them. Batches are in
 * the session's host memory and may be lent to it, so drain the session, close the feed, and
 * then release the session. */
void feed_start(struct feed *f, struct session *s);
/* Restarts the validation loader with this view of the images; its counts begin at 0. */
void feed_restart_val(struct feed *f, struct session *s, const struct view *view);
/* Returns the labels in the form that a session expects: label maps, or one class index
 * per image. */
const void *feed_labels(const struct batch *b);
/* Gets the next training batch for session_step_lent, with its share in the update if
 * plan.shares. Returns false if the epoch is over or the loader failed. */
bool feed_next(struct feed *f, const struct session *s, struct lent_batch *lent);
/* Returns the unused batches of an unfinished update to the loader. */
void feed_drop(struct feed *f);
/* Wraps a batch of loader `l` for a _lent call, which returns it to `l`. */
struct lent_batch feed_lend(struct loader *l, const struct batch *b);
/* Returns why a loader has failed (loader_failure), here or, as of the last feed_agree(),
 * in another process. Returns NULL if none has. */
const char *feed_failure(const struct feed *f);
/*
 * Returns true in all processes if any of them must stop: because of a signal, a failed
 * loader, or *diverged (unless `diverged` is NULL). All processes must call it at the
 * same place.
 */
bool feed_agree(struct feed *f, bool *diverged);
/* True if this process alone must stop, for the same reasons. */
bool feed_wants_stop(const struct feed *f, bool diverged);
void feed_close(struct feed *f);

#endif
