#include "train/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "dataset/dataset.h"
#include "io/json.h"
#include "train/checkpoint_state.h"
#include "train/class_weights.h"
#include "train/statedict.h"

enum { ARRAYS = 2 + OPTIMIZER_MOMENTS };

/* The flat arrays of a checkpoint; `name` in front of the tensors' own. */
struct array {
    enum memory memory;
    char name[64];
    bool params_only;
};

static int arrays_of(const struct session *s, bool ema, struct array a[ARRAYS])
{
    static const enum memory moment[OPTIMIZER_MOMENTS] = {MEMORY_MOMENT1, MEMORY_MOMENT2};
    const struct optimizer *o = s->plan.optimizer;
    int n = 0, moments = optimizer_moments(o, &s->plan.hyperparameters);

    a[n++] = (struct array){.memory = MEMORY_WEIGHTS};
    if (ema)
        a[n++] = (struct array){.memory = MEMORY_EMA, .name = "ema."};
    for (int i = 0; i < moments; i++) {
        a[n] = (struct array){.memory = moment[i], .params_only = true};
        (void)snprintf(a[n++].name, sizeof(a->name), "optimizer.%s.", o->moment[i]);
    }
    return n;
}

/* ---- writing ---- */

struct writing {
    const struct session *s;
    enum memory held; /* what `flat` is a copy of */
    float *flat;
    void *packed;
    struct piece {
        struct writing *w;
        const struct array *array;
        const struct segment *segment;
    } * piece;
    int n;
};

static const void *give(const struct safetensors_tensor *t, void *arg)
{
    struct piece *p = arg;
    struct writing *w = p->w;
    /* A counter has no average. */
    enum memory from =
        statedict_is_counter(p->segment->tensor) ? MEMORY_WEIGHTS : p->array->memory;

    (void)t;
    if (w->held != from) {
        session_get(w->s, from, w->flat);
        w->held = from;
    }
    statedict_pack(p->segment, w->flat, w->packed);
    return w->packed;
}

static void add_array(struct writing *w, struct safetensors_writer *out,
                      const struct array *a)
{
    const struct flat *f = session_flat(w->s);
    int n = a->params_only ? f->ntrained : f->nsegment;

    for (int i = 0; i < n; i++) {
        const struct segment *seg = &f->segment[i];
        struct statedict_shape shape = statedict_shape(seg->tensor);
        struct piece *p = &w->piece[w->n++];
        char *name;

        *p = (struct piece){w, a, seg};
        name = xasprintf("%s%s", a->name, seg->tensor->name);
        safetensors_writer_add_source(out, name, shape.dtype, shape.ndim, shape.dims,
                                      give, p);
        free(name);
    }
}

static size_t largest_tensor(const struct flat *f)
{
    size_t most = 0;

    for (int i = 0; i < f->nsegment; i++) {
        size_t size = statedict_size(f->segment[i].tensor);

        most = size > most ? size : most;
    }
    return most;
}

int checkpoint_write(const char *path, const struct session *s,
                     const struct run_state *state, const struct class_list *classes,
                     const char *config, struct strbuf *why)
{
    const struct flat *f = session_flat(s);
    struct safetensors_writer out = {0};
    struct writing w = {.s = s, .held = MEMORY_NONE};
    struct strbuf text = STRBUF_INIT;
    struct array array[ARRAYS];
    int n = arrays_of(s, session_has_ema(s), array), rc;

    checkpoint_state_put(&text, s, state);
    safetensors_writer_meta(&out, "trainc", text.buf);
    strbuf_reset(&text);
    class_list_put(classes, &text);
    safetensors_writer_meta(&out, "classes", text.buf);
    strbuf_reset(&text);
    for (int c = 0; s->plan.loss_options.class_weight && c < s->cfg->model.num_classes;
         c++)
        strbuf_addf(&text, "%s%.9g", c ? ", " : "[",
                    (double)s->plan.loss_options.class_weight[c]);
    if (text.len) {
        strbuf_addstr(&text, "]");
        safetensors_writer_meta(&out, "class_weights", text.buf);
    }
    safetensors_writer_meta(&out, "config", config);
    w.flat = xmalloc((size_t)f->weights_len * sizeof(float));
    w.packed = xmalloc(largest_tensor(f));
    w.piece = xcalloc((size_t)n * (size_t)f->nsegment, sizeof(*w.piece));
    for (int i = 0; i < n; i++)
        add_array(&w, &out, &array[i]);
    rc = safetensors_writer_commit(&out, path, why);
    safetensors_writer_release(&out);
    strbuf_release(&text);
    free(w.flat);
    free(w.packed);
    free(w.piece);
    return rc;
}

