#include "train/pretrained.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "config/choices.h"
#include "io/weights_file.h"
#include "models/backbone.h"
#include "models/layers.h"
#include "session/head.h"
#include "session/model_config.h"
#include "session/state.h"
#include "train/file_names.h"
#include "train/quantize.h"
#include "train/raw_or_ema.h"
#include "train/remake.h"
#include "train/statedict.h"
#include "train/weights_cache.h"
#include "train/weights_guess.h"

struct loading {
    struct session *s;
    struct weights_file file;
    const struct model_family *family;
    const char *model; /* the name of the model whose weights these are */
    /* Prefix of the tensors that are loaded, which the file's names lack: of a backbone;
     * "": the whole model. */
    const char *part;
    struct file_names names;
    const char *const *head; /* layers that compute the logits, ended by NULL */
    float *flat;
    bool *used;                  /* for each tensor of the file */
    int loaded, fresh, missing;  /* numbers of tensors; fresh: reinitialized */
    int surplus;                 /* number of `missing` that only the file has */
    char *first_missing;         /* name of the first mismatch, with the reason */
    struct strbuf skipped_names; /* the first three that patterns skip */
    int nskipped;
    bool skipped; /* True if a pattern was needed. */
    bool all;     /* True if every weight must be in the file. */
};

static const struct build *main_build(const struct session *s)
{
    return &s->build[s->program[SESSION_TRAIN] ? SESSION_TRAIN : SESSION_EVAL];
}

/* Returns the name of a tensor of the model as the file may have it; NULL: it is not in
 * the part that is loaded. */
static const char *own_name(const struct loading *l, const struct tensor *t)
{
    size_t len = strlen(l->part);

    return strncmp(t->name, l->part, len) ? NULL : t->name + len;
}

static bool of_head(const struct loading *l, const char *name)
{
    return layers_contain(l->head, name);
}

/* True for an auxiliary head, of LOSSES or of the family: files may lack it. */
static bool of_aux(const struct loading *l, const char *name)
{
    return losses_is_aux(name) || layers_contain(l->family->aux, name);
}

/* True for a parameter that no node reads, such as the encoder's classifier in ERFNet. */
static bool unread(const struct loading *l, const struct tensor *t)
{
    return t->kind == TENSOR_PARAM && !tensor_reader(main_build(l->s)->graph, t, 0);
}

static bool may_skip(struct loading *l, const char *name)
{
    const struct str_list *list = &l->s->cfg->model.pretrained_skip;

    for (int i = 0; i < list->n && !l->all; i++)
        if (!fnmatch(list->item[i], name, 0)) {
            l->skipped = true;
            return true;
        }
    return false;
}

static void report_shape(const struct tensor *t, const struct safetensors_tensor *file,
                         const char *what)
{
    struct strbuf s = STRBUF_INIT;

    statedict_add_shapes(&s, t, file);
    log_warning("pretrained: %s: %s%s", t->name, s.buf, what);
    strbuf_release(&s);
}

/* Counts a mismatch and keeps the first for the error message; the debug log lists all.
 * Replaces control characters, because names come from the file. */
static void miss(struct loading *l, const char *name, const char *why)
{
    char *text = xasprintf("%s: %s", name, why);

    one_line(text);
    log_debug("pretrained: %s", text);
    l->missing++;
    if (l->first_missing)
        free(text);
    else
        l->first_missing = text;
}

static void miss_shape(struct loading *l, const struct tensor *t,
                       const struct safetensors_tensor *file)
{
    struct strbuf s = STRBUF_INIT;

    statedict_add_shapes(&s, t, file);
    miss(l, t->name, s.buf);
    strbuf_release(&s);
}

/* True if the file's classifier is missing or has another number of classes. */
static bool other_classes(const struct loading *l)
{
    const struct safetensors_tensor *t = file_names_layer(&l->names, l->head[0]);

    return !t || !t->ndim || t->dims[0] != l->s->plan.options.classes;
}

/* True if the file has no classifier at all, as files of pre-trained backbones. */
static bool headless(const struct loading *l)
{
    for (int i = 0; l->head[i]; i++)
        if (file_names_layer(&l->names, l->head[i]))
            return false;
    return true;
}

/* Warns about values that are not finite: the NaN loss that they cause comes later and
 * names no tensor. */
