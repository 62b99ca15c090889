/* Two keys that say the same: the later source counts. */
#include <string.h>

#include "config/cfgnode.h"
#include "config/config.h"

/* The length of what names the source of "a.yaml:13:1", "--opts #2" or a flag. */
static size_t source_len(const char *where)
{
    const char *end = where + strlen(where);

    if (*where == '-')
        return !strncmp(where, "--opts ", 7) ? 6 : 0; /* all flags are one source */
    for (int colons = 0; end > where && colons < 2; end--)
        colons += end[-1] == ':';
    return (size_t)(end - where);
}

static bool same_source(const struct cfgnode_entry *a, const struct cfgnode_entry *b)
{
    if (!a->where || !b->where || (*a->where == '-') != (*b->where == '-'))
        return false;
    return source_len(a->where) == source_len(b->where) &&
           !memcmp(a->where, b->where, source_len(a->where));
}

/* A flag beats --opts wherever it stands; say so, as for any other key. */
static void warn_if_beaten(const struct cfgnode_entry *later,
                           const struct cfgnode_entry *earlier, struct problems *p)
{
    if (earlier->where && !strncmp(earlier->where, "--opts ", 7))
        problems_warn(
            p, later->where,
            "it takes the place of %s, which %s sets: a flag comes after --opts",
            earlier->name, earlier->where);
}

void config_settle(struct cfgnode *tree, struct problems *p)
{
    struct cfgnode_entry *on = cfgnode_entry(tree, "AMP_ENABLE");
    struct cfgnode_entry *level = cfgnode_entry(tree, "AMP_OPT_LEVEL");
    const char *name = level->value.s;
    bool wants = *name && strcmp(name, "O0") != 0;

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
