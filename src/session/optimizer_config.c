#include "session/optimizer_config.h"

#include "base/error.h"
#include "config/names.h"
#include "config/records.h"
#include "session/optimizer_groups.h"

static void check_usual(const struct config *cfg, struct problems *p,
                        const struct optimizer *o)
{
    for (const struct optimizer_usual *u = o->usual; u && u->key; u++)
        if (!config_origin(cfg, u->key))
            problems_note(p, config_origin(cfg, "TRAIN.OPTIMIZER.NAME"),
                          "%s usually needs %s %s, which is not the default", o->name,
                          u->key, u->value);
}

/* Groups with another optimizer read the keys of TRAIN.OPTIMIZER, too. */
void optimizer_config_check(const struct config *cfg, struct problems *p)
{
    const char *also[OPTIMIZER_GROUPS_MAX + 1] = {NULL};
    const struct record_list *groups = &cfg->train.optimizer.groups;

    for (int i = 0; i < groups->n && i < OPTIMIZER_GROUPS_MAX; i++)
        also[i] = RECORD(*groups, struct config_group, i)->name;
    if (names_check_also(&optimizer_names, cfg, p, "TRAIN.OPTIMIZER.NAME", also))
        check_usual(cfg, p, optimizer_of_config(cfg));
    optimizer_groups_check(cfg, p);
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
        .trust_coeff = cfg->train.optimizer.trust_coeff,
        .nesterov = cfg->train.optimizer.nesterov,
        .trust_clip = cfg->train.optimizer.trust_clip,
        .always_adapt = cfg->train.optimizer.always_adapt,
    };
}
