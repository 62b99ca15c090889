#include "io/pth.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"

/* ---- tensors ---- */

/* Functions of torch._utils that build tensors, and the positions of their arguments. */
static const struct rebuild {
    const char *name;
    int dtype;   /* index of the dtype argument; 0: same as the storage */
    int wrapped; /* 1 + index of an argument that is another such call; 0: none */
} rebuild[] = {
    {"torch._utils _rebuild_tensor", 0, 0},
    {"torch._utils _rebuild_tensor_v2", 0, 0},
    {"torch._utils _rebuild_tensor_v3", 6, 0},
    {"torch._utils _rebuild_parameter", 0, 1},
    {"torch._utils _rebuild_parameter_with_state", 0, 1},
};

static const struct rebuild *find_rebuild(const struct pickle_value *callee)
{
    const char *name = pickle_global(callee);

    for (size_t i = 0; name && i < sizeof(rebuild) / sizeof(rebuild[0]); i++)
        if (!strcmp(rebuild[i].name, name))
            return &rebuild[i];
    return NULL;
}

/* Returns the arguments of the call that builds a tensor, or NULL if v is not a
 * tensor. */
static const struct pickle_value *tensor_call(const struct pickle_value *v,
                                              const struct rebuild **how)
{
    for (int depth = 0; depth < 4 && v && v->kind == PICKLE_OBJECT; depth++) {
        const struct pickle_value *callee = pickle_item(v, 0), *args = pickle_item(v, 1);
        const char *name = pickle_global(callee);

        if (name && !strcmp(name, "torch._tensor _rebuild_from_type_v2")) {
            callee = pickle_item(args, 0); /* function, type, its arguments, attributes */
            args = pickle_item(args, 2);
        }
        *how = find_rebuild(callee);
        if (!*how)
            return NULL;
        if (!(*how)->wrapped)
            return args;
        v = pickle_item(args, (size_t)(*how)->wrapped - 1);
    }
    return NULL;
}

/* Sets the dtype of a tensor on an untyped storage; most of these have no typed
 * storage. */
static bool dtype_of(const struct pickle_value *v, enum safetensors_dtype *dtype)
{
    static const struct {
        const char *name;
        enum safetensors_dtype dtype;
    } types[] = {
        {"torch uint16", SAFETENSORS_U16},
        {"torch uint32", SAFETENSORS_U32},
        {"torch uint64", SAFETENSORS_U64},
        {"torch float8_e5m2", SAFETENSORS_F8_E5M2},
        {"torch float8_e4m3fn", SAFETENSORS_F8_E4M3},
        {"torch float16", SAFETENSORS_F16},
        {"torch bfloat16", SAFETENSORS_BF16},
        {"torch float32", SAFETENSORS_F32},
    };
    const char *name = pickle_global(v);

    for (size_t i = 0; name && i < sizeof(types) / sizeof(types[0]); i++)
        if (!strcmp(types[i].name, name)) {
            *dtype = types[i].dtype;
            return true;
        }
    return false;
}

/* Copies a tuple of ints to `dst`. Returns their number, -1 if it is not such a tuple or
 * has more than SAFETENSORS_MAX_DIMS, or -2 if one is negative. */
static int numbers(const struct pickle_value *v, int64_t *dst)
{
    if (!v || v->kind != PICKLE_TUPLE || v->item.n > SAFETENSORS_MAX_DIMS)
        return -1;
    for (size_t i = 0; i < v->item.n; i++) {
        dst[i] = v->item.v[i]->number;
        if (v->item.v[i]->kind != PICKLE_INT)
            return -1;
        if (dst[i] < 0)
            return -2;
    }
    return (int)v->item.n;
}

/* Sets *elements to the number of elements in a view, and *last to the index of its last
 * one in the storage, relative to its first. Returns false on overflow. */
static bool extent(const struct safetensors_tensor *t, const struct pth_view *v,
                   uint64_t *elements, uint64_t *last)
{
    *last = 0;
    if (!checked_array(t->dims, t->ndim, 1, elements))
        return false;
    for (int i = 0; i < t->ndim && *elements; i++) {
        uint64_t step;

        if (!checked_mul((uint64_t)t->dims[i] - 1, (uint64_t)v->stride[i], &step) ||
            !checked_add(*last, step, last))
            return false;
    }
    return true;
}

