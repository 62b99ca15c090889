#include "onnx/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/strmap.h"
#include "base/version.h"
#include "onnx/onnx.pb-c.h"

enum {
    OPSET = 17,          /* the first with LayerNormalization */
    IR_VERSION = 8,      /* of the release with OPSET */
    ATTRIBUTES = 8,      /* maximum per node */
    MAX_SIZE = INT32_MAX /* protobuf's maximum message size in bytes */
};

struct onnx {
    struct arena mem;
    struct strmap names; /* used names of values and initializers */
    const char *layer;   /* prefix of new nodes' names */
    Onnx__ModelProto model;
    Onnx__GraphProto graph;
    size_t node_cap, init_cap, meta_cap;
};

struct arena *onnx_arena(struct onnx *x)
{
    return &x->mem;
}

/* Creates a message in the arena; `init` is its protobuf-c initializer. */
#define MESSAGE(x, TYPE, init) make((x), &(const TYPE)init, sizeof(TYPE))

static void *make(struct onnx *x, const void *initial, size_t size)
{
    return arena_copy(&x->mem, initial, size);
}

static char *text(struct onnx *x, const char *s)
{
    return arena_strdup(&x->mem, s);
}

struct onnx *onnx_new(const char *name)
{
    struct onnx *x = xcalloc(1, sizeof(*x));
    Onnx__OperatorSetIdProto **set =
        arena_new(&x->mem, sizeof(Onnx__OperatorSetIdProto *));

    onnx__model_proto__init(&x->model);
    onnx__graph_proto__init(&x->graph);
    *set = MESSAGE(x, Onnx__OperatorSetIdProto, ONNX__OPERATOR_SET_ID_PROTO__INIT);
    (*set)->domain = text(x, "");
    (*set)->has_version = true;
    (*set)->version = OPSET;
    x->graph.name = text(x, name);
    x->model.has_ir_version = true;
    x->model.ir_version = IR_VERSION;
    x->model.producer_name = text(x, "trainc");
    x->model.producer_version = text(x, TRAINC_VERSION);
    x->model.graph = &x->graph;
    x->model.n_opset_import = 1;
    x->model.opset_import = set;
    x->layer = "";
    return x;
}

void onnx_free(struct onnx *x)
{
    free(x->graph.node);
    free(x->graph.initializer);
    free(x->model.metadata_props);
    strmap_release(&x->names);
    arena_release(&x->mem);
    free(x);
}

void onnx_layer(struct onnx *x, const char *layer)
{
    x->layer = text(x, layer);
}

/* Returns an unused name: layer/op, or layer/op_N. */
static char *fresh(struct onnx *x, const char *op)
{
    char *name = arena_printf(&x->mem, "%s/%s", x->layer, op);

    for (int i = 1; strmap_has(&x->names, name); i++)
        name = arena_printf(&x->mem, "%s/%s_%d", x->layer, op, i);
    strmap_put(&x->names, name, NULL);
    return name;
}

const char *onnx_node(struct onnx *x, const char *op, const char *const *in)
{
    Onnx__NodeProto *n = MESSAGE(x, Onnx__NodeProto, ONNX__NODE_PROTO__INIT);

    while (in[n->n_input])
        n->n_input++;
    n->input = arena_new(&x->mem, (n->n_input + 1) * sizeof(*n->input));
    for (size_t i = 0; i < n->n_input; i++)
        n->input[i] = text(x, in[i]);
    n->n_output = 1;
    n->output = arena_new(&x->mem, sizeof(*n->output));
    n->output[0] = fresh(x, op);
    n->name = n->output[0];
    n->op_type = text(x, op);
    n->attribute = arena_new(&x->mem, ATTRIBUTES * sizeof(*n->attribute));
    GROW(x->graph.node, x->graph.n_node, x->node_cap);
    x->graph.node[x->graph.n_node++] = n;
    return n->output[0];
}

