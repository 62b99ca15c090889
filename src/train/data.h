/*
 * The data of a run: what DATA, AUG and TEST say, as data sets and loaders.
 *
 *   struct data d;
 *   data_open(&d, cfg, DATA_TRAIN | DATA_VAL);      lists the files
 *   data_start(&d, batch, val_batch);               starts the workers
 *   data_close(&d);
 *
 * DATA.DATASET imagenet and folder are ImageFolder's layout, DATA_PATH/SPLIT/CLASS/FILE;
 * both splits must have the same classes.
 */
#ifndef TRAIN_DATA_H
#define TRAIN_DATA_H

#include "config/config.h"
#include "config/problems.h"
#include "dataset/loader.h"
#include "train/checkpoint.h"

enum { DATA_TRAIN = 1, DATA_VAL = 2 };

struct data {
    const struct config *cfg;
    struct dataset *train, *val; /* NULL if not asked for */
    struct loader *train_loader, *val_loader;
    struct class_list classes; /* lives in the data sets */
};

/* What cannot be done with these keys, for a verb's check(); touches no file. */
void data_check(const struct config *cfg, struct problems *p);

/* Dies if there are no such data, or not MODEL.NUM_CLASSES classes. */
void data_open(struct data *d, const struct config *cfg, int splits);
void data_start(struct data *d, int64_t batch, int64_t val_batch);
void data_close(struct data *d);

#endif
