/*
 * Which attributes a descriptor has, with their types and how many elements. Stricter
 * than the library where that lets a slip pass (it takes nine tensors for one).
 */
#ifndef EMULATOR_CUDNN_SCHEMA_H
#define EMULATOR_CUDNN_SCHEMA_H

#include <cudnn.h>
#include <stdbool.h>
#include <stddef.h>

enum schema_rule {
    SCHEMA_OPTIONAL,
    SCHEMA_NEEDED,   /* finalize refuses without it */
    SCHEMA_READ_ONLY /* only the library sets it */
};

struct schema {
    cudnnBackendDescriptorType_t descriptor;
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type, other; /* two types may be allowed */
    int max;                                 /* elements */
    enum schema_rule rule;
    cudnnBackendDescriptorType_t of; /* of a descriptor: its type */
};

bool schema_known(cudnnBackendDescriptorType_t type);

/* NULL if the descriptor has no such attribute. */
const struct schema *schema_find(cudnnBackendDescriptorType_t descriptor,
                                 cudnnBackendAttributeName_t name);

/* The first attribute that is needed from *at on, or NULL; *at moves on. */
const struct schema *schema_needed(cudnnBackendDescriptorType_t descriptor, size_t *at);

size_t schema_size(cudnnBackendAttributeType_t type); /* bytes of one element */

#endif
