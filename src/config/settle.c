/* Resolves redundant keys: the later source wins. */
#include <string.h>

#include "config/cfgnode.h"
#include "config/cmdline.h"
#include "config/config.h"

/* True for --opts, KEY=VALUE, and flags. The first two are one source, flags another. */
static bool on_command_line(const char *where)
{
    return *where == '-' || cmdline_is_opts(where);
}

/* Returns the length of the file name in "a.yaml:13:1". */
static size_t source_len(const char *where)
{
    const char *end = where + strlen(where);

    for (int colons = 0; end > where && colons < 2; end--)
        colons += end[-1] == ':';
    return (size_t)(end - where);
}

static bool same_source(const struct cfgnode_entry *a, const struct cfgnode_entry *b)
{
    if (!a->where || !b->where)
        return false;
    if (on_command_line(a->where) || on_command_line(b->where))
        return on_command_line(a->where) == on_command_line(b->where) &&
               cmdline_is_opts(a->where) == cmdline_is_opts(b->where);
    return source_len(a->where) == source_len(b->where) &&
           !memcmp(a->where, b->where, source_len(a->where));
}

bool config_is_later(const struct config *cfg, const char *key, const char *other)
{
    const struct cfgnode_entry *a = cfgnode_find(cfg->tree, key),
                               *b = cfgnode_find(cfg->tree, other);

    return a->order > b->order && !same_source(a, b);
}

/* Warns if a flag overrides --opts, which it does regardless of their order. */
static void warn_if_beaten(const struct cfgnode_entry *later,
                           const struct cfgnode_entry *earlier, struct problems *p)
{
    if (earlier->where && cmdline_is_opts(earlier->where))
        problems_warn(p, later->where,
                      "it replaces %s, set by %s: flags override KEY=VALUE",
                      earlier->name, earlier->where);
}

/* DATA.ZIP_MODE: the folders of DATA.DATASET imagenet are stored in zip files. */
static void settle_zip(struct cfgnode *tree, struct problems *p)
{
    const struct cfgnode_entry *zip = cfgnode_find(tree, "DATA.ZIP_MODE");
    struct cfgnode_entry *dataset = cfgnode_find(tree, "DATA.DATASET");
    const char *name = dataset->value.s;

    if (zip->bad || dataset->bad || !zip->value.b || !strcmp(name, "zip"))
        return;
    if (strcmp(name, "imagenet") != 0 && strcmp(name, "folder") != 0) {
        problems_error(p, zip->where,
                       "DATA.ZIP_MODE: DATA.DATASET %s is not stored in zip files, "
                       "imagenet is",
                       name);
        return;
    }
    dataset->value.s = "zip";
    dataset->where = zip->where;
}

void config_settle(struct cfgnode *tree, struct problems *p)
{
    struct cfgnode_entry *on = cfgnode_entry(tree, "AMP_ENABLE");
    struct cfgnode_entry *level = cfgnode_entry(tree, "AMP_OPT_LEVEL");
    const char *name = level->value.s;
    bool wants = *name && strcmp(name, "O0") != 0;

    settle_zip(tree, p);
    if (on->bad || level->bad || !*name || on->value.b == wants || same_source(on, level))
        return;
    if (level->order > on->order) {
        warn_if_beaten(level, on, p);
        on->value.b = wants;
        on->where = level->where;
    } else {
        warn_if_beaten(on, level, p);
        level->value.s = "";
        level->where = on->where;
    }
}
