/* Resolves redundant keys: the later source wins. */
#include <string.h>

#include "config/cfgnode.h"
#include "config/cmdline.h"
#include "config/config.h"

/* True for --opts, KEY=VALUE, and flags. The first two are one source, flags another. */
static bool on_command_line(const char *origin)
{
    return *origin == '-' || cmdline_is_opts(origin);
}

/* Returns the length of the file name in "a.yaml:13:1". */
static size_t source_len(const char *origin)
{
    const char *end = origin + strlen(origin);

    for (int colons = 0; end > origin && colons < 2; end--)
        colons += end[-1] == ':';
    return (size_t)(end - origin);
}

static bool same_source(const struct cfgnode_entry *a, const struct cfgnode_entry *b)
{
    if (!a->origin || !b->origin)
        return false;
    if (on_command_line(a->origin) || on_command_line(b->origin))
        return on_command_line(a->origin) == on_command_line(b->origin) &&
               cmdline_is_opts(a->origin) == cmdline_is_opts(b->origin);
    return source_len(a->origin) == source_len(b->origin) &&
           !memcmp(a->origin, b->origin, source_len(a->origin));
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
    if (earlier->origin && cmdline_is_opts(earlier->origin))
        problems_warn(p, later->origin,
                      "it replaces %s, set by %s: flags override KEY=VALUE",
                      earlier->name, earlier->origin);
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
        problems_error(p, zip->origin,
                       "DATA.ZIP_MODE: DATA.DATASET %s is not stored in zip files, "
                       "imagenet is",
                       name);
        return;
    }
    dataset->value.s = "zip";
    dataset->origin = zip->origin;
}

void config_settle(struct cfgnode *tree, struct problems *p)
{
    struct cfgnode_entry *enable = cfgnode_entry(tree, "AMP_ENABLE");
    struct cfgnode_entry *level = cfgnode_entry(tree, "AMP_OPT_LEVEL");
    const char *name = level->value.s;
    bool wants = *name && strcmp(name, "O0") != 0;

    settle_zip(tree, p);
    if (enable->bad || level->bad || !*name || enable->value.b == wants ||
        same_source(enable, level))
        return;
    if (level->order > enable->order) {
        warn_if_beaten(level, enable, p);
        enable->value.b = wants;
        enable->origin = level->origin;
    } else {
        warn_if_beaten(enable, level, p);
        level->value.s = "";
        level->origin = enable->origin;
    }
}
