#include "tests/emulator/cudnn/descriptor.h"

#include <stdlib.h>
#include <string.h>

#include "tests/emulator/cudnn/error.h"
#include "tests/emulator/cudnn/graph.h"
#include "tests/emulator/cudnn/plan.h"
#include "tests/emulator/cudnn/schema.h"

enum { MAGIC = 0x6e6e6475, GONE = 0x656e6f67 };

static void *allocate(size_t size)
{
    void *p = calloc(1, size ? size : 1);

    if (!p)
        abort();
    return p;
}

struct descriptor *descriptor_new(cudnnBackendDescriptorType_t type)
{
    struct descriptor *d = allocate(sizeof(*d));

    d->magic = MAGIC;
    d->holders = 1;
    d->type = type;
    return d;
}

bool descriptor_alive(const struct descriptor *d)
{
    return d && (uintptr_t)d % _Alignof(struct descriptor) == 0 && d->magic == MAGIC;
}

void descriptor_hold(struct descriptor *d)
{
    d->holders++;
}

static void attribute_release(struct attribute *a)
{
    struct descriptor **held = a->data;

    for (int64_t i = 0; a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < a->count; i++)
        descriptor_drop(held[i]);
    free(a->data);
}

static void release(struct descriptor *d)
{
    for (int i = 0; i < d->nattribute; i++)
        attribute_release(&d->attributes[i]);
    d->nattribute = 0;
    free(d->graph);
    d->graph = NULL;
    plan_free(d->plan);
    d->plan = NULL;
}

void descriptor_drop(struct descriptor *d)
{
    if (--d->holders > 0)
        return;
    release(d);
    d->magic = GONE;
    free(d);
}

static void attribute_copy(struct attribute *dst, cudnnBackendAttributeName_t name,
                           cudnnBackendAttributeType_t type, int64_t count,
                           const void *values)
{
    size_t size = schema_size(type) * (size_t)count;

    *dst = (struct attribute){name, type, count, allocate(size)};
    memcpy(dst->data, values, size);
    for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++)
        descriptor_hold(((struct descriptor **)dst->data)[i]);
}

void descriptor_assign(struct descriptor *d, const struct descriptor *src)
{
    release(d);
    for (int i = 0; i < src->nattribute; i++) {
        const struct attribute *a = &src->attributes[i];

        attribute_copy(&d->attributes[i], a->name, a->type, a->count, a->data);
    }
    d->nattribute = src->nattribute;
    d->engine = src->engine;
    d->finalized = true;
}

const struct attribute *descriptor_get(const struct descriptor *d,
                                       cudnnBackendAttributeName_t name)
{
    for (int i = 0; i < d->nattribute; i++)
        if (d->attributes[i].name == name)
            return &d->attributes[i];
    return NULL;
}

/* Descriptors among the values must be alive, finalized, and of the right type. */
static cudnnStatus_t check_linked(const struct schema *s, int64_t count,
                                  const void *values)
{
    struct descriptor *const *d = values;

    for (int64_t i = 0; i < count; i++) {
        if (!d[i])
            return BAD("attribute %d: descriptor %lld is NULL", (int)s->name,
                       (long long)i);
        if (!descriptor_alive(d[i]))
            return BAD("attribute %d: %p is not a living descriptor", (int)s->name,
                       (void *)d[i]);
        if (!d[i]->finalized)
            return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                          "attribute %d: the descriptor is not finalized", (int)s->name);
        if (s->name == CUDNN_ATTR_OPERATIONGRAPH_OPS) {
            int n;

            if (!graph_roles((int)d[i]->type, &n))
                return BAD("a descriptor of type %d is not an operation",
                           (int)d[i]->type);
        } else if (d[i]->type != s->referenced)
            return refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                          "attribute %d wants a descriptor of type %d, not %d",
                          (int)s->name, (int)s->referenced, (int)d[i]->type);
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t descriptor_set(struct descriptor *d, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, int64_t count,
                             const void *values)
{
    const struct schema *s = schema_find(d->type, name);
    cudnnStatus_t bad = CUDNN_STATUS_SUCCESS;
    struct attribute *attribute;

    if (d->finalized)
        return BAD("attribute %d is set after finalize", (int)name);
    if (!s || s->rule == SCHEMA_READ_ONLY)
        return BAD("a descriptor of type %d takes no attribute %d", (int)d->type,
                   (int)name);
    if (type != s->type && type != s->other)
        return refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
                      "attribute %d has type %d, not %d", (int)name, (int)s->type,
                      (int)type);
    if (count < 1 || count > s->max)
        return BAD("attribute %d takes 1 to %d elements, not %lld", (int)name, s->max,
                   (long long)count);
    if (!values)
        return BAD("attribute %d: no values", (int)name);
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        bad = check_linked(s, count, values);
    if (bad)
        return bad;
    attribute = (struct attribute *)(uintptr_t)descriptor_get(d, name);
    if (attribute)
        attribute_release(attribute);
    else
        attribute = &d->attributes[d->nattribute++];
    attribute_copy(attribute, name, type, count, values);
    return CUDNN_STATUS_SUCCESS;
}

double descriptor_number(const struct descriptor *d, cudnnBackendAttributeName_t name,
                         double otherwise)
{
    const struct attribute *a = descriptor_get(d, name);

    if (!a)
        return otherwise;
    if (a->type == CUDNN_TYPE_FLOAT)
        return (double)*(const float *)a->data;
    return *(const double *)a->data;
}

int64_t descriptor_int(const struct descriptor *d, cudnnBackendAttributeName_t name,
                       int64_t otherwise)
{
    const struct attribute *a = descriptor_get(d, name);

    if (!a)
        return otherwise;
    if (a->type == CUDNN_TYPE_INT64)
        return *(const int64_t *)a->data;
    return *(const int32_t *)a->data; /* the enumerations */
}

bool descriptor_true(const struct descriptor *d, cudnnBackendAttributeName_t name)
{
    const struct attribute *a = descriptor_get(d, name);

    return a && *(const bool *)a->data;
}

struct descriptor *descriptor_of(const struct descriptor *d,
                                 cudnnBackendAttributeName_t name)
{
    const struct attribute *a = descriptor_get(d, name);

    return a ? *(struct descriptor *const *)a->data : NULL;
}

int descriptor_ints(const struct descriptor *d, cudnnBackendAttributeName_t name, int max,
                    int64_t *out)
{
    const struct attribute *a = descriptor_get(d, name);
    int n = 0;

    for (; a && n < a->count && n < max; n++) {
        const cudnnFraction_t *f = (const cudnnFraction_t *)a->data + n;

        if (a->type == CUDNN_TYPE_FRACTION)
            out[n] = f->denominator ? f->numerator / f->denominator : 0;
        else
            out[n] = ((const int64_t *)a->data)[n];
    }
    return n;
}
