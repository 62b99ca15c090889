/*
 * Shared by the files of `trainc predict`: predict.c runs the model, predict_answers.c
 * writes the results of a classifier, predict_segment.c those of a segmentation model.
 */
#ifndef CMD_PREDICT_H
#define CMD_PREDICT_H

#include "cmd/ensemble.h"
#include "cmd/infer.h"
#include "dataset/class_set.h"
#include "io/json.h"
#include "train/windows.h"

struct predict {
    const struct config *cfg;
    struct infer infer;
    struct ensemble ensemble; /* further --weights */
    struct images images;
    const struct class_set *set;
    char **name; /* class names */
    int classes;

    /* for segmentation */
    const char *out; /* output folder */
    bool server_ids;

    /* for classifiers */
    int top;            /* number of classes to print per image */
    bool probabilities; /* write the probabilities of all classes to the files */
    const char *sorted; /* folder of --sort, or NULL */
    bool copy;          /* with --sort: copy images instead of linking them */
    double *threshold;  /* [classes] with MODEL.TASK multilabel, else NULL */
    const char *csv;    /* file of --csv, or NULL */
    const char *json;   /* file of --json, or NULL */
    const char *submission, *sample; /* files of --submission and --sample, or NULL */
    struct submission *answers;      /* for --submission */
    struct strbuf table;             /* contents of the CSV file */
    struct strbuf text;              /* contents of the JSON file */
    struct json_writer writer;
};

/* Checks that all outputs can be written, before the model is compiled. Exits with usage()
 * if not. */
void answers_check_outputs(const struct predict *p);
void answers_begin(struct predict *p);
/* Prints and records the prediction for image i. logits: one per class. */
void answers_add(struct predict *p, int64_t i, const float *logits);
void answers_end(struct predict *p); /* writes the files */

void segment_check_outputs(const struct predict *p);
/* Writes the label map and the overlay of image i: from the logits of the resized image, or
 * from a label map of the image's size. */
void segment_image(struct predict *p, int64_t i, const float *logits);
void segment_write(struct predict *p, int64_t i, const struct window_answer *a);

#endif
