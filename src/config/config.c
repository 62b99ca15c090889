#include "config/config.h"

#include <string.h>

#include "config/schema.h"

void config_init(struct config *cfg)
{
    memset(cfg, 0, sizeof(*cfg));
    for (const struct schema *row = schema_table; row->key; row++) {
        struct value v = schema_default(row, &cfg->mem);

        schema_bind(row, &v, cfg, &cfg->mem);
    }
}

void config_release(struct config *cfg)
{
    arena_release(&cfg->mem);
    memset(cfg, 0, sizeof(*cfg));
}

int config_amp_level(const struct config *cfg)
{
    if (cfg->amp_opt_level == AMP_OPT_LEVEL_EMPTY)
        return cfg->amp_enable ? AMP_OPT_LEVEL_O1 : AMP_OPT_LEVEL_O0;
    return cfg->amp_opt_level;
}
