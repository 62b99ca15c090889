/*
 * What a run feeds on: its data sets, their classes and their loaders.
 *
 *   struct feed f;
 *   feed_open(&f, cfg, true);     lists the files; false: only those of validation
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

/* The batches of an update, all of which are taken before the first runs, and their
 * shares (session/shares.h): of this update, and of the last, which may be on its way. */
struct feed_update {
    const struct batch **batch;
    float *share[2];
    int n, at, turn;
};

struct feed {
    const struct config *cfg;
    struct dataset *train, *val; /* train is NULL for an evaluation */
    struct loader *train_loader, *val_loader;
    struct class_list classes; /* lives in the data sets */
    float *class_weight;       /* NULL: each class weighs 1 */
    float *class_bias;         /* TRAIN.LOSS.LOGIT_ADJUST; NULL: none */
    bool other_failed;         /* a loader of another process */
    /* For a profiler: of the loader of training; set between open and start. */
    void (*observe)(const struct loader_sight *s, void *arg);
    void *observe_arg;
    struct feed_update update;
    struct jpeg_device jpeg; /* DATA.DECODE device; .device NULL: the host decodes */
};

/*
 * Dies if there are no such data, classes differ, or are not MODEL.NUM_CLASSES. If
 * nothing has set that key, a classifier's is set to the number of classes in the data.
 */
void feed_open(struct feed *f, struct config *cfg, bool train);
/* What classes count in the loss; valid until feed_close(). */
struct class_factors feed_factors(const struct feed *f);
/* Batches lie in the session's host memory and may be lent to it: close the feed first,
 * once the session is drained. */
void feed_start(struct feed *f, struct session *s);
/* What a session takes for labels: the label maps, or a class per image. */
const void *feed_labels(const struct batch *b);
/* The next batch of training for session_step_lent, with its share in the update where
 * batches of an update may differ. False: the epoch is over, or the loader has failed. */
bool feed_next(struct feed *f, const struct session *s, struct lent_batch *lent);
/* Gives back what was taken for an update that does not go on. */
void feed_drop(struct feed *f);
/* The batch for a _lent call; `l` gets it back. */
struct lent_batch feed_lend(struct loader *l, const struct batch *b);
/* Why one of the loaders has no more batches (loader_failure), here or in another process
 * as feed_agree() knows it; NULL: both go on. */
const char *feed_failure(const struct feed *f);
/*
 * All processes call it at the same place: what stops one, a signal, a loader that has
 * failed or, if it is no NULL, *diverged, stops them all there. True: something does.
 */
bool feed_agree(struct feed *f, bool *diverged);
void feed_close(struct feed *f);

#endif
