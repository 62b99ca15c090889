/*
 * Memory for messages that protobuf-c unpacks. It returns NULL for a damaged message and
 * where memory is missing; this allocator knows which.
 *
 *   struct unpack_memory m = unpack_memory(&failed);
 *   message = trainc__example__unpack(&m.allocator, len, data);
 *   if (!message) return unpack_failure(&m, "the record is no tf.train.Example", why);
 *   trainc__example__free_unpacked(message, NULL);
 *
 * free_unpacked() needs no allocator: memory comes from malloc.
 */
#ifndef DATASET_UNPACK_MEMORY_H
#define DATASET_UNPACK_MEMORY_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "base/strbuf.h"

struct unpack_memory {
    ProtobufCAllocator allocator;
    bool *failed; /* set where malloc returns NULL */
};

/* `failed` is cleared; it must live as long as the result. */
struct unpack_memory unpack_memory(bool *failed);

/* FAILURE_MACHINE if memory was missing; else FAILURE_DATA with the reason `damaged`. */
int unpack_failure(const struct unpack_memory *m, const char *damaged,
                   struct strbuf *why);

#endif
