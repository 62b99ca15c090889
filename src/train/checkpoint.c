#include "train/checkpoint.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "dataset/dataset.h"
#include "io/json.h"
#include "session/state.h"
#include "train/checkpoint_state.h"
#include "train/class_weights.h"
#include "train/kept_meta.h"
#include "train/multilabel.h"
#include "train/statedict.h"

/* A flat array of a checkpoint. */
struct array {
    enum memory memory;
    const char *name; /* prefix of the tensors' names */
    bool params_only; /* a moment: covers trained parameters only */
    int moment;       /* index of the moment if params_only */
};

static int arrays_of(const struct session *s, bool ema, struct array a[CHECKPOINT_ARRAYS])
{
    static const enum memory moment[OPTIMIZER_MOMENTS] = {MEMORY_MOMENT1, MEMORY_MOMENT2};
    int n = 0, moments = session_moments(s);

    a[n++] = (struct array){.memory = MEMORY_WEIGHTS, .name = ""};
    if (ema)
        a[n++] = (struct array){.memory = MEMORY_EMA, .name = "ema."};
    for (int i = 0; i < moments; i++)
        a[n++] = (struct array){.memory = moment[i], .params_only = true, .moment = i};
    return n;
}

/* Returns the tensor's name in the file (the caller frees it), or NULL if its optimizer
 * has no such moment. */
static char *name_in(const struct session *s, const struct array *a,
                     const struct segment *seg)
{
    const struct optimizer_use *u = optimizer_use_of(&s->plan.groups, seg->tensor->name);

    if (!a->params_only)
        return xasprintf("%s%s", a->name, seg->tensor->name);
    if (a->moment >= optimizer_moments(u->optimizer, &u->h))
        return NULL;
    return xasprintf("optimizer.%s.%s", u->optimizer->moment[a->moment],
                     seg->tensor->name);
}

/* ---- writing ---- */

struct writing {
    const struct checkpoint *c;
    void *packed; /* room for the largest tensor */
    struct piece {
        struct writing *w;
        int array;
        const struct segment *segment;
    } * piece;
    int n;
};

/* Source for safetensors_writer: packs one tensor when it is written. */
static const void *tensor_data(const struct safetensors_tensor *t, void *arg)
{
    struct piece *p = arg;
    struct writing *w = p->w;
    /* Integers have no EMA: copy them from the weights, which are array 0. */
    int start = statedict_is_integer(p->segment->tensor) ? 0 : p->array;

    (void)t;
    statedict_pack(p->segment, w->c->flat[start], w->packed);
    return w->packed;
}

static void add_array(struct writing *w, struct safetensors_writer *out,
                      const struct array *a, int k)
{
    const struct flat *f = session_flat(w->c->s);
    int n = a->params_only ? f->ntrained : f->nsegment;

    for (int i = 0; i < n; i++) {
        const struct segment *seg = &f->segment[i];
        struct statedict_shape shape = statedict_shape(seg->tensor);
        char *name = name_in(w->c->s, a, seg);
        struct piece *p;

        if (!name)
            continue;
        p = &w->piece[w->n++];
        *p = (struct piece){w, k, seg};
        safetensors_writer_add_source(out, name, shape.dtype, shape.ndim, shape.dims,
                                      tensor_data, p);
        free(name);
        for (int j = 0; j < seg->tensor->nalso && !a->params_only; j++) {
            name = xasprintf("%s%s", a->name, seg->tensor->also[j]);
            safetensors_writer_add_source(out, name, shape.dtype, shape.ndim, shape.dims,
                                          tensor_data, p);
            free(name);
        }
    }
}

static size_t largest_tensor(const struct flat *f)
{
    size_t largest = 0;

    for (int i = 0; i < f->nsegment; i++) {
        size_t size = statedict_size(f->segment[i].tensor);

        largest = size > largest ? size : largest;
    }
    return largest;
}

void checkpoint_copy(struct checkpoint *c, const struct session *s,
                     const struct run_state *state, const struct class_list *classes,
                     const char *config)
{
    struct array array[CHECKPOINT_ARRAYS];
    int n = arrays_of(s, session_has_ema(s), array);
    size_t size = (size_t)session_flat(s)->weights_len * sizeof(float);

    c->s = s;
    c->config = config;
    free(c->kernels);
    c->kernels = s->backend->choices ? s->backend->choices(s->device) : NULL;
    strbuf_reset(&c->state);
    strbuf_reset(&c->classes);
    strbuf_reset(&c->class_weights);
    strbuf_reset(&c->thresholds);
    checkpoint_state_put(&c->state, s, state);
    class_list_put(classes, &c->classes);
    checkpoint_put_class_weights(&c->class_weights, s);
    checkpoint_put_thresholds(&c->thresholds, s);
    for (int i = 0; i < n; i++) {
        if (!c->flat[i])
            c->flat[i] = xmalloc(size);
        session_get(s, array[i].memory, c->flat[i]);
    }
}