/* Fills t and view from the arguments of a call. Returns NULL, or why the tensor cannot
 * be read. */
static const char *parse_tensor(const struct pth *p, const struct pickle_value *args,
                                const struct rebuild *how, struct safetensors_tensor *t,
                                struct pth_view *view)
{
    const struct pickle_value *offset = pickle_item(args, 1);
    int64_t first, have;
    uint64_t elements, last;
    size_t each;
    int strides;

    view->storage = pth_file_storage(&p->file, pickle_item(args, 0), &first);
    if (!view->storage)
        return "has no storage of a type that we know, or one of more than 2^40 elements";
    t->dtype = view->storage->dtype;
    if (how->dtype && !dtype_of(pickle_item(args, (size_t)how->dtype), &t->dtype))
        return "has an unknown dtype";
    each = safetensors_dtype_size(t->dtype);
    have = view->storage->n;
    if (view->storage->untyped)
        have /= (int64_t)each;
    else if (t->dtype != view->storage->dtype)
        return "has another dtype than its storage";
    t->ndim = numbers(pickle_item(args, 2), t->dims);
    strides = numbers(pickle_item(args, 3), view->stride);
    if (t->ndim == -2 || strides == -2)
        return "has a negative dimension or stride";
    if (t->ndim < 0 || strides != t->ndim)
        return "has no shape, or more than 8 dimensions";
    if (!offset || offset->kind != PICKLE_INT ||
        __builtin_add_overflow(offset->number, first, &view->offset) ||
        view->offset < 0 || !extent(t, view, &elements, &last) ||
        elements > (uint64_t)have ||
        !checked_within((uint64_t)view->offset, elements ? last + 1 : 0, (uint64_t)have))
        return "lies outside of its storage";
    t->size = (uint64_t)elements * each;
    return NULL;
}

/* ---- finding the state dict ---- */

/* True if v is a whole module, or another object that only Python can construct. */
static bool only_python(const struct pickle_value *v)
{
    const struct rebuild *how;

    return v->kind == PICKLE_OBJECT && !tensor_call(v, &how);
}

static bool has_tensors(const struct pickle_value *d)
{
    const struct rebuild *how;

    for (size_t i = 0; d && d->kind == PICKLE_DICT && i < d->item.n; i += 2)
        if (pickle_text(d->item.v[i]) && tensor_call(d->item.v[i + 1], &how))
            return true;
    return false;
}

/* For training by self-distillation (DINO, iBOT), returns the teacher, which is the
 * average of the student, or without `ema` the student. Returns NULL unless both
 * exist. */
static const struct pickle_value *of_pair(struct pth *p, bool ema)
{
    const struct pickle_value *root = p->file.object.root,
                              *student = pickle_get(root, "student"),
                              *teacher = pickle_get(root, "teacher");

    if (!has_tensors(student) || !has_tensors(teacher))
        return NULL;
    p->part = ema ? "teacher" : "student";
    return ema ? teacher : student;
}

static const struct pickle_value *state_dict(struct pth *p, bool ema)
{
    static const char *const key[] = {"state_dict_ema", "model_ema", "state_dict",
                                      "model", "module"};
    const struct pickle_value *root = p->file.object.root, *v;

    p->part = "";
    for (size_t i = ema ? 0 : 2; i < sizeof(key) / sizeof(key[0]); i++) {
        v = pickle_get(root, key[i]);
        if (!v || (v->kind != PICKLE_DICT && !only_python(v)))
            continue;
        p->part = key[i];
        return v;
    }
    v = of_pair(p, ema);
    return v ? v : root;
}

/* Returns the only dict of tensors in d, whatever its name, or d if there is none.
 * Returns NULL and a reason if there are several. */
