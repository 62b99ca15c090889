#include "pt2/lifted.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/half.h"
#include "io/pt2_file.h"

#define LIFTED "lifted" /* key in the program's text */

enum { LEN_MAX = 1 << 24 };

/* ---- from the archive ---- */

static double number(const char *cursor, enum safetensors_dtype dtype)
{
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
    } v;

    memcpy(&v, cursor, safetensors_dtype_size(dtype));
    switch (dtype) {
    case SAFETENSORS_BOOL:
        return v.u8 != 0;
    case SAFETENSORS_U8:
        return v.u8;
    case SAFETENSORS_I8:
        return v.i8;
    case SAFETENSORS_I16:
        return v.i16;
    case SAFETENSORS_I32:
        return v.i32;
    case SAFETENSORS_I64:
        return (double)v.i64;
    case SAFETENSORS_F16:
        return (double)fp16_to_float(v.u16);
    case SAFETENSORS_BF16:
        return (double)bf16_to_float(v.u16);
    case SAFETENSORS_F32:
        return (double)v.f32;
    default:
        return v.f64;
    }
}

static void add_hex(struct strbuf *dst, const void *data, size_t size)
{
    static const char digit[] = "0123456789abcdef";
    const unsigned char *b = data;

    for (size_t i = 0; i < size; i++) {
        char two[] = {digit[b[i] >> 4], digit[b[i] & 15]};

        strbuf_add(dst, two, 2);
    }
}

/* Appends n numbers; returns the name of their type. */
static const char *add_numbers(struct strbuf *dst, const double *v, size_t n)
{
    bool u16 = true, f32 = true;

    for (size_t i = 0; i < n; i++) {
        u16 = u16 && v[i] >= 0 && v[i] <= UINT16_MAX && v[i] == (double)(uint16_t)v[i];
        f32 = f32 && (v[i] != v[i] || (double)(float)v[i] == v[i]);
    }
    for (size_t i = 0; i < n; i++) {
        float f = (float)v[i];
        uint16_t u = u16 ? (uint16_t)v[i] : 0;

        if (u16)
            add_hex(dst, &u, sizeof(u));
        else if (f32)
            add_hex(dst, &f, sizeof(f));
        else
            add_hex(dst, &v[i], sizeof(v[i]));
    }
    return u16 ? "u16" : f32 ? "f32" : "f64";
}

