#include "dataset/pairs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dataset/class_set.h"
#include "dataset/read.h"
#include "image/label.h"

static const struct pair *pair_at(const struct dataset *d, int64_t i)
{
    return &((const struct pairs *)d)->pair[i];
}

static int32_t pairs_class(const struct dataset *d, int64_t i)
{
    (void)d;
    (void)i;
    return 0;
}

static int pairs_read(const struct dataset *d, int64_t i, int64_t limit,
                      struct dataset_bytes *out, struct strbuf *why)
{
    return dataset_read_at(((const struct pairs *)d)->fd, pair_at(d, i)->image, limit,
                           out, why);
}

static int pairs_read_label(const struct dataset *d, int64_t i, int64_t limit,
                            struct dataset_bytes *out, struct strbuf *why)
{
    return dataset_read_at(((const struct pairs *)d)->fd, pair_at(d, i)->label, limit,
                           out, why);
}

/* Appends "root/a.png (train.txt:3)". */
static void pairs_add_name(const struct pairs *p, const char *file, const char *list,
                           int line, struct strbuf *name)
{
    if (*file != '/')
        strbuf_addf(name, "%s/", p->root);
    strbuf_addstr(name, file);
    if (list)
        strbuf_addf(name, " (%s:%d)", list, line);
}

static void pairs_describe(const struct dataset *d, int64_t i, struct strbuf *name)
{
    const struct pairs *p = (const struct pairs *)d;

    pairs_add_name(p, p->pair[i].image, p->image_list, p->pair[i].line, name);
}

static void pairs_describe_label(const struct dataset *d, int64_t i, struct strbuf *name)
{
    const struct pairs *p = (const struct pairs *)d;

    pairs_add_name(p, p->pair[i].label, p->label_list, p->pair[i].label_line, name);
}

static bool pairs_stamp_label(const struct dataset *d, int64_t i, struct strbuf *out)
{
    const struct pairs *p = (const struct pairs *)d;

    return dataset_stamp_file(p->fd, p->pair[i].label, out);
}

static bool pairs_stamp(const struct dataset *d, int64_t i, struct strbuf *out)
{
    const struct pairs *p = (const struct pairs *)d;

    return dataset_stamp_file(p->fd, p->pair[i].image, out);
}

static void pairs_close(struct dataset *d)
{
    struct pairs *p = (struct pairs *)d;

    for (int i = 0; i < d->nclass; i++)
        free(d->class_name[i]);
    free(d->class_name);
    free(d->name);
    free(p->root);
    free(p->pair);
    close(p->fd);
    arena_release(&p->mem);
    free(p);
}

static const char *pairs_name(const struct dataset *d, int64_t i)
{
    return pair_at(d, i)->image;
}

static const char *pairs_label_name(const struct dataset *d, int64_t i)
{
    return pair_at(d, i)->label;
}

static const struct dataset_type pairs_type = {
    .name = pairs_name,
    .label_name = pairs_label_name,
    .label = pairs_class,
    .read = pairs_read,
    .describe = pairs_describe,
    .close = pairs_close,
    .read_label = pairs_read_label,
    .describe_label = pairs_describe_label,
    .stamp = pairs_stamp,
    .stamp_label = pairs_stamp_label,
};

const char *const pairs_reads[] = {"DATA.CLASS_SET",
                                   "DATA.CLASS_NAMES",
                                   "DATA.LABELS",
                                   "DATA.LABEL_MAP",
                                   "DATA.REDUCE_ZERO_LABEL",
                                   "DATA.CLASS_COLORS",
                                   "DATA.IGNORED_COLORS",
                                   NULL};

/* Applies DATA.LABEL_MAP and DATA.REDUCE_ZERO_LABEL before the class set's meaning of
 * values. */
