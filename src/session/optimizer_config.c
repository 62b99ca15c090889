#include "session/optimizer_config.h"

#include "base/error.h"
#include "base/strbuf.h"

/* Keys that other optimizers read and this one does not. */
static void check_unread(const struct config *cfg, struct problems *p,
                         const struct optimizer *o)
{
    for (const struct optimizer *other = optimizer_table; other->name; other++)
        for (const char *const *key = other->reads; *key; key++)
            if (!optimizer_reads(o, *key))
                config_warn_unread(cfg, p, *key,
                                   "TRAIN.OPTIMIZER.NAME %s does not read it", o->name);
}

void optimizer_config_check(const struct config *cfg, struct problems *p)
{
    struct strbuf why = STRBUF_INIT;

    if (!optimizer_known(cfg->train.optimizer.name, &why))
        config_blame(cfg, p, KEYS("TRAIN.OPTIMIZER.NAME"), "TRAIN.OPTIMIZER.NAME %s",
                     why.buf);
    else
        check_unread(cfg, p, optimizer_of_config(cfg));
    strbuf_release(&why);
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
