/*
 * The graphs of a run.
 *
 * A training step is one graph:
 *   [resize] -> [flip] -> [color_jitter] -> [erase] -> normalize -> [mix] -> model
 *   [-> auxiliary classifiers, teacher] -> losses -> metrics -> backward
 *   -> [grads_accumulate] -> [grads_join] -> grad_stats -> control_prepare -> optimizer
 *   -> [all_gather] -> running_stats -> [all_reduce] -> [ema] -> control_finish
 * With several processes, the backward phase all-reduces buckets of gradients and waits
 * for them at its end (session/buckets.h). With gradient accumulation, the last batch of
 * an update all-reduces the accumulated gradients. BUILD_MICRO is the graph of all other
 * batches of an update: it ends after grads_accumulate and running_stats with
 * control_micro. BUILD_EVAL is the inference graph: normalize, model, cross_entropy
 * without smoothing, and metrics; the logits are in MEMORY_OUTPUT. With
 * MODEL.FEATURES_ONLY it ends with the last requested stage, and the stages are in
 * MEMORY_OUTPUT. A segmentation model uses cross_entropy2d and confusion instead of
 * cross_entropy and metrics, mirrors its labels with the images, and has neither erase
 * nor mix. BUILD_CAM is the inference graph without labels, in fp32, and the gradient of
 * chosen logits with respect to the output of a layer (models/cam.h).
 *
 * BUILD_STATS is the forward part of training up to the last batch norm, without mixup, which
 * leaves the statistics of the batch in MEMORY_STATS (session/norms.h).
 *
 * All graphs of one configuration have the same flat layout.
 */
#ifndef SESSION_BUILD_H
#define SESSION_BUILD_H

#include "graph/graph.h"
#include "ops/running_stats.h"
#include "session/plan.h"

enum build_kind { BUILD_TRAIN, BUILD_MICRO, BUILD_EVAL, BUILD_CAM, BUILD_STATS };

/* plan.shard: the trained weights that a process updates, and whose moments it stores:
 * floats begin[rank] to begin[rank + 1] - 1 of the flat arrays. The first of them has
 * offset 0 in the moments. */
struct shard {
    const int64_t *begin;           /* world + 1 offsets; NULL: one process owns
                                     * everything */
    int64_t first, len;              /* this process: begin[rank], and its floats */
    struct update_segment *segment; /* this process: segment[i] is a part of
                                     * build.segment[segment_of[i]] */
    int *whole, nsegment;
    int *use; /* same meaning as build.use */
};

struct build {
    struct graph *graph;
    struct graph *floats;  /* float net from which the int8 net was made, or NULL */
    struct tensor *pixels; /* uint8 image [batch, channels, height, width]; with jobs
                            * uint8 [batch, resize_place()] */
    struct tensor *jobs;   /* int32 [batch, RESIZE_JOB_WORDS] in training with
                            * plan.resizes, else NULL */
    struct tensor *keys;   /* int32 [batch, AUGMENT_KEY_WORDS] in training with
                            * plan.augment, else NULL */
    struct tensor *vote;   /* fp32 [1] in training with plan.votes, else NULL */
    struct tensor *shares; /* fp32 [SHARES] in training with plan.shares, else NULL */
    struct tensor
        *bytes; /* uint8 image [batch, channels, height, width] after augmentation */
    struct tensor *target_image, *mask; /* MODEL_SIMMIM: members of struct loss_options */
    struct tensor *labels;  /* int32 [batch], -1: ignored; or uint8 [batch, h, w] of the
                            * logits' size, LABEL_IGNORE: ignored */
    struct tensor *targets; /* uint8 [batch, K] of MODEL_MULTILABEL, fp32 [batch, K] of
                             * MODEL_REGRESSION, else NULL */
    struct tensor *truth;   /* labels that losses and metrics read: label maps may be
                            * mirrored with their images */
    struct tensor *outputs; /* of the model's last layer: the logits, or those of
                             * MODEL_REGRESSION and MODEL_ORDINAL, from which logits come */
    struct tensor *mean, *std;    /* fp32 [K] of MODEL_REGRESSION: the targets' units */
    struct tensor *logits, *loss; /* evaluations of MODEL_REGRESSION: values in the
                                   * targets' units; MODEL_ORDINAL: log probabilities */
    struct tensor *each[LOSSES_MAX + 1]; /* training losses, then the family's balance
                                          * loss if it has one; `loss` is their sum */
    int factor[LOSSES_MAX];          /* label map height / its height at that loss */
    struct model_stages *stages; /* if plan.nout > 0; then labels, logits, and loss are
                                  * absent */
    struct model_stages heads;   /* stages that losses and a teacher read */
    struct model_stage cam; /* BUILD_CAM: the layer; seed: fp32 [batch, K], the weights of
                             * the logits whose sum is differentiated */
    struct tensor *seed, *cam_grad;
    struct tensor *aux[MODEL_STAGES]; /* logits of auxiliary classifiers */
    struct precision_rules rules;     /* AMP.FP32 and AMP.HALF, with match counts */
    int folded;                       /* batch norms folded into convolutions */
    int gelus;                        /* in tanh form by MODEL.GELU_TANH */
    int recomputed;                   /* nodes that activation checkpointing recomputes */
    struct update_segment *segment;   /* what optimizers update, in the graph's arena:
                                       * sorted by optimizer, then by offset */
    const struct tensor **updated;    /* the parameter of each segment */
    int nsegment;
    int *use; /* plan.groups.use[i] owns segments use[i] to use[i + 1] - 1 */
    struct shard shard;
    const struct stats_segment
        *stat; /* BUILD_STATS: where statistics are, and how they are
                                       * scaled */
    int nstat;
};

/* `mixes`: applies mixup or cutmix (training only). The plan must outlive the build. */
void build_init(struct build *t, const struct plan *p, enum build_kind kind, bool mixes);
void build_release(struct build *t);

#endif
