#include "train/teacher.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "graph/flat.h"
#include "io/weights_file.h"
#include "session/state.h"
#include "train/file_names.h"
#include "train/raw_or_ema.h"
#include "train/statedict.h"
#include "train/weights_cache.h"

struct loading {
    const struct flat *flat;
    const char *path;
    const char *const *head; /* layers of the classifier, ended by NULL */
    struct weights_file file;
    struct file_names names;
    float *constants;
    void *packed;
    char *missing; /* the first mismatch, or NULL */
    int nmissing;
};

static const struct segment *constant(const struct flat *f, int i)
{
    return &f->segment[f->nsegment + i];
}

/* Returns the tensor's name without the teacher's prefix. */
static const char *own_name(const struct tensor *t)
{
    return strchr(t->name, '.') + 1;
}

static void miss(struct loading *l, const struct tensor *t, const char *why)
{
    if (!l->nmissing++)
        l->missing = xasprintf("%s %s", own_name(t), why);
}

static void load_one(struct loading *l, const struct segment *seg)
{
    struct segment target = *seg;
    const struct safetensors_tensor *file =
        file_names_get(&l->names, own_name(seg->tensor));
    struct strbuf why = STRBUF_INIT;

    target.offset -= l->flat->weights_len;
    if (!file && (statedict_is_counter(seg->tensor) ||
                  file_names_no_bias(&l->names, l->head, own_name(seg->tensor))))
        return; /* stays zero */
    if (!file)
        miss(l, seg->tensor, "is missing in the file");
    else if (!statedict_fits(seg->tensor, file))
        miss(l, seg->tensor, "has a different shape there");
    else if (file_names_read(&l->names, file, l->packed, &why))
        die("MODEL.TEACHER: %s", why.buf);
    else if (!statedict_unpack(&target, l->constants, l->packed, file->dtype))
        miss(l, seg->tensor, "has an unsupported dtype");
    strbuf_release(&why);
}

static void open_file(struct loading *l)
{
    struct strbuf why = STRBUF_INIT;
    size_t largest = 1;

    if (weights_file_open(&l->file, l->path, true, &why) ||
        weights_file_verify(&l->file, &why))
        die("MODEL.TEACHER: %s", why.buf);
    for (size_t i = 0; i < l->file.n; i++)
        largest = l->file.tensor[i].size > largest ? l->file.tensor[i].size : largest;
    l->packed = xmalloc(largest);
    strbuf_release(&why);
}

static void find_names(struct loading *l, const struct model *m)
{
    int n = l->flat->nconstant;
    const char **name = xcalloc((size_t)n + 1, sizeof(*name));
    const char *refuse;

    for (int i = 0; i < n; i++)
        name[i] = own_name(constant(l->flat, i)->tensor);
    refuse = file_names_find(&l->names, &l->file, m->family->type, name, n);
    if (refuse)
        die("MODEL.TEACHER: '%s' does not fit %s: %s", l->path, m->name, refuse);
    if (l->names.scheme && l->names.scheme->note)
        log_warning("teacher '%s': %s", l->path, l->names.scheme->note);
    free(name);
}

void teacher_load(struct session *s)
{
    static const char *const heads[] = {"fc", "head", "head.fc", NULL};
    struct loading l = {.flat = session_flat(s)};
    const struct model *m = s->plan.teacher;
    char *path;

    if (!m)
        return;
    l.path = path = weights_path_checked(s->cfg->model.teacher, m->name);
    open_file(&l);
    find_names(&l, m);
    l.head = m->family->heads ? m->family->heads : heads;
    l.constants = xcalloc((size_t)l.flat->constant_len + 1, sizeof(*l.constants));
    for (int i = 0; i < l.flat->nconstant; i++)
        load_one(&l, constant(l.flat, i));
    if (l.nmissing)
        die("MODEL.TEACHER: '%s' does not match %s with %lld classes: %d mismatched "
            "tensors: %s (set MODEL.TEACHER_MODEL to the teacher's model)",
            path, m->name, (long long)session_classes(s), l.nmissing, l.missing);
    session_set_constants(s, l.constants);
    log_info("teacher '%s': %s, %d tensors loaded%s", path, m->name, l.flat->nconstant,
             raw_or_ema_source(&l.file, file_names_ema(&l.names)));
    file_names_release(&l.names);
    weights_file_close(&l.file);
    free(l.packed);
    free(l.constants);
    free(path);
}
