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
    GOLDEN_LAYERS /* AdamW with layer-wise learning rate decay */
};

/*
 * Checks the net `m` against the run of one optimizer: "loss_sgd", "sgd", and, if
 * `first`, "logits" and "grad" of the first step, and "eval" if present.
 */
void golden_train(const struct model *m, enum golden_optimizer o, bool first);

#endif
