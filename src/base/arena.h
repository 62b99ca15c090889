/*
 * A bump allocator for many small objects with the same lifetime: nodes, tensors, names.
 *
 *   struct arena a = {0};
 *   struct node *n = arena_new(&a, sizeof(*n));
 *   arena_release(&a);
 *
 * Memory is zeroed and aligned to 16 bytes. Single objects are never freed.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_block *block; /* the newest; older ones are linked from it */
};

void *arena_new(struct arena *a, size_t size);
void *arena_copy(struct arena *a, const void *p, size_t size);
char *arena_strdup(struct arena *a, const char *s);
__attribute__((format(printf, 2, 3))) char *arena_printf(struct arena *a, const char *fmt,
                                                         ...);
void arena_release(struct arena *a);

#endif