void checkpoint_copy_before(struct checkpoint *c, const struct run_state *state)
{
    strbuf_reset(&c->state_before);
    checkpoint_state_put(&c->state_before, c->s, state);
}

void checkpoint_fall_back(struct checkpoint *c)
{
    struct strbuf state = c->state;

    c->state = c->state_before;
    c->state_before = state;
}

void checkpoint_release(struct checkpoint *c)
{
    for (int i = 0; i < CHECKPOINT_ARRAYS; i++)
        free(c->flat[i]);
    strbuf_release(&c->state);
    strbuf_release(&c->state_before);
    strbuf_release(&c->classes);
    strbuf_release(&c->class_weights);
    strbuf_release(&c->thresholds);
    free(c->kernels);
    *c = (struct checkpoint){.s = NULL};
}

/* Tests the bits, because the compiler does not vectorize the loop with float
 * compares. */
static bool is_finite(const float *v, int64_t n)
{
    uint32_t found = 0;

    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, v + i, sizeof(bits));
        found |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return !found;
}

bool checkpoint_is_finite(const struct checkpoint *c, struct strbuf *what)
{
    const struct flat *f = session_flat(c->s);
    struct array array[CHECKPOINT_ARRAYS];
    int n = arrays_of(c->s, session_has_ema(c->s), array);

    for (int k = 0; k < n; k++)
        for (int i = 0; i < (array[k].params_only ? f->ntrained : f->nsegment); i++) {
            const struct segment *seg = &f->segment[i];
            char *name;

            if (is_finite(c->flat[k] + seg->offset, seg->len))
                continue;
            name = name_in(c->s, &array[k], seg);
            strbuf_addstr(what, name ? name : seg->tensor->name);
            free(name);
            return false;
        }
    return true;
}

int checkpoint_store(const struct checkpoint *c, const char *path, struct strbuf *why)
{
    const struct flat *f = session_flat(c->s);
    struct safetensors_writer out = {0};
    struct writing w = {.c = c};
    struct array array[CHECKPOINT_ARRAYS];
    int n = arrays_of(c->s, session_has_ema(c->s), array), rc, err;

    safetensors_writer_meta(&out, "trainc", c->state.buf);
    safetensors_writer_meta(&out, "classes", c->classes.buf);
    if (c->class_weights.len)
        safetensors_writer_meta(&out, "class_weights", c->class_weights.buf);
    if (c->thresholds.len)
        safetensors_writer_meta(&out, "thresholds", c->thresholds.buf);
    if (c->kernels)
        safetensors_writer_meta(&out, "kernels", c->kernels);
    safetensors_writer_meta(&out, "config", c->config);
    kept_meta_add_graphs(&out, c->s->plan.model);
    w.packed = xmalloc(largest_tensor(f));
    w.piece = xcalloc((size_t)n * (size_t)f->nsegment, sizeof(*w.piece));
    for (int i = 0; i < n; i++)
        add_array(&w, &out, &array[i], i);
    rc = safetensors_writer_commit(&out, path, why);
    err = errno;
    safetensors_writer_release(&out);
    free(w.packed);
    free(w.piece);
    errno = err;
    return rc;
}

