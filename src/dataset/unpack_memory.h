/*
 * An allocator for protobuf-c, whose unpack functions return NULL both for damaged
 * messages and if memory runs out. This allocator records which.
 *
 *   struct unpack_memory m = unpack_memory(&failed);
 *   message = trainc__example__unpack(&m.allocator, len, data);
 *   if (!message) return unpack_failure(&m, "the record is not a tf.train.Example", why);
 *   trainc__example__free_unpacked(message, NULL);
 *
 * free_unpacked() needs no allocator, since memory comes from malloc.
 */
#ifndef DATASET_UNPACK_MEMORY_H
#define DATASET_UNPACK_MEMORY_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "base/strbuf.h"

struct unpack_memory {
    ProtobufCAllocator allocator;
    bool *failed; /* set if malloc returns NULL */
};

/* Clears *failed, which must outlive the result. */
struct unpack_memory unpack_memory(bool *failed);

/* Returns FAILURE_MACHINE if memory ran out, else FAILURE_DATA with the reason
 * `damaged`. */
int unpack_failure(const struct unpack_memory *m, const char *damaged,
                   struct strbuf *why);

#endif
