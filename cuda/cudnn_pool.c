/* Descriptors and their errors (cuda/cudnn_lib.h). */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "cuda/cudnn_lib.h"

static void note_failure(struct cudnn_pool *p, cudnnStatus_t status, const char *what)
{
    char text[360] = "";

    if (!status || p->status)
        return;
    p->status = status;
    p->c->GetLastErrorString(text, sizeof(text));
    (void)snprintf(p->message, sizeof(p->message), "%s: %s", what,
                   *text ? text : p->c->GetErrorString(status));
}

void cudnn_pool_release(struct cudnn_pool *p)
{
    while (p->n > 0)
        (void)p->c->BackendDestroyDescriptor(p->desc[--p->n]);
    free(p->desc);
    *p = (struct cudnn_pool){.c = p->c};
}

cudnnBackendDescriptor_t cudnn_new(struct cudnn_pool *p, cudnnBackendDescriptorType_t t)
{
    cudnnBackendDescriptor_t d = NULL;

    if (p->status)
        return NULL;
    note_failure(p, p->c->BackendCreateDescriptor(t, &d), "descriptor");
    if (p->status)
        return NULL;
    GROW(p->desc, p->n, p->cap);
    p->desc[p->n++] = d;
    return d;
}

void cudnn_set(struct cudnn_pool *p, cudnnBackendDescriptor_t d,
               cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
               int64_t n, const void *values)
{
    char what[40];

    if (p->status)
        return;
    (void)snprintf(what, sizeof(what), "attribute %d", (int)name);
    note_failure(p, p->c->BackendSetAttribute(d, name, type, n, values), what);
}

void cudnn_set_desc(struct cudnn_pool *p, cudnnBackendDescriptor_t d,
                    cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value)
{
    cudnn_set(p, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

void cudnn_set_int(struct cudnn_pool *p, cudnnBackendDescriptor_t d,
                   cudnnBackendAttributeName_t name, int64_t value)
{
    cudnn_set(p, d, name, CUDNN_TYPE_INT64, 1, &value);
}

bool cudnn_finalize(struct cudnn_pool *p, cudnnBackendDescriptor_t d, const char *what)
{
    if (!p->status)
        note_failure(p, p->c->BackendFinalize(d), what);
    return !p->status;
}

char *cudnn_get_text(struct cudnn *c, cudnnBackendDescriptor_t d,
                     cudnnBackendAttributeName_t name)
{
    int64_t n = 0;
    char *text;

    if (c->BackendGetAttribute(d, name, CUDNN_TYPE_CHAR, 0, &n, NULL) || n <= 0)
        return NULL;
    text = xcalloc(1, (size_t)n + 1);
    if (!c->BackendGetAttribute(d, name, CUDNN_TYPE_CHAR, n, &n, text))
        return text;
    free(text);
    return NULL;
}
