#include "dataset/shards.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"

enum { SHARDS_MAX = 1000000 };

struct names_list {
    char **name;
    int n;
    size_t cap;
};

static void add(struct names_list *l, char *name)
{
    GROW(l->name, l->n, l->cap);
    l->name[l->n++] = name;
}

static void release(struct names_list *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->name[i]);
    free(l->name);
    *l = (struct names_list){0};
}

/* Expands a range such as "000..127" within a pattern. Returns false if it is not a
 * range. */
static bool expand_range(const char *head, int nhead, const char *in, size_t nin,
                         const char *tail, struct names_list *out)
{
    const char *end = in;
    uint64_t begin, stop;
    int width;

    if (!checked_number(&end, INT32_MAX, &begin) || strncmp(end, "..", 2) != 0)
        return false;
    width = (int)(end - in);
    end += 2;
    if (!checked_number(&end, INT32_MAX, &stop) || end != in + nin || stop < begin ||
        stop - begin >= SHARDS_MAX)
        return false;
    for (uint64_t i = begin; i <= stop; i++)
        add(out,
            xasprintf("%.*s%0*llu%s", nhead, head, width, (unsigned long long)i, tail));
    return true;
}

/* Expands the first braces of each name. Returns false if they are malformed. */
static bool expand_once(struct names_list *l)
{
    struct names_list out = {0};
    bool good = true;

    for (int i = 0; good && i < l->n; i++) {
        const char *cursor = l->name[i], *open = strchr(cursor, '{'), *close;
        int nhead = (int)(open - cursor);

        close = strchr(open, '}');
        good = close && out.n < SHARDS_MAX;
        if (!good || expand_range(cursor, nhead, open + 1, (size_t)(close - open - 1),
                                  close + 1, &out))
            continue;
        for (const char *p = open + 1; p <= close;) {
            size_t n = strcspn(p, ",}");

            add(&out, xasprintf("%.*s%.*s%s", nhead, cursor, (int)n, p, close + 1));
            p += n + 1;
        }
    }
    release(l);
    *l = out;
    return good;
}

char **shards_expand(const char *pattern, int *n)
{
    struct names_list l = {0};

    add(&l, xstrdup(pattern));
    while (l.n && l.n <= SHARDS_MAX && strchr(l.name[0], '{'))
        if (!expand_once(&l))
            release(&l);
    if (l.n > SHARDS_MAX)
        release(&l);
    *n = l.n;
    return l.name;
}

static bool ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), e = strlen(ending);

    return n > e && strcmp(name + n - e, ending) == 0;
}

/* True for names like "...-00003-of-00128". */
static bool is_numbered(const char *name)
{
    const char *infix = strstr(name, "-of-");
    size_t digits = infix ? strspn(infix + 4, "0123456789") : 0;

    return digits > 0 && infix[4 + digits] == '\0' && infix > name &&
           strchr("0123456789", infix[-1]);
}

static const char *ending_of(const struct container *c, int i)
{
    return i ? c->other_endings[i - 1] : c->ending;
}

static bool is_shard(const struct container *c, const char *name)
{
    bool is = c->numbered && is_numbered(name);

    for (int i = 0; !is && name[0] != '.' && ending_of(c, i); i++)
        is = ends_in(name, ending_of(c, i)) &&
             !(c->companion_end && ends_in(name, c->companion_end));
    return is;
}

/* True for "train-..." or, as in TensorFlow's own data sets, "train.tfrecord-...". */
static bool is_of_split(const struct container *c, const char *name, const char *split)
{
    size_t n = strlen(split);

    if (strncmp(name, split, n) != 0)
        return false;
    if (c->numbered && strncmp(name + n, c->ending, strlen(c->ending)) == 0)
        n += strlen(c->ending);
    return name[n] == '-';
}

/* Adds the split's containers in `dir`; split NULL: all. */
static void list_dir(const struct container *c, const char *dir, const char *split,
                     struct names_list *out)
{
    int n;
    char **name = dir_list(dir, &n);

    for (int i = 0; i < n; i++)
        if ((!split || is_of_split(c, name[i], split)) && is_shard(c, name[i]))
            add(out, path_join(dir, name[i]));
    dir_list_free(name, n);
}

/* Adds the file `base`, or the first one of that name with an ending. */
static void find_whole(const struct container *c, const char *base,
                       struct names_list *out)
{
    char *inside = c->inside ? path_join(base, c->inside) : NULL;

    if ((is_shard(c, path_basename(base)) && file_exists(base)) ||
        (inside && file_exists(inside)))
        add(out, xstrdup(base));
    for (int i = 0; out->n == 0 && ending_of(c, i); i++) {
        char *path = xasprintf("%s%s", base, ending_of(c, i));

        if (file_exists(path))
            add(out, xstrdup(path));
        free(path);
    }
    free(inside);
}

/* Adds all files of a pattern. Returns false and a reason if one is missing. */
static bool find_pattern(const char *base, struct names_list *out, struct strbuf *why)
{
    out->name = shards_expand(base, &out->n);
    if (out->n == 0 && why)
        strbuf_addf(why, "'%s': expected '{a..b}' or '{a,b}' in braces", base);
    for (int i = 0; i < out->n; i++) {
        if (file_exists(out->name[i]))
            continue;
        if (why)
            strbuf_addf(why, "there is no file '%s'", out->name[i]);
        release(out);
    }
    return out->n > 0;
}

char **shards_find(const struct container *c, const struct dataset_source *s, int *n,
                   struct strbuf *why)
{
    bool split = s->split && *s->split;
    char *base = split ? path_join(s->path, s->split) : xstrdup(s->path);
    char *dir = path_dirname(base);
    struct names_list l = {0};

    if (split && strchr(s->split, '{')) {
        (void)find_pattern(base, &l, why);
    } else {
        find_whole(c, base, &l);
        if (l.n == 0)
            list_dir(c, dir, path_basename(base), &l);
    }
    if (l.n == 0 && file_is_dir(base))
        list_dir(c, base, NULL, &l);
    if (l.n == 0 && why && !why->len)
        strbuf_addf(why, "'%s' has neither %s%s nor %s-*%s nor %s/*%s", s->path,
                    split ? s->split : "", c->ending, split ? s->split : "", c->ending,
                    split ? s->split : "", c->ending);
    free(base);
    free(dir);
    *n = l.n;
    return l.name;
}
