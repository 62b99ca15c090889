/* cfgnode_merge_file: merges a file, after the files in its BASE. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "config/cfgnode.h"
#include "config/yaml.h"

enum { DEPTH_MAX = 50, FILES_MAX = 1000 };

struct chain {
    struct cfgnode *dst;
    struct problems *p;
    struct {
        char *real;       /* absolute path without symbolic links */
        const char *path; /* path as given */
    } open[DEPTH_MAX];
    int depth, nfile; /* number of open files, and of files read */
};

static void chain_load(struct chain *c, const char *path, const char *origin);

static bool is_cycle(struct chain *c, const char *path, const char *real,
                     const char *origin)
{
    struct strbuf s = STRBUF_INIT;
    int first = 0;

    while (first < c->depth && strcmp(c->open[first].real, real) != 0)
        first++;
    if (first == c->depth && c->depth < DEPTH_MAX)
        return false;
    if (first == c->depth) {
        problems_error(c->p, origin, "BASE is nested more than %d files deep", DEPTH_MAX);
    } else {
        for (int i = first; i < c->depth; i++)
            strbuf_addf(&s, "%s -> ", c->open[i].path);
        problems_error(c->p, origin, "BASE is a cycle: %s%s", s.buf, path);
        strbuf_release(&s);
    }
    return true;
}

/* Returns the folder that BASE is relative to: for a pipe the current folder, since the
 * folder of its name is meaningless. */
static char *folder_of(const char *file)
{
    static const char *const open[] = {"/dev/stdin", "/dev/fd/", "/proc/"};

    for (int i = 0; i < 3; i++)
        if (!strncmp(file, open[i], strlen(open[i])))
            return xstrdup(".");
    return path_dirname(file);
}

static void load_base(struct chain *c, const char *file, const struct value *base,
                      const char *origin)
{
    struct strbuf name = STRBUF_INIT;
    char *dir, *path, *full;

    if (base->type != VALUE_STR && base->type != VALUE_NONE) {
        problems_error(c->p, origin, "BASE must be a file name or a list of file names");
        return;
    }
    if (base->type == VALUE_NONE || !*base->s)
        return;
    if (cfgnode_expand(base->s, "BASE", origin, c->p, &name)) {
        dir = folder_of(file);
        path = path_home(name.buf);
        full = *path == '/' || !strcmp(dir, ".") ? xstrdup(path) : path_join(dir, path);
        chain_load(c, full, origin);
        free(full);
        free(path);
        free(dir);
    }
    strbuf_release(&name);
}

/* Loads BASE, or _BASE_, which is renamed to BASE. Values of BASE in the bases do not
 * count. */
static void load_bases(struct chain *c, const char *file, struct cfgnode *src)
{
    const struct cfgnode_entry *first = NULL;

    for (int i = 0; i < src->n; i++) {
        struct cfgnode_entry *e = &src->entry[i];

        if (strcmp(e->key, "BASE") != 0 && strcmp(e->key, "_BASE_") != 0)
            continue;
        if (first)
            problems_error(c->p, e->origin,
                           "_BASE_ and BASE are the same key: remove one of them");
        first = e;
        if (e->node)
            continue;
        e->key = "BASE";
        if (e->value.type != VALUE_LIST) { /* a single name is a list with one item */
            struct value list =
                value_list(src->mem, VALUE_LIST, e->value.type != VALUE_NONE);

            if (list.list.n)
                list.list.item[0] = e->value;
            e->value = list;
        }
        for (int j = 0; j < e->value.list.n; j++)
            load_base(c, file, &e->value.list.item[j], e->origin);
    }
}

/* True for what a shell leaves behind if the program before > fails. */
static bool is_empty_file(const char *path)
{
    struct stat st;

    return !stat(path, &st) && S_ISREG(st.st_mode) && !st.st_size;
}

static void chain_load(struct chain *c, const char *path, const char *origin)
{
    char *real = realpath(path, NULL);
    struct cfgnode *src;

    if (real && is_cycle(c, path, real, origin)) {
        free(real);
        return;
    }
    if (++c->nfile > FILES_MAX) { /* for instance if each of two files names the next
                                   * two */
        problems_error(c->p, origin, "BASE leads to more than %d files", FILES_MAX);
        free(real);
        return;
    }
    src = yaml_read_file(path, origin, c->p);
    if (src) {
        if (is_empty_file(path))
            problems_warn(c->p, origin, "%s: the file is empty", path);
        c->open[c->depth].real = real ? real : xstrdup(path);
        c->open[c->depth++].path = path;
        load_bases(c, path, src);
        free(c->open[--c->depth].real);
        cfgnode_merge(c->dst, src, c->p);
        cfgnode_free(src);
    } else {
        free(real);
    }
}

void cfgnode_merge_file(struct cfgnode *dst, const char *path, const char *origin,
                        struct problems *p)
{
    struct chain c = {.dst = dst, .p = p};

    chain_load(&c, path, origin);
}
