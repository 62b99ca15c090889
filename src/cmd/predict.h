/*
 * What the files of `trainc predict` share: predict.c runs it, predict_answers.c says
 * what a classifier answers, predict_segment.c what a segmentation does.
 */
#ifndef CMD_PREDICT_H
#define CMD_PREDICT_H

#include "cmd/infer.h"
#include "dataset/class_set.h"
#include "io/json.h"

struct predict {
    const struct config *cfg;
    struct infer infer;
    struct images images;
    const struct class_set *set;
    char **name; /* of the classes */
    int classes;

    /* of a segmentation */
    const char *out; /* folder */
    bool server_ids;

    /* of a classifier */
    int top;            /* classes that are said of an image */
    bool probabilities; /* of all classes, in their order, into the files */
    const char *sorted; /* --sort: folder; NULL: none */
    bool copy;          /* of an image, not a link to it */
    const char *csv;    /* --csv, --json: file; NULL: none */
    const char *json;
    const char *submission, *sample; /* --submission, --sample: files; NULL: none */
    struct submission *answers;      /* for --submission */
    struct strbuf table; /* what is going to be in them */
    struct strbuf text;
    struct json_writer writer;
};

/* Before the net is compiled: may all files be written? Ends with usage() if not. */
void answers_check_places(const struct predict *p);
void answers_begin(struct predict *p);
/* The answer for image i, whose K logits these are. */
void answers_add(struct predict *p, int64_t i, const float *logits);
void answers_end(struct predict *p); /* writes the files */

void segment_check_places(const struct predict *p);
/* Writes the label map and the overlay of image i. */
void segment_image(struct predict *p, int64_t i, const float *logits);

#endif