static void report_not_finite(const struct loading *l, const struct segment *seg)
{
    int64_t n = 0;

    for (int64_t i = 0; i < seg->len; i++)
        n += !isfinite(l->flat[seg->offset + i]);
    if (n)
        log_warning("pretrained: %s: %lld of %lld values are not finite",
                    seg->tensor->name, (long long)n, (long long)seg->len);
}

static const struct remake *remake_of(const struct loading *l, const struct tensor *t,
                                      const struct safetensors_tensor *file)
{
    const struct remake *r;

    if (statedict_fits(t, file))
        return NULL;
    r = remake_find(l->family, of_head(l, own_name(l, t)), t, file);
    return r && (r->always || !l->all) ? r : NULL;
}

/* True if Swin's bias tables are resized to another window like Microsoft's loader
 * does. */
static bool by_microsoft(const struct loading *l)
{
    int64_t tables = l->s->cfg->model.pretrained_tables;

    if (tables != BIAS_TABLES_AUTO)
        return tables == BIAS_TABLES_MICROSOFT;
    return l->names.scheme && l->names.scheme->microsoft;
}

/* Keeps only the first names for the log: a pattern may skip a whole decoder. */
static void skip(struct loading *l, const char *name, const char *what)
{
    log_debug("pretrained: %s: %s", name, what);
    if (l->nskipped++ < 3)
        strbuf_addf(&l->skipped_names, "%s%s", l->skipped_names.len ? ", " : "", name);
}

/* Handles a tensor that the file lacks. Returns false if it is not one. */
static bool load_missing(struct loading *l, const struct segment *seg, const char *name,
                         bool file)
{
    const struct tensor *t = seg->tensor;

    if (!file && statedict_is_counter(t)) {
        l->flat[seg->offset] = 0;
    } else if (file_names_no_bias(&l->names, l->head, name)) {
        if (!other_classes(l))
            memset(l->flat + seg->offset, 0, (size_t)seg->len * sizeof(float));
        log_info("pretrained: %s: missing in the file, initialized to zero", t->name);
    } else if (file) {
        return false;
    } else if (unread(l, t)) {
        log_info("pretrained: %s: missing in the file (unused by the model)", t->name);
    } else if (of_aux(l, t->name)) {
        log_info("pretrained: %s: missing in the file, reinitialized", t->name);
    } else if (losses_is_unit(t->name) && !l->all) {
        log_debug("pretrained: %s: missing in the file", t->name);
    } else if (!l->all && of_head(l, name) && headless(l)) {
        log_info("pretrained: %s: missing in the file, reinitialized", t->name);
        l->fresh++;
    } else if (may_skip(l, t->name)) {
        skip(l, t->name, "not in the file, starts afresh");
        l->fresh++;
    } else {
        miss(l, t->name, "not in the file");
    }
    return true;
}

/* Handles a tensor that has another shape in the file. */
static void load_misfit(struct loading *l, const struct tensor *t, const char *name,
                        const struct safetensors_tensor *file)
{
    bool fresh =
        unread(l, t) || of_aux(l, t->name) || (losses_is_unit(t->name) && !l->all) ||
        (of_head(l, name) && !l->all && other_classes(l)) || may_skip(l, t->name);

    if (fresh && losses_is_unit(t->name)) {
        log_debug("pretrained: %s: other targets, ignored", t->name);
    } else if (fresh) {
        report_shape(t, file, ": reinitialized");
        l->fresh++;
    } else {
        miss_shape(l, t, file);
    }
}

static void load_values(struct loading *l, const struct segment *seg,
                        const struct safetensors_tensor *file,
                        const struct remake *remake, void *packed)
{
    const struct tensor *t = seg->tensor;
    struct strbuf why = STRBUF_INIT;

    if (file_names_read(&l->names, file, packed, &why))
        die("%s", why.buf);
    if (!(remake ? remake_load(remake, l->family, seg, l->flat, file, packed,
                               by_microsoft(l))
                 : statedict_unpack(seg, l->flat, packed, file->dtype)))
        die("'%s': %s has the dtype %s", l->file.path, t->name,
            safetensors_dtype_name(file->dtype));
    if (remake)
        report_shape(t, file, remake->what);
    else
        log_debug("pretrained: %s: loaded", t->name);
    report_not_finite(l, seg);
    l->loaded++;
    strbuf_release(&why);
}

