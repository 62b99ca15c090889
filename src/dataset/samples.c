#include "dataset/samples.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "dataset/class_names.h"
#include "dataset/class_set.h"
#include "dataset/read.h"
#include "dataset/sample_index.h"
#include "dataset/shards.h"

static const struct samples *of(const struct dataset *d)
{
    return (const struct samples *)d;
}

static int32_t samples_label(const struct dataset *d, int64_t i)
{
    int32_t label = of(d)->sample[i].label;

    return of(d)->label_maps || label < 0 ? 0 : label;
}

static int read_part(const struct dataset *d, int64_t i, bool label_map, int64_t limit,
                     struct dataset_bytes *out, struct strbuf *why)
{
    const struct samples *s = of(d);
    const struct sample *at = &s->sample[i];

    return s->type->read(s->open[at->file], at, label_map, limit, out, why);
}

static int samples_read(const struct dataset *d, int64_t i, int64_t limit,
                        struct dataset_bytes *out, struct strbuf *why)
{
    return read_part(d, i, false, limit, out, why);
}

static int samples_read_label(const struct dataset *d, int64_t i, int64_t limit,
                              struct dataset_bytes *out, struct strbuf *why)
{
    return read_part(d, i, true, limit, out, why);
}

static void samples_describe(const struct dataset *d, int64_t i, struct strbuf *name)
{
    const struct sample *at = &of(d)->sample[i];

    strbuf_addf(name, "%s: %s", of(d)->path[at->file], at->name);
}

static bool stamp_part(const struct dataset *d, int64_t i, const struct sample_part *part,
                       struct strbuf *out)
{
    const struct sample *at = &of(d)->sample[i];

    strbuf_addf(out, "%s %llu %llu ", at->name, (unsigned long long)part->at,
                (unsigned long long)part->len);
    return dataset_stamp_file(AT_FDCWD, of(d)->path[at->file], out);
}

static bool samples_stamp(const struct dataset *d, int64_t i, struct strbuf *out)
{
    return stamp_part(d, i, &of(d)->sample[i].image, out);
}

static bool samples_stamp_label(const struct dataset *d, int64_t i, struct strbuf *out)
{
    return stamp_part(d, i, &of(d)->sample[i].label_map, out);
}

static const char *samples_name(const struct dataset *d, int64_t i)
{
    return of(d)->sample[i].name;
}

static void samples_close(struct dataset *d)
{
    struct samples *s = (struct samples *)d;

    class_names_free(d);
    free(d->name);
    for (int i = 0; i < s->nfile; i++) {
        if (s->open[i])
            s->type->close(s->open[i]);
        free(s->path[i]);
    }
    free(s->open);
    free(s->first);
    free(s->path);
    free(s->sample);
    arena_release(&s->mem);
    free(s);
}

static const int64_t *samples_shards(const struct dataset *d, int64_t *n)
{
    *n = of(d)->nfile;
    return of(d)->first;
}

const char *const container_reads[] = {"DATA.CLASS_SET",   "DATA.CLASS_NAMES",
                                       "DATA.LABELS",      "DATA.SHUFFLE_SHARDS",
                                       "DATA.FIRST_CLASS", NULL};

static const struct dataset_type samples_classes = {
    .name = samples_name,
    .label = samples_label,
    .read = samples_read,
    .describe = samples_describe,
    .stamp = samples_stamp,
    .shards = samples_shards,
    .close = samples_close,
};

static const struct dataset_type samples_label_maps = {
    .name = samples_name,
    .label = samples_label,
    .read = samples_read,
    .describe = samples_describe,
    .stamp = samples_stamp,
    .shards = samples_shards,
    .close = samples_close,
    .read_label = samples_read_label,
    .describe_label = samples_describe,
    .stamp_label = samples_stamp_label,
};

struct sample *samples_add(struct samples *s, const char *name)
{
    struct sample *at;

    GROW(s->sample, s->base.n, s->cap);
    at = &s->sample[s->base.n++];
    *at = (struct sample){
        .label = -1, .file = s->listed, .name = arena_strdup(&s->mem, name)};
    return at;
}

char *samples_companion(const struct container *c, const char *path, int k)
{
    size_t n = strlen(path), e = strlen(c->ending);

    if (!c->companion[k] || n <= e)
        return NULL;
    return xasprintf("%.*s%s", (int)(n - e), path, c->companion[k]);
}

bool samples_probe(const struct container *c, const struct dataset_source *s)
{
    int n;
    char **path = shards_find(c, s, &n, NULL);

    dir_list_free(path, n);
    return n > 0;
}

bool samples_check(const struct container *c, const struct dataset_source *s,
                   struct strbuf *why)
{
    int n;
    char **path = shards_find(c, s, &n, why);

    dir_list_free(path, n);
    return n > 0;
}

/* All n containers stay open: the usual limit of 1024 open files is less than the shards
 * of ImageNet. */
static void allow_files(int n)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur >= (rlim_t)n + 256)
        return;
    r.rlim_cur = r.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &r);
}

static void open_files(struct samples *s)
{
    struct strbuf why = STRBUF_INIT;

    allow_files(s->nfile);
    s->open = xcalloc((size_t)s->nfile, sizeof(*s->open));
    for (int i = 0; i < s->nfile; i++) {
        s->open[i] = s->type->open(s->path[i], &why);
        if (!s->open[i])
            die("cannot open '%s': %s", s->path[i], why.buf);
    }
    strbuf_release(&why);
}

