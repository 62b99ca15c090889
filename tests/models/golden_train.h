/*
 * Whole training steps against PyTorch, fp32, on every backend: loss, logits, every
 * gradient, and all weights and buffers after three steps. For the golden files of
 * scripts/golden/model_resnet.py and model_transformer.py.
 */
#ifndef TESTS_MODELS_GOLDEN_TRAIN_H
#define TESTS_MODELS_GOLDEN_TRAIN_H

#include "models/table.h"

/* tests/golden/models/NAME.json has some of them. */
enum golden_optimizer {
    GOLDEN_SGD,
    GOLDEN_ADAMW,
    GOLDEN_LAYERS /* AdamW with layer-wise decay of the rate */
};

/*
 * The net `m` against what one optimizer's run has: "loss_sgd", "sgd", and, if `first`,
 * "logits" and "grad", which are of the first step, and "eval" where there is one.
 */
void golden_train(const struct model *m, enum golden_optimizer o, bool first);

#endif