size_t checkpoint_size(const struct session *s)
{
    const struct flat *f = session_flat(s);
    struct array array[CHECKPOINT_ARRAYS];
    int n = arrays_of(s, s->plan.ema, array); /* works before session_alloc */
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

/* Returns the run's state as JSON, or NULL with a reason if this is not a trainc
 * checkpoint. */
static const char *state_text(const struct safetensors *file, struct strbuf *why)
{
    const char *text = safetensors_meta(file, "trainc");

    if (!text)
        strbuf_addf(
            why,
            "'%s' is not a trainc checkpoint (to load only weights, use --pretrained)",
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

/* Returns the optimizer that updated the parameter in the run that wrote the file. */
static const char *optimizer_in(const json_t *o, const char *param)
{
    const json_t *list = json_object_get(o, "optimizer_groups");
    const char *name = json_string_value(json_object_get(o, "optimizer"));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *group = json_array_get(list, i);
        const char *match = json_string_value(json_object_get(group, "match"));

        if (!match || fnmatch(match, param, 0) != 0)
            continue;
        name = json_string_value(json_object_get(group, "name"));
        break;
    }
    return name ? name : "?";
}

/* Dies if a parameter has a different optimizer in this run, because optimizers cannot
 * use each other's moments. */
static void check_optimizers(const struct safetensors *file, const json_t *o,
                             const struct session *s)
{
    const struct flat *f = session_flat(s);
    bool groups = s->plan.groups.n > 1 || json_object_get(o, "optimizer_groups");

    for (int i = f->ntrained; i-- > 0;) {
        const char *param = f->segment[i].tensor->name, *was = optimizer_in(o, param);
        const char *now = optimizer_use_of(&s->plan.groups, param)->optimizer->name;

        if (strcmp(was, now) != 0 && groups)
            die("'%s' was trained with %s for %s, but this run uses %s "
                "(TRAIN.OPTIMIZER.GROUPS; to load only its weights, use "
                "MODEL.PRETRAINED)",
                file->in.path, was, param, now);
        if (strcmp(was, now) != 0)
            die("'%s' was trained with %s, but TRAIN.OPTIMIZER.NAME is %s (to load only "
                "its weights, use MODEL.PRETRAINED)",
                file->in.path, was, now);
    }
}

static void check_owner(const struct safetensors *file, const json_t *o,
                        const struct session *s)
{
    const char *model = json_string_value(json_object_get(o, "model"));

    if (!model || strcmp(model, s->cfg->model.name) != 0)
        die("'%s' contains the model %s, but MODEL.NAME is %s", file->in.path,
            model ? model : "?", s->cfg->model.name);
    if (s->program[SESSION_TRAIN])
        check_optimizers(file, o, s);
}

/* Reads one tensor of the file into its place in `flat`, through the buffer `packed`. */
static int read_tensor(const struct safetensors *file, const struct session *s,
                       const struct array *a, const struct segment *seg, float *flat,
                       void *packed, struct strbuf *why)
{
    char *name = name_in(s, a, seg);
    const struct safetensors_tensor *t = name ? safetensors_find(file, name) : NULL;
    int rc = 0;

    if (!t && a->params_only) { /* frozen in the earlier run: moments start at zero */
        memset(flat + seg->offset, 0, (size_t)seg->len * sizeof(float));
    } else if (!t || !statedict_fits(seg->tensor, t)) {
        die("'%s' %s '%s': it was saved from a different model", file->in.path,
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
        rc = read_tensor(file, s, a, &f->segment[i], flat, packed, why);
    free(packed);
    return rc;
}

/* True if the file has the array; the EMA weights may be missing. */
static bool has_array(const struct safetensors *file, const struct session *s,
                      const struct array *a)
{
    char *name = name_in(s, a, &session_flat(s)->segment[0]);
    bool has = safetensors_find(file, name) != NULL;

    free(name);
    return has;
}

static int read_arrays(const struct safetensors *file, struct session *s,
                       struct strbuf *why)
{
    const struct flat *f = session_flat(s);
    struct array array[CHECKPOINT_ARRAYS];
    float *flat[CHECKPOINT_ARRAYS] = {NULL};
    int n = arrays_of(s, session_has_ema(s), array), rc = 0;

    if (!s->program[SESSION_TRAIN])
        n = session_has_ema(s) ? 2 : 1;
    for (int i = 0; i < n && !rc; i++) {
        flat[i] = xcalloc((size_t)f->weights_len, sizeof(float));
        if (array[i].memory == MEMORY_EMA && !has_array(file, s, &array[i])) {
            log_warning("'%s' has no EMA weights: initializing the EMA with the weights",
                        file->in.path);
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
    int64_t averaged;
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
        strbuf_addf(why, "'%s': invalid training state: %s", file->in.path, reason.buf);
    strbuf_release(&reason);
    if (rc)
        return -1;
    averaged = s->averaged;
    s->averaged = s->plan.swa ? got.averaged : 0;
    if (read_arrays(file, s, why)) {
        s->averaged = averaged;
        return -1;
    }
    *state = got;
    free(s->thresholds);
    s->thresholds = multilabel_thresholds_parse(safetensors_meta(file, "thresholds"),
                                                (int)s->cfg->model.num_classes);
    if (s->program[SESSION_TRAIN]) {
        class_weights_compare(file, s->plan.class_weight, s->cfg->model.num_classes);
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

int checkpoint_mark(const char *path, struct checkpoint_mark *mark, struct strbuf *why)
{
    struct safetensors file;
    json_t *o = NULL;
    const json_t *c;
    bool sound;

    if (!safetensors_open(&file, path, why))
        o = state_object(&file, why);
    sound = o != NULL;
    c = json_object_get(o, "control");
    if (sound)
        *mark = (struct checkpoint_mark){
            .step = integer(o, "step"),
            .epoch = integer(o, "epoch"),
            .done = integer(c, "updates") + integer(c, "skipped"),
        };
    for (size_t i = 0; sound && i < file.n && !mark->ema; i++)
        mark->ema = !strncmp(file.tensor[i].name, "ema.", 4);
    json_decref(o);
    safetensors_close(&file);
    return sound ? 0 : -1;
}