/* Lists all files, or reads the index of them. */
static void find_samples(struct samples *s, const char *dir)
{
    char *index = sample_index_path(s, dir);
    struct strbuf why = STRBUF_INIT;

    if (!index || !sample_index_load(s, index)) {
        for (s->listed = 0; s->listed < s->nfile; s->listed++)
            if (s->type->list(s->open[s->listed], s, &why) < 0)
                die("cannot read '%s': %s", s->path[s->listed], why.buf);
        if (index && s->base.n)
            sample_index_save(s, index);
    }
    if (s->base.n == 0 && s->nfile == 1)
        die("'%s' has no samples", s->path[0]);
    if (s->base.n == 0)
        die("no samples in any of the %d files of '%s', '%s' the first of them", s->nfile,
            s->base.name, s->path[0]);
    free(index);
    strbuf_release(&why);
}

/* The folder of a sample's name, a heap string; NULL: there is none. */
static char *folder_of(const char *name)
{
    const char *from = strncmp(name, "./", 2) == 0 ? name + 2 : name;
    const char *slash = strrchr(from, '/'), *at = slash;

    if (!slash)
        return NULL;
    while (at > from && at[-1] != '/')
        at--;
    return xstrndup(at, (size_t)(slash - at));
}

/* If no sample has a label and all that can be read lie in folders, those are the
 * classes; else false. */
static bool classes_of_folders(struct samples *s)
{
    struct dataset *d = &s->base;
    char **folder = xcalloc((size_t)d->n, sizeof(*folder));
    bool is = true;
    int64_t n = 0;

    for (int64_t i = 0; is && i < d->n; i++) {
        char *name = s->sample[i].label == -1 ? folder_of(s->sample[i].name) : NULL;

        if (name)
            folder[n++] = name;
        is = name || s->sample[i].label == SAMPLE_DAMAGED;
    }
    is = is && n > 0;
    if (is)
        class_names_sort(d, (const char *const *)folder, n);
    for (int64_t i = 0, k = 0; is && i < d->n; i++)
        if (s->sample[i].label == -1)
            s->sample[i].label = class_names_find(d, folder[k++]);
    for (int64_t i = 0; i < n; i++)
        free(folder[i]);
    free(folder);
    return is;
}

/* Classes are counted from 0 from here on. */
static void count_from(struct samples *s, int first)
{
    for (int64_t i = 0; i < s->base.n; i++) {
        struct sample *at = &s->sample[i];

        if (at->label >= 0 && at->label < first)
            die("'%s: %s' is of class %d, and DATA.FIRST_CLASS is %d", s->path[at->file],
                at->name, at->label, first);
        if (at->label >= 0)
            at->label -= first;
    }
}

/* Ends the program if a sample has no label map, no class, or a class that is not there,
 * and names the first of them. */
static void check_labels(const struct samples *s, int counted_from)
{
    const struct dataset *d = &s->base;
    struct strbuf name = STRBUF_INIT;
    int64_t bad = 0, first = -1;

    for (int64_t i = d->n - 1; i >= 0; i--) {
        const struct sample *at = &s->sample[i];
        bool good = s->label_maps ? at->label_map.len > 0
                                  : at->label >= 0 && at->label < d->nclass;

        good = good || at->label == SAMPLE_DAMAGED;
        bad += !good;
        first = good ? first : i;
    }
    if (!bad)
        return;
    dataset_describe(d, first, &name);
    if (s->label_maps)
        die("'%s' has no label map (%lld of %lld have none)", name.buf, (long long)bad,
            (long long)d->n);
    if (s->sample[first].label < 0)
        die("'%s' has no class", name.buf);
    die("'%s' is of class %d, and there are %d classes, counted from %d%s", name.buf,
        s->sample[first].label + counted_from, d->nclass, counted_from,
        class_names_advice(d, s->sample[first].label, counted_from));
}

static void find_shards(struct samples *s)
{
    s->first = xcalloc((size_t)s->nfile + 1, sizeof(*s->first));
    for (int64_t i = 0; i < s->base.n; i++)
        s->first[s->sample[i].file + 1]++;
    for (int k = 0; k < s->nfile; k++)
        s->first[k + 1] += s->first[k];
}

/* Names and numbers of the classes of images. */
static void number_classes(struct samples *s, const char *dir,
                           const struct label_options *l)
{
    struct dataset *d = &s->base;

    if (!class_names_read(d, dir)) {
        if (classes_of_folders(s)) {
            class_names_count_none(d, l->first);
            return;
        }
        class_names_number(d, l->first, l->classes);
    }
    count_from(s, l->first);
}

static void name_classes(struct samples *s, const struct dataset_source *o)
{
    char *dir = file_is_dir(o->path) ? xstrdup(o->path) : path_dirname(o->path);

    if (s->label_maps)
        label_options_apply(&s->base, &o->labels);
    else
        number_classes(s, dir, &o->labels);
    free(dir);
    check_labels(s, o->labels.first);
}

struct dataset *samples_open(const struct container *c, const struct dataset_source *o)
{
    struct samples *s = xcalloc(1, sizeof(*s));
    struct strbuf why = STRBUF_INIT;
    char *dir = file_is_dir(o->path) ? xstrdup(o->path) : path_dirname(o->path);

    s->type = c;
    s->label_maps = o->label_maps;
    s->base.type = o->label_maps ? &samples_label_maps : &samples_classes;
    s->path = shards_find(c, o, &s->nfile, &why);
    if (!s->path)
        die("%s", why.buf);
    s->base.name =
        o->split && *o->split ? path_join(o->path, o->split) : xstrdup(o->path);
    open_files(s);
    find_samples(s, dir);
    find_shards(s);
    name_classes(s, o);
    free(dir);
    return &s->base;
}
