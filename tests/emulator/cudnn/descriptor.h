/*
 * Descriptors: a type, its attributes as they were set, and whether it is finalized. A
 * descriptor that another one refers to lives until both are destroyed, as in cuDNN.
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
    void *data; /* count elements; descriptors are held */
};

struct descriptor {
    uint32_t magic;
    int holders;
    cudnnBackendDescriptorType_t type;
    bool finalized;
    struct attribute attributes[32];
    int nattribute;
    struct graph *graph;         /* OPERATIONGRAPH; owned */
    struct plan *plan;           /* EXECUTION_PLAN; held */
    const struct engine *engine; /* ENGINE, ENGINECFG: of the table in plan.c */
};

struct descriptor *descriptor_new(cudnnBackendDescriptorType_t type);
void descriptor_hold(struct descriptor *d);
void descriptor_drop(struct descriptor *d);

/* Is that a living descriptor? Wild and destroyed ones are found as long as the memory
 * can be read. */
bool descriptor_alive(const struct descriptor *d);

/* Becomes what `from` is, finalized. */
void descriptor_assign(struct descriptor *d, const struct descriptor *from);

cudnnStatus_t descriptor_set(struct descriptor *d, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, int64_t count,
                             const void *values);

/* The attribute, or NULL if it was not set. */
const struct attribute *descriptor_get(const struct descriptor *d,
                                       cudnnBackendAttributeName_t name);

/* One value, or `otherwise` if it was not set. */
int64_t descriptor_int(const struct descriptor *d, cudnnBackendAttributeName_t name,
                       int64_t otherwise);
double descriptor_number(const struct descriptor *d, cudnnBackendAttributeName_t name,
                         double otherwise);
bool descriptor_true(const struct descriptor *d, cudnnBackendAttributeName_t name);
struct descriptor *descriptor_of(const struct descriptor *d,
                                 cudnnBackendAttributeName_t name);

/* Integers or fractions (rounded down), at most max; returns how many. */
int descriptor_ints(const struct descriptor *d, cudnnBackendAttributeName_t name, int max,
                    int64_t *out);

/* finalize.c: the checks of one descriptor that make it usable. */
cudnnStatus_t descriptor_finalize(struct descriptor *d);

#endif
