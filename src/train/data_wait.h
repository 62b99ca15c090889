/*
 * The log's message after an epoch in which training waited for data: for how long, which
 * loader stages take the time, and what may help.
 */
#ifndef TRAIN_DATA_WAIT_H
#define TRAIN_DATA_WAIT_H

#include "base/strbuf.h"
#include "dataset/loader.h"

struct data_wait {
    double seconds, waited;    /* duration of the epoch's training; its wait for data */
    struct stage_times stages; /* the loader's work during that time */
    int workers, cores;
    bool holds_files, holds_images; /* True if DATA.CACHE already keeps them in memory. */
};

/* Appends the message, without the epoch. Appends nothing if training waited less than a
 * tenth of the time or less than a second. */
void data_wait_add(struct strbuf *out, const struct data_wait *w);

/* Appends only the loader's time by stage and the advice, independent of the wait. */
void data_wait_advice(struct strbuf *out, const struct data_wait *w);

#endif
