/* Loads a configuration, from the defaults to struct config. */
#include <stdlib.h>
#include <string.h>

#include "config/cfgnode.h"
#include "config/cmdline.h"
#include "config/config.h"
#include "config/installed.h"
#include "config/schema.h"
#include "config/yaml.h"

static const char *path_of(const char *cfg)
{
    return !strcmp(cfg, "-") ? "/dev/stdin" : cfg;
}

/* Merges a file of --cfg: from the current folder or, if missing there, the installed
 * one. */
static void merge_cfg(struct cfgnode *tree, const char *cfg, struct problems *p)
{
    char *installed = installed_config(path_of(cfg));

    if (installed)
        problems_note(p, NULL, "reading %s: there is no %s in the current folder",
                      installed, cfg);
    cfgnode_merge_file(tree, installed ? installed : path_of(cfg), "--cfg", p);
    free(installed);
}

/* Warns if a flag overrides a different value of --opts, which it does regardless of
 * their order. */
static void warn_if_beaten(const struct cfgnode_entry *was,
                           const struct cfgnode_entry *is,
                           const struct cfgnode_pair *flag, struct problems *p)
{
    struct strbuf old = STRBUF_INIT;

    if (!was->origin || !cmdline_is_opts(was->origin) ||
        value_equal(&was->value, &is->value))
        return;
    value_add_repr(&old, &was->value);
    problems_warn(p, flag->origin, "%s is %s, not %s as in %s: flags override KEY=VALUE",
                  flag->name, flag->text, old.buf, was->origin);
    strbuf_release(&old);
}

static void merge_flags(struct cfgnode *tree, const struct cmdline *line,
                        struct problems *p)
{
    for (int i = 0; i < line->nflag; i++) {
        const struct cfgnode_entry *e = cfgnode_find(tree, line->flag[i].name);
        struct cfgnode_entry was = *e;

        cfgnode_merge_list(tree, &line->flag[i], 1, p);
        warn_if_beaten(&was, e, &line->flag[i], p);
    }
}

static void merge_saved(struct cfgnode *tree, const struct cmdline *line,
                        struct problems *p)
{
    struct cfgnode *src =
        yaml_read_text(line->saved, strlen(line->saved), line->saved_name, p);

    if (src)
        cfgnode_merge(tree, src, p);
    cfgnode_free(src);
}

bool config_load(struct config *cfg, const struct cmdline *line, struct problems *p)
{
    struct cfgnode *tree = cfgnode_clone(config_defaults());

    if (line->saved)
        merge_saved(tree, line, p);
    for (int i = 0; i < line->ncfg; i++)
        merge_cfg(tree, line->cfg[i].text, p);
    cfgnode_merge_list(tree, line->opt, line->nopt, p);
    merge_flags(tree, line, p);
    cfgnode_interpolate(tree, p);
    config_check(tree, p);
    config_settle(tree, p);
    cfgnode_freeze(tree);
    config_bind(cfg, tree);
    cfg->words = line->words ? arena_strdup(tree->mem, line->words) : NULL;
    cfg->from_file = line->ncfg || line->saved;
    cfg->doubt = p->nerror > p->nkey;
    config_check_rules(cfg, p);
    return !p->nerror;
}
