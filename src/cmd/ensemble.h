/*
 * Ensembles: --weights A B C. The flag takes A; B and C stand among the arguments and are
 * told from images by their extensions. Each member is built from the configuration in its
 * own file (or all from --cfg), so their architectures and input sizes may differ; their
 * classes may not. Their probabilities, of the softmax or with MODEL.TASK multilabel of
 * the sigmoid, are averaged with equal weights (Lakshminarayanan et al. 2017, 1612.01474).
 */
#ifndef CMD_ENSEMBLE_H
#define CMD_ENSEMBLE_H

#include "cmd/infer.h"
#include "config/cmdline.h"
#include "io/json.h"

/* True if argument i is a further file of weights. */
bool ensemble_has(const struct cmdline *line, int i);
/* Reports further weights that cannot be members: damaged, or without a configuration. */
void ensemble_check(const struct cmdline *line, struct problems *p);
/* Returns the command line with the other arguments only; the caller frees .arg. */
struct cmdline ensemble_others(const struct cmdline *line);

/* Loads the configuration of these weights into `cfg` as main() does for the first member,
 * whose configuration is `first`; exits with usage() if the tasks differ.
 * `member` is memory that `cfg` needs; the caller releases member->mem and `cfg`. */
void ensemble_config(const char *path, const struct cmdline *line,
                     const struct config *first, struct cmdline *member,
                     struct config *cfg);

/* The members besides the first one, which `infer` runs. Initialize with {0}. */
struct ensemble {
    struct ensemble_member {
        const char *path;
        struct cmdline line;
        struct config cfg;
        struct infer infer;
    } * member;
    int n;
    float *logits; /* of a member */
    double *sum;   /* of probabilities */
};

/* Dies if a member has other classes than the first: `classes` of them, `list` their names
 * or NULL. `images` must outlive `e`. */
void ensemble_open(struct ensemble *e, const struct cmdline *line,
                   const struct infer *first, int classes, const json_t *list,
                   const struct images *images);
/* Runs batch `b` of the first member through the others. Replaces the first one's logits
 * by the logarithms of the mean probabilities, whose softmax is that mean. */
void ensemble_mean(struct ensemble *e, const struct infer *first, const struct batch *b,
                   float *logits);
void ensemble_close(struct ensemble *e);

#endif