static const struct pickle_value *
only_state_dict(struct pth *p, const struct pickle_value *d, struct strbuf *why)
{
    const struct pickle_value *found = d;

    for (size_t i = 0; i < d->item.n; i += 2) {
        const char *name = pickle_text(d->item.v[i]);

        if (!name || !has_tensors(d->item.v[i + 1]))
            continue;
        if (found != d) {
            (void)input_refuse(
                &p->file.in, why,
                "no state dict: both '%s' and '%s' hold tensors: save only "
                "one of them",
                p->part, name);
            return NULL;
        }
        found = d->item.v[i + 1];
        p->part = name;
    }
    return found;
}

/* Returns the function that builds a tensor of an unsupported kind (sparse, quantized),
 * or NULL. */
static const char *torch_object(const struct pickle_value *v)
{
    const char *name;

    if (v->kind == PICKLE_TUPLE) /* packed: a quantized tensor and its bias */
        v = pickle_item(v, 0);
    name = v && v->kind == PICKLE_OBJECT ? pickle_global(pickle_item(v, 0)) : NULL;
    return name && !strncmp(name, "torch.", 6) ? name : NULL;
}

static int add_tensor(struct pth *p, const char *name, const struct pickle_value *v,
                      struct strbuf *why)
{
    struct safetensors_tensor *t = &p->tensor[p->n];
    const struct rebuild *how = NULL;
    const struct pickle_value *args = tensor_call(v, &how);
    const char *wrong;

    if (!args)
        return torch_object(v) ? input_refuse(&p->file.in, why,
                                              "'%s' is made by '%s', which is not read",
                                              name, torch_object(v))
                               : 0;
    wrong = parse_tensor(p, args, how, t, &p->view[p->n]);
    if (!wrong && strmap_has(&p->index, name))
        wrong = "is there twice";
    if (wrong)
        return input_refuse(&p->file.in, why, "tensor '%s' %s", name, wrong);
    t->name = xstrdup(name);
    strmap_put(&p->index, name, t);
    p->n++;
    p->bytes += t->size;
    return p->bytes <= pth_file_limit(&p->file)
               ? 0
               : input_refuse(&p->file.in, why,
                              "its tensors would take more than %d times its size: too "
                              "many share a storage",
                              PTH_FILE_TIMES);
}

/* Appends the class of an object: "torch.nn.modules.container.Sequential". */
static void add_class(struct strbuf *s, const struct pickle_value *object)
{
    const struct pickle_value *class = pickle_item(object, 0);
    const char *name;

    if (class && class->kind == PICKLE_REF) /* ('module', class, file, source) */
        class = pickle_item(pickle_item(class, 0), 1);
    name = pickle_global(class);
    strbuf_addstr(s, name ? name : "unnamed");
    for (char *c = s->buf; (c = strchr(c, ' '));)
        *c = '.';
}

/* True if d is an optimizer's state_dict(). */
static bool is_optimizer(const struct pickle_value *d)
{
    return pickle_get(d, "state") && pickle_get(d, "param_groups");
}

/* Appends a description of d, which is not a dict of tensors. */
static void add_what(struct strbuf *s, const struct pickle_value *d)
{
    static const char *const kinds[] = {
        [PICKLE_LIST] = "a list",
        [PICKLE_TUPLE] = "a tuple",
        [PICKLE_TEXT] = "a text",
        [PICKLE_OBJECT] = "a single tensor",
    };
    size_t n = sizeof(kinds) / sizeof(kinds[0]), shown = 0;

    if (d->kind != PICKLE_DICT) {
        strbuf_addstr(s, d->kind < n && kinds[d->kind] ? kinds[d->kind] : "a number");
        return;
    }
    strbuf_addstr(s, is_optimizer(d) ? "the state of an optimizer, without weights"
                                     : "it has no tensors");
    for (size_t i = 0; !is_optimizer(d) && i < d->item.n; i += 2) {
        const char *key = pickle_text(d->item.v[i]);

        if (!key || ++shown > 5)
            continue;
        strbuf_addf(s, "%s '%s'%s", shown > 1 ? "," : ", only", key,
                    is_optimizer(d->item.v[i + 1]) ? " (of an optimizer)" : "");
    }
    strbuf_addstr(s, shown > 5 ? ", ..." : "");
}