size_t checkpoint_size(const struct session *s)
{
    const struct flat *f = session_flat(s);
    struct array array[ARRAYS];
    int n =
        arrays_of(s, s->cfg->train.ema.enable, array); /* there may be no memory yet */
    size_t size = 1 << 16;

    for (int i = 0; i < n; i++)
        size += (size_t)(array[i].params_only ? f->trained_len : f->weights_len) * 4;
    return size;
}

/* ---- reading ---- */

static int64_t integer(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* Its state, a text; NULL with a reason if this is no checkpoint of ours. */
static const char *state_text(const struct safetensors *file, struct strbuf *why)
{
    const char *text = safetensors_meta(file, "trainc");

    if (!text)
        strbuf_addf(why,
                    "'%s' is no checkpoint of trainc, weights alone at best "
                    "(--pretrained takes those)",
                    file->in.path);
    return text;
}

static json_t *state_object(const struct safetensors *file, struct strbuf *why)
{
    const char *text = state_text(file, why);
    json_t *o;

    if (!text)
        return NULL;
    o = json_parse(text, strlen(text), why);
    if (o && integer(o, "version") != CHECKPOINT_VERSION)
        die("'%s' was written by another version of trainc (checkpoint format %lld, "
            "not %d)",
            file->in.path, (long long)integer(o, "version"), CHECKPOINT_VERSION);
    return o;
}

static void check_owner(const struct safetensors *file, const json_t *o,
                        const struct session *s)
{
    const char *model = json_string_value(json_object_get(o, "model"));
    const char *optimizer = json_string_value(json_object_get(o, "optimizer"));

    if (!model || strcmp(model, s->cfg->model.name) != 0)
        die("'%s' holds the model %s, and this run trains %s", file->in.path,
            model ? model : "?", s->cfg->model.name);
    if (s->program[SESSION_TRAIN] &&
        (!optimizer || strcmp(optimizer, s->plan.optimizer->name) != 0))
        die("'%s' was trained with %s, and this run has TRAIN.OPTIMIZER.NAME %s "
            "(MODEL.PRETRAINED takes its weights alone)",
            file->in.path, optimizer ? optimizer : "?", s->plan.optimizer->name);
}

/* One tensor of the file into its place of `flat`. */
static int read_tensor(const struct safetensors *file, const struct array *a,
                       const struct segment *seg, float *flat, void *packed,
                       struct strbuf *why)
{
    char *name = xasprintf("%s%s", a->name, seg->tensor->name);
    const struct safetensors_tensor *t = safetensors_find(file, name);
    int rc = 0;

    if (!t && a->params_only) { /* was frozen then: its moments start at zero */
        memset(flat + seg->offset, 0, (size_t)seg->len * sizeof(float));
    } else if (!t || !statedict_fits(seg->tensor, t)) {
        die("'%s' %s '%s', so it does not belong to this model", file->in.path,
            t ? "has another shape of" : "lacks", name);
    } else {
        rc = safetensors_read(file, t, packed, why);
        if (!rc && !statedict_unpack(seg, flat, packed, t->dtype))
            die("'%s': '%s' has the dtype %s", file->in.path, name,
                safetensors_dtype_name(t->dtype));
    }
    free(name);
    return rc;
}

static int read_array(const struct safetensors *file, const struct session *s,
                      const struct array *a, float *flat, struct strbuf *why)
{
    const struct flat *f = session_flat(s);
    int n = a->params_only ? f->ntrained : f->nsegment, rc = 0;
    void *packed = xmalloc(2 * largest_tensor(f)); /* fp64 is twice as wide */

    for (int i = 0; i < n && !rc; i++)
        rc = read_tensor(file, a, &f->segment[i], flat, packed, why);
    free(packed);
    return rc;
}

/* Does the file have the array at all? An average may be missing. */
static bool has_array(const struct safetensors *file, const struct session *s,
                      const struct array *a)
{
    char *name = xasprintf("%s%s", a->name, session_flat(s)->segment[0].tensor->name);
    bool has = safetensors_find(file, name) != NULL;

    free(name);
    return has;
}

static int read_arrays(const struct safetensors *file, struct session *s,
                       struct strbuf *why)
{
    const struct flat *f = session_flat(s);
    struct array array[ARRAYS];
    float *flat[ARRAYS] = {NULL};
    int n = arrays_of(s, session_has_ema(s), array), rc = 0;

    if (!s->program[SESSION_TRAIN])
        n = session_has_ema(s) ? 2 : 1;
    for (int i = 0; i < n && !rc; i++) {
        flat[i] = xcalloc((size_t)f->weights_len, sizeof(float));
        if (array[i].memory == MEMORY_EMA && !has_array(file, s, &array[i])) {
            log_warning("'%s' has no average: it starts from the weights", file->in.path);
            memcpy(flat[i], flat[0], (size_t)f->weights_len * sizeof(float));
            continue;
        }
        rc = read_array(file, s, &array[i], flat[i], why);
    }
    for (int i = 0; i < n; i++) {
        if (!rc)
            session_set(s, array[i].memory, flat[i]);
        free(flat[i]);
    }
    return rc;
}

static int read_all(const struct safetensors *file, struct session *s,
                    struct run_state *state, const struct class_list *classes,
                    struct strbuf *why)
{
    struct strbuf reason = STRBUF_INIT;
    struct run_state got;
    struct control c;
    json_t *o;
    int rc;

    if (!state_text(file, why) || safetensors_verify(file, why))
        return -1;
    o = state_object(file, why);
    if (!o)
        return -1;
    check_owner(file, o, s);
    class_list_check(file->in.path, safetensors_meta(file, "classes"), "the data set",
                     classes, s->cfg->data.check_classes);
    rc = checkpoint_state_get(o, s, &got, &c, &reason);
    json_decref(o);
    if (rc)
        strbuf_addf(why, "'%s': its state makes no sense: %s", file->in.path, reason.buf);
    strbuf_release(&reason);
    if (rc || read_arrays(file, s, why))
        return -1;
    *state = got;
    if (s->program[SESSION_TRAIN]) {
        class_weights_compare(file, s->plan.loss_options.class_weight,
                              s->cfg->model.num_classes);
        session_set_control(s, &c);
    }
    session_refresh(s);
    return 0;
}

int checkpoint_read(const char *path, struct session *s, struct run_state *state,
                    const struct class_list *classes, struct strbuf *why)
{
    struct safetensors file;
    int rc = safetensors_open(&file, path, why);

    if (!rc)
        rc = read_all(&file, s, state, classes, why);
    safetensors_close(&file);
    return rc;
}

static struct checkpoint_mark mark_of(const json_t *o)
{
    const json_t *c = json_object_get(o, "control");

    return (struct checkpoint_mark){
        .step = integer(o, "step"),
        .epoch = integer(o, "epoch"),
        .done = integer(c, "updates") + integer(c, "skipped"),
    };
}

int checkpoint_mark(const char *path, struct checkpoint_mark *mark, struct strbuf *why)
{
    struct safetensors file;
    json_t *o = NULL;
    bool sound;

    if (!safetensors_open(&file, path, why))
        o = state_object(&file, why);
    sound = o != NULL;
    if (sound)
        *mark = mark_of(o);
    for (size_t i = 0; sound && i < file.n && !mark->average; i++)
        mark->average = !strncmp(file.tensor[i].name, "ema.", 4);
    json_decref(o);
    safetensors_close(&file);
    return sound ? 0 : -1;
}