static Onnx__AttributeProto *attribute(struct onnx *x, const char *name,
                                       Onnx__AttributeProto__AttributeType type)
{
    Onnx__NodeProto *n = x->graph.node[x->graph.n_node - 1];
    Onnx__AttributeProto *a =
        MESSAGE(x, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);

    if (n->n_attribute == ATTRIBUTES)
        BUG("'%s' has too many attributes", n->name);
    a->name = text(x, name);
    a->has_type = true;
    a->type = type;
    n->attribute[n->n_attribute++] = a;
    return a;
}

void onnx_int(struct onnx *x, const char *name, int64_t value)
{
    Onnx__AttributeProto *a =
        attribute(x, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);

    a->has_i = true;
    a->i = value;
}

void onnx_ints(struct onnx *x, const char *name, int n, const int64_t *value)
{
    Onnx__AttributeProto *a =
        attribute(x, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);

    a->n_ints = (size_t)n;
    a->ints = arena_copy(&x->mem, value, (size_t)n * sizeof(*value));
}

void onnx_float(struct onnx *x, const char *name, float value)
{
    Onnx__AttributeProto *a =
        attribute(x, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);

    a->has_f = true;
    a->f = value;
}

void onnx_string(struct onnx *x, const char *name, const char *value)
{
    Onnx__AttributeProto *a =
        attribute(x, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);

    a->has_s = true;
    a->s.data = (uint8_t *)text(x, value);
    a->s.len = strlen(value);
}

static size_t element_size(int type)
{
    switch (type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
        return 8;
    case ONNX_FLOAT:
    case ONNX_INT32:
        return 4;
    default:
        return 1;
    }
}

static const char *initializer(struct onnx *x, const char *name, int type, int ndim,
                               const int64_t *dim, const void *data)
{
    Onnx__TensorProto *t = MESSAGE(x, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);
    union { /* protobuf-c lacks const, although packing only reads */
        const void *given;
        uint8_t *kept;
    } bytes = {data};
    int64_t len = 1;

    if (strmap_has(&x->names, name))
        BUG("two initializers '%s'", name);
    for (int i = 0; i < ndim; i++)
        len *= dim[i];
    t->name = text(x, name);
    t->n_dims = (size_t)ndim;
    t->dims = ndim ? arena_copy(&x->mem, dim, (size_t)ndim * sizeof(*dim)) : NULL;
    t->has_data_type = true;
    t->data_type = type;
    t->has_raw_data = true;
    t->raw_data.len = (size_t)len * element_size(type);
    t->raw_data.data = bytes.kept;
    strmap_put(&x->names, t->name, NULL);
    GROW(x->graph.initializer, x->graph.n_initializer, x->init_cap);
    x->graph.initializer[x->graph.n_initializer++] = t;
    return t->name;
}

const char *onnx_tensor(struct onnx *x, const char *name, enum onnx_type type, int ndim,
                        const int64_t *dim, const void *data)
{
    return initializer(x, name, (int)type, ndim, dim, data);
}

const char *onnx_int64s(struct onnx *x, int n, const int64_t *value)
{
    const char *name = "const";
    int64_t dim = n;

    for (int i = 0; i < n; i++)
        name = arena_printf(&x->mem, "%s_%lld", name, (long long)value[i]);
    if (strmap_has(&x->names, name))
        return name;
    return initializer(x, name, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 1, &dim,
                       arena_copy(&x->mem, value, (size_t)n * sizeof(*value)));
}

const char *onnx_scalar(struct onnx *x, float value)
{
    const char *name = arena_printf(&x->mem, "const_f%.9g", (double)value);

    if (strmap_has(&x->names, name))
        return name;
    return initializer(x, name, ONNX_FLOAT, 0, NULL,
                       arena_copy(&x->mem, &value, sizeof(value)));
}

