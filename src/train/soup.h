/*
 * Averages that need data: batch norm statistics are estimated for the mean, as
 * torch.optim.swa_utils.update_bn does (session/norms.h), and a greedy soup chooses the
 * checkpoints (Wortsman et al. 2022, "Model soups: averaging weights of multiple fine-tuned
 * models improves accuracy without increasing inference time", Recipe 1): sorted by their
 * validation score, best first, each is kept if the mean with it does not validate worse than
 * the mean without it.
 */
#ifndef TRAIN_SOUP_H
#define TRAIN_SOUP_H

#include "config/config.h"
#include "train/average.h"

enum { SOUP_NO_BATCHES = 0, SOUP_ALL_BATCHES = -1 };

struct soup_options {
    struct config *cfg; /* the model and the data */
    int64_t bn_batches; /* training batches for the statistics, or one of SOUP_ */
    bool greedy;
};

/*
 * Chooses the files of `a`, and replaces the statistics, according to `o`. Logs a line for
 * each checkpoint of a greedy soup. Returns the exit code: not EXIT_OK if a signal came. Dies
 * if the files do not fit the model or the data cannot be read.
 */
int soup_cook(struct average *a, const struct soup_options *o);

#endif
