/*
 * Descriptors: a type, its attributes as set, and whether it is finalized. As in cuDNN, a
 * descriptor that is referenced by another one lives until both are destroyed.
 */
#ifndef EMULATOR_CUDNN_DESCRIPTOR_H
#define EMULATOR_CUDNN_DESCRIPTOR_H

#include <cudnn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph; /* graph.h */
struct plan;  /* plan.h */

struct attribute {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t count;
    void *data; /* count elements; holds references to descriptors */
};

struct descriptor {
    uint32_t magic;
    int holders;
    cudnnBackendDescriptorType_t type;
    bool finalized;
    struct attribute attributes[32];
    int nattribute;
    struct graph *graph;         /* of OPERATIONGRAPH; owned */
    struct plan *plan;           /* of EXECUTION_PLAN; a reference */
    const struct engine *engine; /* of ENGINE, ENGINECFG: in the table of plan.c */
};

struct descriptor *descriptor_new(cudnnBackendDescriptorType_t type);
void descriptor_hold(struct descriptor *d);
void descriptor_drop(struct descriptor *d);

/* True if d is a live descriptor. Wild and destroyed pointers are detected if their
 * memory is readable. */
bool descriptor_alive(const struct descriptor *d);

/* Copies `src` and finalizes d. */
void descriptor_assign(struct descriptor *d, const struct descriptor *src);

cudnnStatus_t descriptor_set(struct descriptor *d, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, int64_t count,
                             const void *values);

/* Returns the attribute, or NULL if it was not set. */
const struct attribute *descriptor_get(const struct descriptor *d,
                                       cudnnBackendAttributeName_t name);

/* Returns one value, or `otherwise` if it was not set. */
int64_t descriptor_int(const struct descriptor *d, cudnnBackendAttributeName_t name,
                       int64_t otherwise);
double descriptor_number(const struct descriptor *d, cudnnBackendAttributeName_t name,
                         double otherwise);
bool descriptor_true(const struct descriptor *d, cudnnBackendAttributeName_t name);
struct descriptor *descriptor_of(const struct descriptor *d,
                                 cudnnBackendAttributeName_t name);

/* Integers or fractions (rounded down), at most max; returns their number. */
int descriptor_ints(const struct descriptor *d, cudnnBackendAttributeName_t name, int max,
                    int64_t *out);

/* finalize.c: checks a descriptor and makes it usable. */
cudnnStatus_t descriptor_finalize(struct descriptor *d);

#endif