static void replace_values(const struct label_options *o, uint8_t map[256])
{
    uint8_t meaning[256], read[256];

    memcpy(meaning, map, sizeof(meaning));
    for (int v = 0; v < 256; v++)
        read[v] = (uint8_t)v;
    for (int i = 0; i < o->replace.n; i++)
        read[o->replace.item[i].item[0]] = (uint8_t)o->replace.item[i].item[1];
    for (int v = 0; v < 256; v++) {
        if (o->reduce_zero && read[v] != LABEL_IGNORE)
            read[v] = read[v] ? (uint8_t)(read[v] - 1) : LABEL_IGNORE;
        map[v] = meaning[read[v]];
    }
}

void label_options_apply(struct dataset *d, const struct label_options *o)
{
    d->set = o->set;
    d->nclass = o->set ? o->set->n : o->classes;
    d->class_name = xcalloc((size_t)d->nclass, sizeof(*d->class_name));
    for (int c = 0; c < d->nclass; c++) {
        struct strbuf text = STRBUF_INIT;

        if (o->names)
            strbuf_addstr(&text, o->names[c]);
        else
            class_set_add_name(o->set, c, &text);
        d->class_name[c] = strbuf_detach(&text);
    }
    class_set_map(o->set, o->classes, o->train_ids, d->map);
    replace_values(o, d->map);
}

struct pairs *pairs_new(const struct dataset_source *s, const char *name)
{
    const struct label_options *o = &s->labels;
    const char *root = s->path;
    struct pairs *p = xcalloc(1, sizeof(*p));
    struct dataset *d = &p->base;
    size_t len = strlen(root);

    while (len > 1 && root[len - 1] == '/')
        len--;
    d->type = &pairs_type;
    d->name = xstrdup(name);
    p->root = xstrndup(root, len);
    p->fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->fd < 0)
        die("cannot open '%s': %s", root, strerror(errno));
    label_options_apply(d, o);
    return p;
}

void pairs_add(struct pairs *p, const struct pair *pair)
{
    struct pair *dst;

    GROW(p->pair, p->base.n, p->cap);
    dst = &p->pair[p->base.n++];
    *dst = *pair;
    dst->image = arena_strdup(&p->mem, pair->image);
    dst->label = arena_strdup(&p->mem, pair->label);
}

void pairs_check_files(const struct pairs *p)
{
    const char *missing = NULL, *list = NULL;
    int line = 0, err = 0;
    int64_t n = 0;

    for (int64_t i = 0; i < p->base.n; i++) {
        const struct pair *pair = &p->pair[i];

        for (int side = 0; side < 2; side++) {
            const char *path = side ? pair->label : pair->image;

            if (faccessat(p->fd, path, R_OK, 0) == 0)
                continue;
            if (n++ == 0) {
                missing = path;
                err = errno;
                list = side ? p->label_list : p->image_list;
                line = side ? pair->label_line : pair->line;
            }
        }
    }
    if (n && err != ENOENT)
        die("%s/%s:%d: cannot read '%s' below '%s': %s (%lld of %lld cannot be read)",
            p->root, list, line, missing, p->root, strerror(err), (long long)n,
            2 * (long long)p->base.n);
    if (n)
        die("%s/%s:%d: file '%s' not found in '%s' (%lld of %lld are missing)", p->root,
            list, line, missing, p->root, (long long)n, 2 * (long long)p->base.n);
}

void pairs_check_lossy(const struct pairs *p)
{
    const char *first = NULL, *format = NULL;
    int64_t n = 0;

    for (int64_t i = 0; i < p->base.n; i++) {
        const char *is = label_lossy_format(p->pair[i].label);

        n += is != NULL;
        format = format ? format : is;
        first = first || !is ? first : p->pair[i].label;
    }
    if (n && 2 * n >= p->base.n) /* fewer are reported as damaged, one by one */
        die("'%s': label maps cannot be %s files, whose lossy compression changes class "
            "values (%lld of %lld, such as '%s'); export them as PNGs from the original "
            "annotations",
            p->base.name, format, (long long)n, (long long)p->base.n, first);
}
