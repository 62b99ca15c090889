/*
 * Private to average*.c: the opened files and the tensors of the result.
 */
#ifndef TRAIN_AVERAGE_PARTS_H
#define TRAIN_AVERAGE_PARTS_H

#include "io/weights_file.h"
#include "train/average.h"

#define AVERAGE_EMA "ema." /* prefix of the EMA weights */

struct average {
    struct weights_file *file;
    int n;
    bool ema;
    int *chosen, nchosen; /* indices of the files whose mean is computed */
    struct average_item {
        const struct average *a;
        const struct safetensors_tensor **in; /* its tensor in each file */
        bool copied;    /* integers, of which one file's are copied */
        int64_t *count; /* a counter in each file, or NULL */
        void *replaced; /* written in place of the mean, or NULL */
    } * item;
    int nitem;
    char *raw;   /* as many bytes as the largest tensor */
    double *sum; /* as many elements as the largest tensor, as is `mean` */
    float *mean;
};

#endif
