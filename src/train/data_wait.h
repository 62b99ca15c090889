/*
 * Does training wait for data? What the log says of it after an epoch: for how long,
 * which stage of the loader is slow, and what would help.
 */
#ifndef TRAIN_DATA_WAIT_H
#define TRAIN_DATA_WAIT_H

#include "base/strbuf.h"
#include "dataset/loader.h"

struct data_wait {
    double seconds, waited; /* of the training of an epoch, and what of it was waiting */
    struct stage_times stages; /* work of the loader meanwhile */
    int workers, cores;
    bool holds_files, holds_images; /* DATA.CACHE keeps them in memory already */
};

/* The sentence, without the epoch; nothing if the waiting is less than a tenth of the
 * time, or than a second. */
void data_wait_add(struct strbuf *out, const struct data_wait *w);

/* Its second half, whatever was waited: where the loader's work goes, and what helps. */
void data_wait_advice(struct strbuf *out, const struct data_wait *w);

#endif
