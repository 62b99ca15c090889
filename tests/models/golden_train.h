/*
 * Whole training steps against PyTorch, fp32, on every backend: loss, logits, every
 * gradient, and all weights and buffers after three steps. For the golden files of
 * scripts/golden/model_resnet.py and model_transformer.py.
 */
#ifndef TESTS_MODELS_GOLDEN_TRAIN_H
#define TESTS_MODELS_GOLDEN_TRAIN_H

#include "models/table.h"

/* Each tests/golden/models/NAME.json has some of these. */
enum golden_optimizer {
    GOLDEN_SGD,
    GOLDEN_ADAMW,
    GOLDEN_LAYERS, /* AdamW with layer-wise learning rate decay */
    GOLDEN_SLOW    /* SGD at a rate so small that rounding does not grow */
};

/*
 * Checks the net `m` against the run of one optimizer: "loss_sgd", "sgd", and, if
 * `first`, "logits" and "grad" of the first step, and "eval" if present.
 */
void golden_train(const struct model *m, enum golden_optimizer o, bool first);

/* Checks the net of `nets` with this name against the runs of GOLDEN_SGD, with what
 * `first` adds, GOLDEN_ADAMW, and GOLDEN_LAYERS. */
void golden_check(const struct model *nets, size_t n, const char *name);

/*
 * Checks an exported network, whose weights are those of its archive `m->name`, against the
 * results in the file `golden` of scripts/golden/pt2.py: GOLDEN_SLOW, with losses and
 * running statistics ("stats") to 1e-5, gradients to 1e-3, or 10 times as far as PyTorch's
 * own results in fp32 are from those in fp64 ("noise"). Its logits may be images. Weights in
 * the list "formula" are those of golden_formula() instead.
 */
void golden_train_archive(const struct model *m, const char *golden);
/* The same with the weights of golden_formula(), for the files of scripts/golden/layers.py. */
void golden_train_layers(const struct model *m, const char *golden);

#endif