static void load_one(struct loading *l, const struct segment *seg, void *packed)
{
    const struct tensor *t = seg->tensor;
    const char *name = own_name(l, t);
    const struct safetensors_tensor *file = name ? file_names_get(&l->names, name) : NULL;
    const struct remake *remake = file ? remake_of(l, t, file) : NULL;

    if (file)
        l->used[file_names_index(&l->names, file)] = true;
    if (!name || load_missing(l, seg, name, file != NULL))
        return;
    if (!remake && !statedict_fits(t, file))
        load_misfit(l, t, name, file);
    else
        load_values(l, seg, file, remake, packed);
}

/* True if a state dict may have this name even though the model lacks it. */
static bool expected_extra(const struct loading *l, const char *name)
{
    return of_aux(l, file_names_plain(&l->names, name)) ||
           (losses_is_unit(file_names_plain(&l->names, name)) && !l->all) ||
           file_names_extra(&l->names, l->family, name) ||
           statedict_is_tied(session_flat(l->s), file_names_plain(&l->names, name));
}

/* Reports unused tensors of the file, except for a net that ends with a stage, or a
 * backbone, which do not need the rest of the file. */
static void report_unused(struct loading *l)
{
    for (size_t i = 0; i < l->file.n && !l->s->plan.nout && !*l->part; i++) {
        const char *name = l->file.tensor[i].name;

        if (l->used[i] || expected_extra(l, name))
            continue;
        if (may_skip(l, name) || may_skip(l, file_names_plain(&l->names, name))) {
            skip(l, name, "not in the model, ignored");
            continue;
        }
        l->surplus++;
        miss(l, name, "not in the model");
    }
}

static bool names_any(const struct loading *l, const char *pattern)
{
    const struct flat *f = session_flat(l->s);
    bool any = false;

    for (int i = 0; i < f->nsegment && !any; i++)
        any = !fnmatch(pattern, f->segment[i].tensor->name, 0);
    for (size_t i = 0; i < l->file.n && !any; i++)
        any = !fnmatch(pattern, l->file.tensor[i].name, 0) ||
              !fnmatch(pattern, file_names_plain(&l->names, l->file.tensor[i].name), 0);
    return any;
}

static void report_patterns(const struct loading *l)
{
    const struct str_list *list = &l->s->cfg->model.pretrained_skip;

    for (int i = 0; i < list->n && !l->all; i++)
        if (!names_any(l, list->item[i]))
            log_warning(
                "MODEL.PRETRAINED_SKIP: '%s' matches no tensor of the model or of '%s'",
                list->item[i], l->file.path);
}

/* Sets l->names. Dies if no model of the family can use the file. */
static void find_names(struct loading *l)
{
    const struct flat *f = session_flat(l->s);
    const char **name = xcalloc((size_t)f->nsegment + 1, sizeof(*name));
    const char *refuse;
    int n = 0;

    for (int i = 0; i < f->nsegment; i++) { /* parameters are in reverse order */
        int pos = i < f->nparam ? f->nparam - 1 - i : i;

        name[n] = own_name(l, f->segment[pos].tensor);
        n += name[n] != NULL;
    }
    refuse = file_names_find(&l->names, &l->file, l->family->type, name, n);
    if (refuse)
        die("'%s' does not fit %s: %s", l->file.path, l->model, refuse);
    if (l->names.scheme)
        log_info("pretrained '%s': converting tensor names of %s", l->file.path,
                 l->names.scheme->name);
    if (l->names.scheme && l->names.scheme->note)
        log_warning("pretrained '%s': %s", l->file.path, l->names.scheme->note);
    free(name);
}

static void *packed_room(const struct weights_file *file)
{
    size_t largest = 1;

    for (size_t i = 0; i < file->n; i++)
        largest = file->tensor[i].size > largest ? file->tensor[i].size : largest;
    return xmalloc(largest);
}

/* Appends what was loaded: " from the EMA weights of state_dict". */
static void add_source(struct strbuf *text, const struct loading *l)
{
    bool ema = file_names_ema(&l->names);

    strbuf_addstr(text, raw_or_ema_source(&l->file, ema));
    if (*l->file.part)
        strbuf_addf(text, "%s%s", ema ? " of " : " from ", l->file.part);
}

