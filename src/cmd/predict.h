/*
 * Shared by the files of `trainc predict`: predict.c runs the model, predict_flags.c checks
 * flags, predict_answers.c writes the results of a classifier, predict_ranking.c the images
 * of each class (--top-images), predict_values.c the results of a regression,
 * predict_segment.c those of a segmentation model, predict_cam.c the heat maps of --cam,
 * and predict_files.c names and reads their files.
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
    char **name; /* of classes, or of targets */
    int classes;

    /* for segmentation */
    const char *out; /* output folder */
    bool server_ids;

    bool values; /* MODEL.TASK regression: numbers instead of classes */

    /* for classifiers */
    int top;      /* number of classes to print per image */
    double least; /* of --threshold: the least probability of an answer; 0: none */
    struct ranking *ranking; /* of --top-images, or NULL */
    bool probabilities;      /* write the probabilities of all classes to the files */
    const char *sorted;      /* folder of --sort, or NULL */
    bool copy;               /* with --sort: copy images instead of linking them */
    double *threshold;       /* [classes] with MODEL.TASK multilabel, else NULL */
    const char *csv;         /* file of --csv, or NULL */
    const char *json;        /* file of --json, or NULL */
    const char *submission, *sample; /* files of --submission and --sample, or NULL */
    struct submission *answers;      /* for --submission */
    struct strbuf table;             /* contents of the CSV file */
    struct strbuf text;              /* contents of the JSON file */
    struct json_writer writer;

    /* for --cam */
    const char *cam;      /* its folder, or NULL */
    int cam_class;        /* of --cam-class, or -1: the most likely one of each image */
    struct cam_run *maps; /* of predict_cam.c */
};

/* Parses --topk. Returns 0 for all, or -1 if the text is invalid. */
int predict_topk(const char *text);
/* Parses --threshold. Returns 0 without it, or -1 if the text is no probability above 0. */
double predict_threshold(const char *text);
/* For verb.check. */
void predict_check_flags(const struct cmdline *line, struct problems *p);

/* Checks that all outputs can be written, before the model is compiled. Exits with usage()
 * if not. */
void answers_check_outputs(const struct predict *p);
void answers_begin(struct predict *p);
/* Prints and records the prediction for image i. logits: one per class, or values. */
void answers_add(struct predict *p, int64_t i, const float *logits);
void answers_end(struct predict *p); /* writes the files */

/* --top-images: the images that are most likely of each class. */
struct ranking *ranking_new(int classes, int top);
void ranking_add(struct ranking *r, int64_t image, const double *probability);
/* Prints a line per class, and adds them to the open object of --json. */
void ranking_end(struct predict *p);

/* The parts of these for a regression. */
void values_begin_table(struct predict *p);
void values_add(struct predict *p, int64_t i, const float *value);

void segment_check_outputs(const struct predict *p);
/* Writes the label map and the overlay of image i: from the logits of the resized image, or
 * from a label map of the image's size. */
void segment_image(struct predict *p, int64_t i, const float *logits);
void segment_write(struct predict *p, int64_t i, const struct window_answer *a);

/* Returns the output path of an image as a heap string: its path below the named folder,
 * below `dir`, with `end` for its extension. */
char *files_path(const char *dir, const char *name, const char *end);
void files_make_folder(const char *path); /* creates the folder of a file */
/* Returns the pixels of image i as packed RGB in heap memory; dies if it is damaged. */
uint8_t *files_read_rgb(const struct predict *p, int64_t i, int *w, int *h);
/* Exits with usage() if the files of `flag` would replace an input image, a file that
 * trainc did not write, or each other. */
void files_check(const struct predict *p, const char *flag, const char *dir,
                 const char *end);

/* --cam. For verb.check: reports wrong and unusable flags. Expects a valid model. */
void cam_check(const struct config *cfg, const struct cmdline *line, struct problems *p);
/* Reads the flags; sets p->cam and p->infer for infer_open(). */
void cam_of_flags(struct predict *p, const struct config *cfg,
                  const struct cmdline *line);
/* Finds --cam-class among the class names; dies if it is unknown. After infer_open(). */
void cam_begin(struct predict *p, const struct cmdline *line);
/* Writes the heat maps of a batch. logits: of the batch. */
void cam_batch(struct predict *p, const struct batch *b, const float *logits);
/* Adds the file and the class of image i to the open object of --json. */
void cam_put(struct predict *p, int64_t i);
void cam_end(struct predict *p);

#endif