/* Adds the tensor `name` of the file as the value `value`. */
static bool embed_one(json_t *lifted, const char *value, const struct pt2_file *f,
                      const char *name, struct strbuf *why)
{
    const struct safetensors_tensor *t = strmap_get(&f->index, name);
    size_t each = t ? safetensors_dtype_size(t->dtype) : 1, n = t ? t->size / each : 0;
    struct strbuf text = STRBUF_INIT;
    json_t *dims = json_array();
    char *data;
    double *v;
    const char *type;

    if (!t || n < 1 || n > LEN_MAX) {
        strbuf_addf(why, "the constant '%s' is missing, empty, or too large", name);
        json_decref(dims);
        return false;
    }
    data = xmalloc(t->size);
    v = xcalloc(n, sizeof(*v));
    if (pt2_file_read(f, t, data, why)) {
        json_decref(dims);
        free(data);
        free(v);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        v[i] = number(data + i * each, t->dtype);
    type = add_numbers(&text, v, n);
    for (int i = 0; i < t->ndim; i++)
        (void)json_array_append_new(dims, json_integer(t->dims[i]));
    (void)json_object_set_new(
        lifted, value,
        json_pack("{s:o, s:s, s:s}", "dims", dims, "type", type, "data", text.buf));
    strbuf_release(&text);
    free(data);
    free(v);
    return true;
}

/* Gets the names of the constant that an input of the signature is: its value, and its
 * tensor among the constants, or among the weights. */
static const char *constant_of(json_t *spec, json_t *values, const char **tensor,
                               bool *weight)
{
    json_t *buffer = json_object_get(spec, "buffer"),
           *constant = json_object_get(spec, "tensor_constant");
    const char *value = json_string_value(
        json_object_get(json_object_get(buffer ? buffer : constant, "arg"), "name"));
    json_int_t dtype = json_integer_value(
        json_object_get(json_object_get(values, value ? value : ""), "dtype"));
    bool counter, persistent = json_is_true(json_object_get(buffer, "persistent"));

    *weight = persistent;
    *tensor = json_string_value(json_object_get(
        buffer ? buffer : constant, buffer ? "buffer_name" : "tensor_constant_name"));
    counter = persistent && *tensor && strstr(*tensor, "num_batches_tracked");
    return *tensor && value && !counter && (!persistent || pt2_is_integer((int)dtype))
               ? value
               : NULL;
}

bool pt2_lifted_embed(json_t *root, const char *path, struct strbuf *why)
{
    json_t *module = json_object_get(root, "graph_module"), *spec,
           *values = json_object_get(json_object_get(module, "graph"), "tensor_values"),
           *specs = json_object_get(json_object_get(module, "signature"), "input_specs"),
           *lifted = json_object();
    struct pt2_file file[2];
    bool open[2] = {false}, ok = true;
    size_t i;

    json_array_foreach(specs, i, spec)
    {
        const char *tensor, *value;
        bool weight;

        value = constant_of(spec, values, &tensor, &weight);
        if (!ok || !value)
            continue;
        if (!open[weight]) {
            open[weight] = true;
            ok = !(weight ? pt2_file_open : pt2_file_open_constants)(&file[weight], path,
                                                                     why);
        }
        ok = ok && embed_one(lifted, value, &file[weight], tensor, why);
    }
    for (int k = 0; k < 2; k++)
        if (open[k])
            pt2_file_close(&file[k]);
    (void)json_object_set_new(root, LIFTED, lifted);
    return ok;
}

/* ---- from the text ---- */

static bool hex_digit(char c, unsigned *v)
{
    *v = c >= '0' && c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Decodes n bytes. */
static bool decode(const char *text, char *dst, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned high, low;

        if (!hex_digit(text[2 * i], &high) || !hex_digit(text[2 * i + 1], &low))
            return false;
        dst[i] = (char)(high << 4 | low);
    }
    return true;
}

static bool parse_data(struct pt2_lifted *l, const char *type, const char *text)
{
    static const struct {
        const char *name;
        enum safetensors_dtype dtype;
        size_t size;
    } types[] = {{"u16", SAFETENSORS_U8, 2},
                 {"f32", SAFETENSORS_F32, 4},
                 {"f64", SAFETENSORS_F64, 8}};
    size_t k = 0;

    while (k < 3 && strcmp(types[k].name, type) != 0)
        k++;
    if (k == 3 || strlen(text) != (size_t)l->len * types[k].size * 2)
        return false;
    for (int64_t i = 0; i < l->len; i++) {
        char raw[8];
        uint16_t u;

        if (!decode(text + (size_t)i * types[k].size * 2, raw, types[k].size))
            return false;
        memcpy(&u, raw, sizeof(u));
        l->data[i] = k == 0 ? u : number(raw, types[k].dtype);
    }
    return true;
}

static bool parse_one(struct pt2_program *p, const char *value, json_t *v)
{
    const struct pt2_meta *m = pt2_program_meta(p, value);
    json_t *dims = json_object_get(v, "dims");
    const char *type = json_string_value(json_object_get(v, "type")),
               *text = json_string_value(json_object_get(v, "data"));
    struct pt2_lifted *l = arena_new(&p->mem, sizeof(*l));
    uint64_t len;

    if (!m || !type || !text || (int)json_array_size(dims) != m->ndim)
        return false;
    for (int d = 0; d < m->ndim; d++)
        if (json_integer_value(json_array_get(dims, (size_t)d)) != m->dim[d])
            return false;
    if (!checked_array(m->dim, m->ndim, sizeof(*l->data), &len) || len < 1 ||
        len / sizeof(*l->data) > LEN_MAX)
        return false;
    l->len = (int64_t)(len / sizeof(*l->data));
    l->data = arena_new(&p->mem, len);
    strmap_put(&p->lifted, value, l);
    return parse_data(l, type, text);
}

const char *pt2_lifted_parse(struct pt2_program *p, json_t *root)
{
    const char *value;
    json_t *v;

    json_object_foreach(json_object_get(root, LIFTED), value, v)
    {
        if (!parse_one(p, value, v))
            return "a constant is not read";
    }
    return NULL;
}