_Noreturn static void die_misfit(const struct loading *l, const char *path)
{
    int n = session_flat(l->s)->nsegment;
    struct strbuf guess = STRBUF_INIT;

    if (!*l->part && l->s->plan.model->backbone)
        strbuf_addstr(&guess,
                      "; the weights of a backbone alone: MODEL.PRETRAINED_BACKBONE");
    else if (!*l->part && l->s->plan.model->family->fixed_size)
        strbuf_addf(&guess, "; %s fits one size of images: DATA.IMG_SIZE", l->model);
    else if (!*l->part)
        weights_guess_add(&guess, &l->file, model_of_config(l->s->cfg));
    die("'%s' does not match %s: %d of %d tensors match, %d of model and file do not, "
        "first: %s (LOG.LEVEL debug lists them%s)%s",
        path, l->model, n - l->missing + l->surplus, n, l->missing, l->first_missing,
        l->all ? "" : "; MODEL.PRETRAINED_SKIP ignores names by pattern", guess.buf);
}

static void finish(struct loading *l, const char *path)
{
    struct strbuf source = STRBUF_INIT;
    struct session *s = l->s;

    if (l->missing)
        die_misfit(l, path);
    session_set(s, MEMORY_WEIGHTS, l->flat);
    if (session_has_ema(s))
        session_set(s, MEMORY_EMA, l->flat);
    session_refresh(s);
    if (l->nskipped)
        log_info("pretrained: MODEL.PRETRAINED_SKIP ignores %d: %s%s", l->nskipped,
                 l->skipped_names.buf,
                 l->nskipped > 3 ? ", ... (LOG.LEVEL debug lists them)" : "");
    add_source(&source, l);
    log_info("pretrained '%s': %d tensors loaded%s%s", path, l->loaded,
             source.len ? source.buf : "",
             !l->fresh    ? ""
             : l->skipped ? "; the others are reinitialized"
                          : "; the classifier is reinitialized");
    if (!*l->part)
        pretrained_describe(s->cfg);
    strbuf_release(&source);
}

/* l: session, family, model, part, and all are set. */
static void load(struct loading l, const char *text, const char *what,
                 const struct class_list *classes)
{
    struct session *s = l.s;
    const struct flat *f = session_flat(s);
    const char *const last[] = {head_layer(main_build(s)), NULL};
    struct strbuf why = STRBUF_INIT;
    char *path = weights_path_checked(text, l.model);
    void *packed;

    if (weights_file_open(&l.file, path, true, &why) ||
        weights_file_verify(&l.file, &why))
        die("MODEL.PRETRAINED%s: %s", *l.part ? "_BACKBONE" : "", why.buf);
    quantize_check_file(&l.file, s->cfg->quant.enable);
    if (!*l.part)
        class_list_check(path, weights_file_meta(&l.file, "classes"), what, classes,
                         s->cfg->data.check_classes);
    l.head = l.family->heads ? l.family->heads : last;
    find_names(&l);
    l.flat = xcalloc((size_t)f->weights_len, sizeof(float));
    l.used = xcalloc(l.file.n + 1, sizeof(*l.used));
    packed = packed_room(&l.file);
    session_get(s, MEMORY_WEIGHTS, l.flat);
    for (int i = f->nparam; i-- > 0;) /* parameters are in reverse order */
        load_one(&l, &f->segment[i], packed);
    for (int i = f->nparam; i < f->nsegment; i++)
        load_one(&l, &f->segment[i], packed);
    report_unused(&l);
    report_patterns(&l);
    finish(&l, path);
    weights_file_close(&l.file);
    strbuf_release(&why);
    free(packed);
    free(path);
    free(l.flat);
    free(l.used);
    file_names_release(&l.names);
    strbuf_release(&l.skipped_names);
}

static struct loading loading_of(struct session *s, bool all)
{
    return (struct loading){.s = s,
                            .family = model_of_config(s->cfg)->family,
                            .model = s->cfg->model.name,
                            .part = "",
                            .all = all};
}

void pretrained_load(struct session *s, const char *path)
{
    load(loading_of(s, false), path, NULL, NULL);
}

void pretrained_load_all(struct session *s, const char *path, const char *what,
                         const struct class_list *classes)
{
    load(loading_of(s, true), path, what, classes);
}

void pretrained_load_backbone(struct session *s, const char *path)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m = backbone_of(s->plan.model, &s->plan.options, &why);

    if (!m)
        BUG("%s has no backbone: %s", s->plan.model->name, why.buf);
    load((struct loading){.s = s,
                          .family = m->family,
                          .model = m->name,
                          .part = s->plan.model->backbone_prefix},
         path, NULL, NULL);
}

void pretrained_load_start(struct session *s)
{
    const struct config_model *m = &s->cfg->model;

    if (*m->pretrained)
        pretrained_load(s, m->pretrained);
    else if (*m->pretrained_backbone)
        pretrained_load_backbone(s, m->pretrained_backbone);
}
