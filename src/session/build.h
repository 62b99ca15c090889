/*
 * The graphs of a run.
 *
 * A training step is one graph:
 *   [resize] -> [flip] -> [color_jitter] -> [erase] -> normalize -> [mix] -> model
 *   [-> auxiliary classifiers, teacher] -> losses -> metrics -> backward
 *   -> [grads_accumulate] -> [grads_join] -> grad_stats -> control_prepare -> optimizer
 *   -> [all_gather] -> running_stats -> [all_reduce] -> [ema] -> control_finish
 * With several processes, buckets of gradients are reduced during the backward phase,
 * which ends with a wait for them (session/buckets.h); with accumulation, it is the
 * accumulated gradients that are reduced, in the backward phase of an update's last
 * batch. With gradient accumulation, BUILD_MICRO is the graph of all batches of an update
 * but the last: it ends after grads_accumulate and running_stats with control_micro.
 * BUILD_EVAL is the inference graph: normalize, model, cross_entropy without smoothing
 * and metrics; the logits are in MEMORY_OUTPUT. With MODEL.FEATURES_ONLY it ends with the
 * last of the stages that are asked for, and these are in MEMORY_OUTPUT. A model that
 * segments has cross_entropy2d and confusion in place of cross_entropy and metrics, a
 * flip of the labels beside that of the images, and neither erase nor mix.
 *
 * All graphs of one configuration have one flat layout.
 */
#ifndef SESSION_BUILD_H
#define SESSION_BUILD_H

#include "graph/graph.h"
#include "session/plan.h"

enum build_kind { BUILD_TRAIN, BUILD_MICRO, BUILD_EVAL };

/* With plan.shard: the trained weights that a process updates, and whose moments it has:
 * floats begin[rank] to begin[rank + 1] - 1 of the flat arrays. The first of them has
 * offset 0 in the moments. */
struct shard {
    const int64_t *begin;           /* world + 1; NULL: all of them */
    int64_t from, len;              /* of this process: begin[rank]; floats */
    struct update_segment *segment; /* of this process; segment[i] is a part of
                                     * build.segment[whole[i]] */
    int *whole, nsegment;
    int *use; /* as build.use */
};

struct build {
    struct graph *graph;
    struct graph *floats;  /* the net that one in 8 bits was made from, or NULL */
    struct tensor *pixels; /* uint8 image [batch, channels, height, width]; with jobs
                            * uint8 [batch, resize_place()] */
    struct tensor *jobs;   /* int32 [batch, RESIZE_JOB_WORDS] of training with
                            * plan.resizes; NULL: none */
    struct tensor *keys;   /* int32 [batch, AUGMENT_KEY_WORDS] of training with
                            * plan.augment; NULL: none */
    struct tensor *shares; /* fp32 [SHARES] of training with plan.shares; NULL: none */
    struct tensor *labels; /* int32 [batch], -1: not counted; or uint8 [batch, h, w] of
                            * the logits' size, LABEL_IGNORE: not counted */
    struct tensor *truth;  /* the labels as losses and metrics see them: label maps may
                            * be mirrored with their images */
    struct tensor *logits, *loss;
    struct tensor *each[LOSSES_MOST]; /* the losses of training that `loss` is the sum
                                       * of */
    int factor[LOSSES_MOST];     /* how much smaller the label map of each of them is */
    struct model_stages *stages; /* of a plan with .nout; no labels, logits, loss then */
    struct model_stages heads;   /* what losses and a teacher ask for */
    struct tensor *aux[MODEL_STAGES]; /* logits of auxiliary classifiers */
    struct precision_rules rules;     /* AMP.FP32 and AMP.HALF, and what they matched */
    int recomputed;                   /* nodes that activation checkpointing duplicated */
    struct update_segment *segment;   /* what optimizers update, in the graph's arena: one
                                       * optimizer after the other, by offset in each */
    const struct tensor **updated;    /* the parameter of each segment */
    int nsegment;
    int *use; /* segments use[i] to use[i + 1] are those of plan.groups.use[i] */
    struct shard shard;
};

/* `mixes`: with mixup or cutmix, in training. The plan must outlive the build. */
void build_init(struct build *t, const struct plan *p, enum build_kind kind, bool mixes);
void build_release(struct build *t);

#endif
