/*
 * A backend is a table: how to open a device, its memory, and its kernels, best first.
 * `struct device` is the backend's own; the graph only passes it through.
 */
#ifndef GRAPH_BACKEND_H
#define GRAPH_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "graph/kernel.h"

struct device_options {
    int index;               /* cuda:N */
    int threads;             /* CPU threads; 0: all */
    const char *description; /* a device that is not here: its JSON file, or NULL */
};

struct backend {
    const char *name; /* "cpu", "ref", "cuda" */
    const char *help;

    struct device *(*open)(const struct device_options *o); /* dies if it cannot */
    void (*close)(struct device *dev);
    bool (*has_dtype)(struct device *dev, enum dtype d); /* fast in hardware */
    enum dtype preferred_half; /* AMP.DTYPE auto; used if has_dtype says so */
    /* One line: "2 threads, AVX-512 BF16, oneDNN 2.6.3". */
    const char *(*describe)(struct device *dev);

    void *(*alloc)(struct device *dev, size_t size); /* zeroed, 64-byte aligned */
    void (*free)(struct device *dev, void *p);
    void (*copy_in)(struct device *dev, void *dst, const void *host, size_t size);
    void (*copy_out)(struct device *dev, void *host, const void *src, size_t size);
    void (*sync)(struct device *dev);
    size_t (*peak_memory)(struct device *dev); /* bytes of alloc() at the highest */

    void (*lower)(struct graph *g, struct device *dev); /* NULL: nothing to lower */
    const struct kernel *const *kernels;                /* ends with NULL */

    /* Record everything run() launches between begin and end; NULL: run each step. */
    void (*capture_begin)(struct device *dev);
    void *(*capture_end)(struct device *dev);
    void (*replay)(struct device *dev, void *captured);
    void (*capture_free)(struct device *dev, void *captured);
};

#endif
