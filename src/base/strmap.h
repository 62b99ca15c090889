/*
 * A hash map from strings to pointers. Keys are copied; values belong to the caller.
 * Iteration is in insertion order:  for (size_t i = 0; i < m.n; i++) m.entry[i].key ...
 */
#ifndef BASE_STRMAP_H
#define BASE_STRMAP_H

#include <stddef.h>

struct strmap {
    struct strmap_entry {
        char *key;
        void *value;
        size_t hash;
    } * entry;
    size_t n, cap;
    size_t *slot, nslot; /* open addressing: index + 1 into entry, 0 is free */
};

void *strmap_get(const struct strmap *m, const char *key); /* returns NULL if it is
                                                            * absent */
int strmap_has(const struct strmap *m, const char *key);
void strmap_put(struct strmap *m, const char *key, void *value); /* replaces an
                                                                  * existing value */
void strmap_release(struct strmap *m);

#endif
