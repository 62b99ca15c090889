#include "dataset/samples.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/log.h"
#include "dataset/class_names.h"
#include "dataset/class_set.h"
#include "dataset/read.h"
#include "dataset/sample_classes.h"
#include "dataset/sample_index.h"
#include "dataset/shards.h"

static const struct samples *to_samples(const struct dataset *d)
{
    return (const struct samples *)d;
}

static int32_t samples_label(const struct dataset *d, int64_t i)
{
    int32_t label = to_samples(d)->sample[i].label;

    return to_samples(d)->label_maps || label < 0 ? 0 : label;
}

static int read_part(const struct dataset *d, int64_t i, bool label_map, int64_t limit,
                     struct dataset_bytes *out, struct strbuf *why)
{
    const struct samples *s = to_samples(d);
    const struct sample *sample = &s->sample[i];

    if (sample->label == SAMPLE_DAMAGED && sample->text) {
        strbuf_addstr(why, sample->text);
        return FAILURE_DATA;
    }
    return s->type->read(s->open[sample->file], sample, label_map, limit, out, why);
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
    const struct sample *sample = &to_samples(d)->sample[i];

    strbuf_addf(name, "%s: %s", to_samples(d)->path[sample->file], sample->name);
}

static bool stamp_part(const struct dataset *d, int64_t i, const struct sample_part *part,
                       struct strbuf *out)
{
    const struct sample *sample = &to_samples(d)->sample[i];

    strbuf_addf(out, "%s %llu %llu ", sample->name, (unsigned long long)part->offset,
                (unsigned long long)part->len);
    return dataset_stamp_file(AT_FDCWD, to_samples(d)->path[sample->file], out);
}

static bool samples_stamp(const struct dataset *d, int64_t i, struct strbuf *out)
{
    return stamp_part(d, i, &to_samples(d)->sample[i].image, out);
}

static bool samples_stamp_label(const struct dataset *d, int64_t i, struct strbuf *out)
{
    return stamp_part(d, i, &to_samples(d)->sample[i].label_map, out);
}

static const char *samples_name(const struct dataset *d, int64_t i)
{
    return to_samples(d)->sample[i].name;
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
    free(s->hint);
    arena_release(&s->mem);
    free(s);
}

static const int64_t *samples_shards(const struct dataset *d, int64_t *n)
{
    *n = to_samples(d)->nfile;
    return to_samples(d)->first;
}

const char *const container_reads[] = {"DATA.CLASS_SET",    "DATA.CLASS_NAMES",
                                       "DATA.LABELS",       "DATA.SHUFFLE_SHARDS",
                                       "DATA.LABEL_MAP",    "DATA.REDUCE_ZERO_LABEL",
                                       "DATA.CLASS_COLORS", "DATA.IGNORED_COLORS",
                                       "DATA.FIRST_CLASS",  NULL};

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
    struct sample *sample;

    GROW(s->sample, s->base.n, s->cap);
    sample = &s->sample[s->base.n++];
    *sample = (struct sample){
        .label = SAMPLE_NO_LABEL, .file = s->listed, .name = arena_strdup(&s->mem, name)};
    return sample;
}

void samples_damage(struct samples *s, struct sample *sample, const char *why, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, why);
    (void)vsnprintf(text, sizeof(text), why, ap);
    va_end(ap);
    sample->label = SAMPLE_DAMAGED;
    sample->text = arena_strdup(&s->mem, text);
}

void samples_remove(struct samples *s, int64_t first, const bool *drop)
{
    int64_t kept = first;

    for (int64_t i = first; i < s->base.n; i++)
        if (!drop[i - first])
            s->sample[kept++] = s->sample[i];
    s->base.n = kept;
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

/* Inspects only the first sample of the first file. */
bool samples_has_label_maps(const struct container *c, const struct dataset_source *o)
{
    struct samples s = {.type = c, .label_maps = true};
    struct strbuf why = STRBUF_INIT;
    void *file;
    bool has = false;

    s.path = shards_find(c, o, &s.nfile, NULL);
    file = s.nfile ? c->open(s.path[0], &why) : NULL;
    if (file && c->list(file, &s, &why) == 0 && s.base.n)
        has = s.sample[0].label < 0 && s.sample[0].label_map.len > 0;
    if (file)
        c->close(file);
    dir_list_free(s.path, s.nfile);
    free(s.sample);
    free(s.hint);
    arena_release(&s.mem);
    strbuf_release(&why);
    return has;
}

bool samples_check(const struct container *c, const struct dataset_source *s,
                   struct strbuf *why)
{
    int n;
    char **path = shards_find(c, s, &n, why);

    dir_list_free(path, n);
    return n > 0;
}

/* All n containers stay open, and the usual limit is 1024 open files. ImageNet has more
 * shards. */
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

/* Loads the index, or lists all files and saves it. */
static void find_samples(struct samples *s, const struct keep *k)
{
    struct keep_paths index = sample_index_paths(s, k);
    struct strbuf why = STRBUF_INIT;

    if (!sample_index_load(s, index.user) && !sample_index_load(s, index.data)) {
        for (s->listed = 0; s->listed < s->nfile; s->listed++)
            if (s->type->list(s->open[s->listed], s, &why) < 0)
                die("cannot read '%s': %s", s->path[s->listed], why.buf);
        if (s->base.n)
            sample_index_save(s, &index);
    }
    if (s->base.n == 0)
        left_out_log(&s->left, s->base.name);
    if (s->base.n == 0 && s->nfile == 1)
        die("'%s' has no samples", s->path[0]);
    if (s->base.n == 0)
        die("none of the %d files of '%s' has samples (first file: '%s')", s->nfile,
            s->base.name, s->path[0]);
    keep_paths_release(&index);
    strbuf_release(&why);
}

static void find_shards(struct samples *s)
{
    s->first = xcalloc((size_t)s->nfile + 1, sizeof(*s->first));
    for (int64_t i = 0; i < s->base.n; i++)
        s->first[s->sample[i].file + 1]++;
    for (int k = 0; k < s->nfile; k++)
        s->first[k + 1] += s->first[k];
}

/* Ends the program if samples have no label map; names the first of them. */
static void check_label_maps(const struct samples *s)
{
    const struct dataset *d = &s->base;
    struct strbuf name = STRBUF_INIT;
    int64_t bad = 0, first = -1;

    for (int64_t i = d->n - 1; i >= 0; i--) {
        const struct sample *sample = &s->sample[i];

        if (sample->label_map.len > 0 || sample->label == SAMPLE_DAMAGED)
            continue;
        bad++;
        first = i;
    }
    if (!bad)
        return;
    dataset_describe(d, first, &name);
    die("'%s' has no label map (%lld of %lld have none)", name.buf, (long long)bad,
        (long long)d->n);
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
    find_samples(s, &(struct keep){.data = dir, .dir = o->keep});
    if (s->label_maps) {
        label_options_apply(&s->base, &o->labels);
        check_label_maps(s);
    } else {
        sample_classes(s, o, dir);
    }
    left_out_log(&s->left, s->base.name);
    find_shards(s);
    free(dir);
    return &s->base;
}
