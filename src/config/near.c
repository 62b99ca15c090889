/* cfgnode_near: finds the key that an unknown name most likely means. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/suggest.h"
#include "config/cfgnode.h"

/* What to search for, and the results so far. */
struct search {
    const char *key, *last; /* as given, and the part after the last dot */
    const char *found;
    int n; /* number of matching keys */
};

typedef bool fits(const struct search *s, const struct cfgnode_entry *e);

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot ? dot + 1 : name;
}

/* True if `word` is one of "-b, --batch-size" without dashes; ignores case, and _ counts
 * as -. */
static bool is_flag(const char *flags, const char *word)
{
    size_t len = strlen(word);

    for (const char *f = flags; f && (f = strstr(f, "--")); f += 2) {
        size_t i = 0;

        while (i < len &&
               f[2 + i] == (word[i] == '_' ? '-' : tolower((unsigned char)word[i])))
            i++;
        if (i == len && (!f[2 + i] || f[2 + i] == ','))
            return true;
    }
    return false;
}

/* batch_size, lr, LR: flags without dashes, as keys in timm. */
static bool is_flag_of(const struct search *s, const struct cfgnode_entry *e)
{
    return is_flag(e->flags, s->key);
}

/* TRAIN.LR: the last part is a flag. */
static bool is_last_flag_of(const struct search *s, const struct cfgnode_entry *e)
{
    return is_flag(e->flags, s->last);
}

/* EMA.DECAY for TRAIN.EMA.DECAY: leading sections are missing. */
static bool is_tail_of(const struct search *s, const struct cfgnode_entry *e)
{
    size_t len = strlen(s->key), n = strlen(e->name);

    return n > len && e->name[n - len - 1] == '.' &&
           !strcasecmp(e->name + n - len, s->key);
}

/* SOLVER.BASE_LR: wrong section. */
static bool has_last(const struct search *s, const struct cfgnode_entry *e)
{
    return strlen(s->last) > 2 && !strcasecmp(last_part(e->name), s->last);
}

/* DATA.PATH for DATA.DATA_PATH: a word of a name in the same section. */
static bool has_word(const struct search *s, const struct cfgnode_entry *e)
{
    size_t section = (size_t)(s->last - s->key), len = strlen(s->last);
    const char *c = e->name + section;

    if (!section || strncasecmp(e->name, s->key, section) != 0 || strchr(c, '.'))
        return false;
    for (; c; c = strchr(c, '_') ? strchr(c, '_') + 1 : NULL)
        if (!strncasecmp(c, s->last, len) && (!c[len] || c[len] == '_'))
            return true;
    return false;
}

static void walk(struct search *s, const struct cfgnode *n, fits *fit)
{
    for (int i = 0; i < n->n; i++) {
        const struct cfgnode_entry *e = &n->entry[i];

        if (e->node) {
            walk(s, e->node, fit);
        } else if (fit(s, e)) {
            s->found = e->name;
            s->n++;
        }
    }
}

/* The last parts must be similar, too: MODEL.DEPTH is not MODEL.TYPE. */
static void try_names(struct suggest *s, const struct cfgnode *n, bool sections)
{
    for (int i = 0; i < n->n; i++) {
        const struct cfgnode_entry *e = &n->entry[i];
        struct suggest last;

        suggest_init(&last, last_part(s->wanted));
        suggest_try(&last, last_part(e->name));
        if (last.best && (sections || !e->node))
            suggest_try(s, e->name);
        if (e->node)
            try_names(s, e->node, sections);
    }
}

const char *cfgnode_near(const struct cfgnode *root, const char *key, bool sections)
{
    fits *const before[] = {is_flag_of, is_tail_of};
    fits *const after[] = {has_word, is_last_flag_of, has_last};
    struct search s = {.key = key, .last = last_part(key)};
    struct suggest best;

    for (int i = 0; i < 2; i++, s.n = 0) {
        walk(&s, root, before[i]);
        if (s.n == 1)
            return s.found;
    }
    suggest_init(&best, key);
    try_names(&best, root, sections);
    for (int i = 0; i < 3 && !best.best; i++, s.n = 0) {
        walk(&s, root, after[i]);
        if (s.n == 1)
            best.best = s.found;
    }
    return best.best;
}