static int refuse(const struct pth *p, const struct pickle_value *d, struct strbuf *why)
{
    struct strbuf what = STRBUF_INIT;
    int rc;

    if (only_python(d)) {
        add_class(&what, d);
        rc = input_refuse(&p->file.in, why,
                          "a whole Python object (%s): torch.save(model.state_dict(), "
                          "...) makes a file to read",
                          what.buf);
    } else {
        add_what(&what, d);
        rc = input_refuse(&p->file.in, why, "no state dict: %s", what.buf);
    }
    strbuf_release(&what);
    return rc;
}

static int find_tensors(struct pth *p, bool ema, struct strbuf *why)
{
    const struct pickle_value *d = state_dict(p, ema);

    if (d->kind != PICKLE_DICT)
        return refuse(p, d, why);
    if (d == p->file.object.root && !has_tensors(d))
        d = only_state_dict(p, d, why);
    if (!d)
        return -1;
    p->tensor = xcalloc(d->item.n / 2 + 1, sizeof(*p->tensor));
    p->view = xcalloc(d->item.n / 2 + 1, sizeof(*p->view));
    for (size_t i = 0; i < d->item.n; i += 2) {
        const char *name = pickle_text(d->item.v[i]);

        if (name && add_tensor(p, name, d->item.v[i + 1], why))
            return -1;
    }
    return 0;
}

int pth_open(struct pth *p, const char *path, bool ema, struct strbuf *why)
{
    *p = (struct pth){.part = ""};
    if (pth_file_open(&p->file, path, why) || find_tensors(p, ema, why))
        return -1;
    return p->n ? 0 : refuse(p, state_dict(p, ema), why);
}

int pth_open_bytes(struct pth *p, const char *path, void *data, uint64_t size,
                   struct strbuf *why)
{
    *p = (struct pth){.part = ""};
    return pth_file_open_bytes(&p->file, path, data, size, why) ||
                   find_tensors(p, false, why)
               ? -1
               : 0;
}

void pth_close(struct pth *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->tensor[i].name);
    free(p->tensor);
    free(p->view);
    strmap_release(&p->index);
    pth_file_close(&p->file);
    *p = (struct pth){0};
}

/* ---- reading ---- */

static bool row_major(const struct safetensors_tensor *t, const struct pth_view *v)
{
    uint64_t stride = 1;

    for (int i = t->ndim; i-- > 0;) {
        if (t->dims[i] > 1 && (uint64_t)v->stride[i] != stride)
            return false;
        stride *= (uint64_t)t->dims[i];
    }
    return true;
}

/* Copies elements of `each` bytes from a strided view to row-major order. The stride of a
 * dimension of size 1 may be any number: it is added and subtracted again, modulo
 * 2^64. */
static void gather(const struct safetensors_tensor *t, const struct pth_view *v,
                   size_t each, const char *src, char *dst)
{
    int64_t pos[SAFETENSORS_MAX_DIMS] = {0};
    uint64_t place = 0;

    for (uint64_t done = 0; done < t->size; done += each) {
        memcpy(dst + done, src + place * each, each);
        for (int i = t->ndim; i-- > 0;) {
            place += (uint64_t)v->stride[i];
            if (++pos[i] < t->dims[i])
                break;
            place -= (uint64_t)v->stride[i] * (uint64_t)t->dims[i];
            pos[i] = 0;
        }
    }
}

int pth_read(const struct pth *p, const struct safetensors_tensor *t, void *data,
             struct strbuf *why)
{
    const struct pth_view *v = &p->view[t - p->tensor];
    size_t each = safetensors_dtype_size(t->dtype);
    uint64_t first = (uint64_t)v->offset * each;
    uint64_t elements, last;
    size_t span;
    char *src;
    int rc;

    if (row_major(t, v))
        return pth_file_read(&p->file, v->storage, first, t->size, data, why);
    (void)extent(t, v, &elements, &last);
    span = elements ? (last + 1) * each : 0;
    src = xmalloc(span + 1);
    rc = pth_file_read(&p->file, v->storage, first, span, src, why);
    if (!rc)
        gather(t, v, each, src, data);
    free(src);
    return rc;
}
