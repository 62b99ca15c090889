/*
 * The attributes of each descriptor, with their types and numbers of elements. Stricter
 * than the library where it misses a mistake (it accepts nine tensors for one).
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
    cudnnBackendDescriptorType_t referenced; /* type of the referenced descriptor */
};

bool schema_known(cudnnBackendDescriptorType_t type);

/* Returns NULL if the descriptor has no such attribute. */
const struct schema *schema_find(cudnnBackendDescriptorType_t descriptor,
                                 cudnnBackendAttributeName_t name);

/* Returns the next required attribute from *at on and advances *at, or returns NULL. */
const struct schema *schema_needed(cudnnBackendDescriptorType_t descriptor, size_t *pos);

size_t schema_size(cudnnBackendAttributeType_t type); /* bytes per element */

#endif
