/* BASE: files that a configuration file builds on. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "config/cfgnode.h"
#include "config/yaml.h"

enum { DEPTH_MAX = 50, FILES_MAX = 1000 };

struct chain {
    struct cfgnode *into;
    struct problems *p;
    struct {
        char *real;       /* the file's one true name */
        const char *path; /* as it was given */
    } open[DEPTH_MAX];
    int depth, nfile; /* open, read */
};

static void chain_load(struct chain *c, const char *path, const char *where);

static bool is_cycle(struct chain *c, const char *path, const char *real,
                     const char *where)
{
    struct strbuf s = STRBUF_INIT;
    int first = 0;

    while (first < c->depth && strcmp(c->open[first].real, real) != 0)
        first++;
    if (first == c->depth && c->depth < DEPTH_MAX)
        return false;
    if (first == c->depth) {
        problems_error(c->p, where, "BASE goes more than %d files deep", DEPTH_MAX);
    } else {
        for (int i = first; i < c->depth; i++)
            strbuf_addf(&s, "%s -> ", c->open[i].path);
        problems_error(c->p, where, "BASE is a cycle: %s%s", s.buf, path);
        strbuf_release(&s);
    }
    return true;
}

/* The folder of an open file's name is none that anyone means: the present one is. */
static char *folder_of(const char *file)
{
    static const char *const open[] = {"/dev/stdin", "/dev/fd/", "/proc/"};

    for (int i = 0; i < 3; i++)
        if (!strncmp(file, open[i], strlen(open[i])))
            return xstrdup(".");
    return path_dirname(file);
}

static void load_base(struct chain *c, const char *file, const struct value *base,
                      const char *where)
{
    char *dir, *path;

    if (base->type != VALUE_STR && base->type != VALUE_NONE) {
        problems_error(c->p, where, "BASE must be a file name or a list of file names");
        return;
    }
    if (base->type == VALUE_NONE || !*base->s)
        return;
    dir = folder_of(file);
    path =
        *base->s == '/' || !strcmp(dir, ".") ? xstrdup(base->s) : path_join(dir, base->s);
    chain_load(c, path, where);
    free(path);
    free(dir);
}

static void load_bases(struct chain *c, const char *file, struct cfgnode *from)
{
    static const char *const name[] = {"BASE", "_BASE_"};

    for (int i = 0; i < 2; i++) {
        struct cfgnode_entry *e = cfgnode_entry(from, name[i]);

        if (!e || e->node)
            continue;
        if (e->value.type != VALUE_LIST) { /* one name is a list of one */
            struct value list =
                value_list(from->mem, VALUE_LIST, e->value.type != VALUE_NONE);

            if (list.list.n)
                list.list.item[0] = e->value;
            e->value = list;
        }
        for (int j = 0; j < e->value.list.n; j++)
            load_base(c, file, &e->value.list.item[j], e->where);
    }
}

/* _BASE_ is another name of BASE. What the bases set for it does not count. */
static void rename_base(struct cfgnode *from, struct problems *p)
{
    struct cfgnode_entry *e = cfgnode_entry(from, "_BASE_");
    struct value v;

    if (!e || e->node)
        return;
    v = e->value;
    if (cfgnode_entry(from, "BASE"))
        problems_error(p, e->where, "_BASE_ and BASE are one key: give one of them");
    else
        (void)cfgnode_set(from, "BASE", &v, e->where, p);
    (void)cfgnode_remove(from, "_BASE_", p);
}

static void chain_load(struct chain *c, const char *path, const char *where)
{
    char *real = realpath(path, NULL);
    struct cfgnode *from;

    if (real && is_cycle(c, path, real, where)) {
        free(real);
        return;
    }
    if (++c->nfile > FILES_MAX) { /* two files that name the next two twice, and so on */
        problems_error(c->p, where, "BASE leads to more than %d files", FILES_MAX);
        free(real);
        return;
    }
    from = yaml_read_file(path, where, c->p);
    if (from) {
        c->open[c->depth].real = real ? real : xstrdup(path);
        c->open[c->depth++].path = path;
        load_bases(c, path, from);
        free(c->open[--c->depth].real);
        rename_base(from, c->p);
        cfgnode_merge_some(c->into, from, c->p);
        cfgnode_free(from);
    } else {
        free(real);
    }
}

void cfgnode_merge_chain(struct cfgnode *into, const char *path, const char *where,
                         struct problems *p)
{
    struct chain c = {.into = into, .p = p};

    chain_load(&c, path, where);
}
