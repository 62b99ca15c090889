/*
 * Heap memory that cannot fail: on exhaustion the program dies with the requested size.
 * All blocks, including aligned ones, are freed with free().
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size); /* zeroed */
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t len);
void *xmemdup(const void *p, size_t size);
__attribute__((format(printf, 1, 2))) char *xasprintf(const char *fmt, ...);

/* Zeroed, aligned to 64 bytes (a cache line and an AVX-512 register). */
void *xalloc_aligned(size_t size);

/*
 * Between alloc_forbid(true) and alloc_forbid(false) an allocation by this thread, ours
 * or a library's, is a BUG; cpu_parallel() passes the state on to its threads. Debug
 * builds only (make DEBUG=1); otherwise nothing is checked. Returns the previous state,
 * for code that must allow one call.
 */
bool alloc_forbid(bool forbid);

/*
 * Makes room for one more element of a growing array: `n` used, `cap` allocated.
 *
 *   GROW(v->item, v->n, v->cap);  v->item[v->n++] = x;
 */
#define GROW(array, n, cap)                                                              \
    do {                                                                                 \
        if ((size_t)(n) >= (size_t)(cap)) {                                              \
            (cap) = (cap) ? (cap)*2 : 8;                                                 \
            (array) = xrealloc((array), (size_t)(cap) * sizeof(*(array)));               \
        }                                                                                \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif
