/* The table of verbs, in the order of the help. */
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/suggest.h"
#include "cmd/cmd.h"
#include "config/problems.h"
#include "config/schema.h"

const struct verb *const verb_table[] = {
    &cmd_train,   &cmd_eval,    &cmd_predict, &cmd_features, &cmd_export, &cmd_quantize,
    &cmd_average, &cmd_summary, &cmd_bench,   &cmd_profile,  &cmd_config, &cmd_models,
    &cmd_devices, &cmd_synth,   &cmd_pack,    &cmd_init,     &cmd_check,  &cmd_cache,
    &cmd_launch,  &cmd_sweep,   &cmd_report,  &cmd_help,     NULL,
};

/* Names of verbs in other programs. */
static const struct {
    const char *names, *here;
} elsewhere[] = {
    {"test val validate validation evaluate", "eval"},
    {"fit finetune fine-tune fine_tune", "train"},
    {"infer inference classify detect segment", "predict"},
    {"convert onnx", "export"},
    {"benchmark speed throughput", "bench"},
    {"info describe", "summary"},
    {"list zoo", "models"},
    {"tune search hpo", "sweep"},
    {"new create", "init"},
    {"verify lint", "check"},
    {"compress int8", "quantize"},
    {"avg soup avg_checkpoints", "average"},
    {"torchrun distributed", "launch"},
    {"clean prune purge clear", "cache"},
};

static bool has_name(const char *names, const char *name)
{
    size_t len = strlen(name);

    while (*names) {
        size_t n = strcspn(names, " ");

        if (n == len && !strncasecmp(names, name, n))
            return true;
        names += n + (names[n] == ' ');
    }
    return false;
}

const struct verb *verb_find(const char *name)
{
    for (int i = 0; verb_table[i]; i++)
        if (!strcmp(verb_table[i]->name, name))
            return verb_table[i];
    return NULL;
}

const struct verb *verb_elsewhere(const char *name)
{
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++)
        if (has_name(elsewhere[i].names, name))
            return verb_find(elsewhere[i].here);
    return NULL;
}

const struct verb *verb_named(const char *name)
{
    const struct verb *v = verb_find(name);
    struct suggest s;

    if (v)
        return v;
    v = verb_elsewhere(name);
    if (v)
        usage("unknown verb %s (use trainc %s)", name, v->name);
    suggest_init(&s, name);
    for (int i = 0; verb_table[i]; i++)
        suggest_try(&s, verb_table[i]->name);
    if (s.best)
        usage("unknown verb %s (did you mean %s?)", name, s.best);
    usage("unknown verb %s (see trainc help)", name);
}

/* True if `name` is the key, or its section followed by a dot. */
static bool names_key(const char *name, const char *key)
{
    size_t len = strlen(name);

    return len && name[len - 1] == '.' ? !strncmp(name, key, len) : !strcmp(name, key);
}

bool verb_reads(const struct verb *v, const char *key)
{
    const char *const *k = v->reads;

    while (k && *k && !names_key(*k, key))
        k++;
    return !k || *k || (!v->main && !strcmp(key, "LOG.LEVEL"));
}

/* Warns if the verb does not read the key. Unknown keys have been reported. */
static void check_set(const struct verb *v, const struct config *cfg,
                      const struct cfgnode_pair *set, struct problems *p)
{
    const struct schema *row = schema_find(schema_table, set->name);

    if (row && !verb_reads(v, row->key) && !config_is_default(cfg, row->key))
        problems_warn(p, set->origin, "%s has no effect: trainc %s does not read it",
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
