#include "session/optimizer_config.h"

#include "base/error.h"
#include "config/names.h"

void optimizer_config_check(const struct config *cfg, struct problems *p)
{
    (void)names_check(&optimizer_names, cfg, p, "TRAIN.OPTIMIZER.NAME");
}

const struct optimizer *optimizer_of_config(const struct config *cfg)
{
    const struct optimizer *o = optimizer_find(cfg->train.optimizer.name);

    if (!o)
        usage("there is no TRAIN.OPTIMIZER.NAME '%s'", cfg->train.optimizer.name);
    return o;
}

struct hyperparameters hyperparameters_of_config(const struct config *cfg)
{
    return (struct hyperparameters){
        .momentum = cfg->train.optimizer.momentum,
        .alpha = cfg->train.optimizer.alpha,
        .beta1 = cfg->train.optimizer.betas.item[0],
        .beta2 = cfg->train.optimizer.betas.item[1],
        .eps = cfg->train.optimizer.eps,
        .nesterov = cfg->train.optimizer.nesterov,
    };
}