const char *onnx_zero_byte(struct onnx *x, bool is_unsigned)
{
    static const int8_t zero;
    const char *name = is_unsigned ? "const_u8_0" : "const_i8_0";

    if (strmap_has(&x->names, name))
        return name;
    return initializer(x, name, is_unsigned ? ONNX_UINT8 : ONNX_INT8, 0, NULL, &zero);
}

static Onnx__TensorShapeProto *shape(struct onnx *x, int ndim, const int64_t *dim)
{
    Onnx__TensorShapeProto *s =
        MESSAGE(x, Onnx__TensorShapeProto, ONNX__TENSOR_SHAPE_PROTO__INIT);

    s->n_dim = (size_t)ndim;
    s->dim = arena_new(&x->mem, (size_t)ndim * sizeof(*s->dim));
    for (int i = 0; i < ndim; i++) {
        s->dim[i] = MESSAGE(x, Onnx__TensorShapeProto__Dimension,
                            ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT);
        s->dim[i]->value_case = i ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE
                                  : ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        if (i)
            s->dim[i]->dim_value = dim[i];
        else
            s->dim[i]->dim_param = text(x, "batch");
    }
    return s;
}

/* Returns name and shape of an input or output of the graph, as the one-element array
 * that the message requires. */
static Onnx__ValueInfoProto **info(struct onnx *x, const char *name, int ndim,
                                   const int64_t *dim)
{
    Onnx__ValueInfoProto **v = arena_new(&x->mem, sizeof(Onnx__ValueInfoProto *));
    Onnx__TypeProto__Tensor *t =
        MESSAGE(x, Onnx__TypeProto__Tensor, ONNX__TYPE_PROTO__TENSOR__INIT);

    t->has_elem_type = true;
    t->elem_type = ONNX_FLOAT;
    t->shape = shape(x, ndim, dim);
    *v = MESSAGE(x, Onnx__ValueInfoProto, ONNX__VALUE_INFO_PROTO__INIT);
    (*v)->name = text(x, name);
    (*v)->type = MESSAGE(x, Onnx__TypeProto, ONNX__TYPE_PROTO__INIT);
    (*v)->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    (*v)->type->tensor_type = t;
    return v;
}

void onnx_input(struct onnx *x, const char *name, int ndim, const int64_t *dim)
{
    x->graph.n_input = 1;
    x->graph.input = info(x, name, ndim, dim);
    strmap_put(&x->names, name, NULL);
}

void onnx_output(struct onnx *x, const char *src, const char *name, int ndim,
                 const int64_t *dim)
{
    x->graph.n_output = 1;
    x->graph.output = info(x, name, ndim, dim);
    for (size_t i = 0; i < x->graph.n_node; i++)
        if (!strcmp(x->graph.node[i]->output[0], src))
            x->graph.node[i]->output[0] = x->graph.output[0]->name;
}

void onnx_meta(struct onnx *x, const char *key, const char *value)
{
    Onnx__StringStringEntryProto *e =
        MESSAGE(x, Onnx__StringStringEntryProto, ONNX__STRING_STRING_ENTRY_PROTO__INIT);

    e->key = text(x, key);
    e->value = text(x, value);
    GROW(x->model.metadata_props, x->model.n_metadata_props, x->meta_cap);
    x->model.metadata_props[x->model.n_metadata_props++] = e;
}

int onnx_write(const struct onnx *x, const char *path, struct strbuf *why)
{
    size_t size = onnx__model_proto__get_packed_size(&x->model);
    uint8_t *data;
    int err;

    if (size > MAX_SIZE) {
        strbuf_addf(why, "'%s': %zu bytes, and protobuf ends at 2 GiB", path, size);
        return -1;
    }
    data = xmalloc(size);
    onnx__model_proto__pack(&x->model, data);
    err = atomic_write_file(path, data, size);
    if (err)
        strbuf_addf(why, "cannot write '%s': %s", path, strerror(errno));
    free(data);
    return err;
}
