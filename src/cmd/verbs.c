/* All verbs, in the order of the help. The first one is the default. */
#include <stddef.h>
#include <string.h>

#include "cmd/cmd.h"
#include "config/problems.h"
#include "config/schema.h"

const struct verb *const verb_table[] = {
    &cmd_train,  &cmd_eval,   &cmd_predict, &cmd_export, &cmd_summary, &cmd_bench,
    &cmd_config, &cmd_models, &cmd_devices, &cmd_synth,  &cmd_help,    NULL,
};

bool verb_reads(const struct verb *v, const char *key)
{
    const char *const *k = v->reads;

    while (k && *k && strcmp(*k, key) != 0)
        k++;
    return !k || *k || !strcmp(key, "LOG.LEVEL");
}

/* Unknown keys were reported. */
static void check_set(const struct verb *v, const struct config *cfg,
                      const struct cfgnode_pair *set, struct problems *p)
{
    const struct schema *row = schema_find(schema_table, set->name);

    if (row && !verb_reads(v, row->key) && !config_is_default(cfg, row->key))
        problems_warn(p, set->where, "%s has no effect: trainc %s does not read it",
                      set->name, v->name);
}

void verb_check_read(const struct verb *v, const struct config *cfg,
                     const struct cmdline *line, struct problems *p)
{
    for (int i = 0; i < line->nopt; i++)
        check_set(v, cfg, &line->opt[i], p);
    for (int i = 0; i < line->nflag; i++)
        check_set(v, cfg, &line->flag[i], p);
}
