/*
 * A backend is a table: how to open a device, its memory, and its kernels, best first.
 * `struct device` is private to the backend; the graph only passes it through.
 */
#ifndef GRAPH_BACKEND_H
#define GRAPH_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "graph/kernel.h"
#include "graph/lanes.h"

struct jpeg_device;
struct strbuf;

/* All zero is the choice of tests: exact, nothing cached on disk. */
struct device_options {
    int index;               /* cuda:N */
    int threads;             /* CPU threads; 0: all */
    const char *kernels;     /* choices() of a checkpoint, or NULL to read `cache` */
    const char *description; /* a device that is not installed: its name or JSON file;
                              * or NULL */

    /* ---- for GPUs ---- */
    int world; /* processes or threads that train together: their library needs memory, too */
    /* keys CUDNN.* and CUDA.* */
    bool tf32;          /* fp32 GEMMs and convolutions may use TF32 */
    bool deterministic; /* the same results in each run, no choice by time; CPUs, too */
    bool benchmark;     /* time the candidates instead of using the heuristic */
    bool apart;         /* run convolutions and layer norms unfused */
    bool eager;         /* do not capture programs */
    size_t workspace;   /* largest workspace of one engine, bytes; 0: 256 MiB */
    const char *cache;  /* folder for plans and choices, also of CPUs; NULL or "": none */
};

/* How often the host has waited: `sync` until the device was idle, `await` for an event. */
struct device_waits {
    int64_t sync, await;
};

struct device_memory {
    size_t total, free; /* of the whole device, currently */
    size_t held, peak;  /* by alloc(), currently and at the peak */
    size_t library;     /* used by the driver and libraries for this program, and by
                         * other programs since it began (the driver reports only free
                         * memory; see session/fit.h); 0 if `shared` */
    bool shared;        /* other programs have freed memory: the split is unknown */
    size_t reserve;     /* what the driver and libraries will still allocate */
};

/* Loops that only move memory, a kernel's lower bound; `streamed`: non-temporal stores. */
struct backend_moves {
    void (*copy)(const struct device *dev, void *dst, const void *src, size_t size,
                 bool streamed);
    void (*read)(const struct device *dev, const void *src, size_t size);
    void (*fill)(const struct device *dev, void *dst, size_t size, bool streamed);
    double (*bandwidth)(struct device *dev); /* bytes per second of a large copy */
};

/*
 * Theoretical limits from clocks and widths: bytes/s of memory, FLOP/s (a multiply-add is
 * two) of plain fp32 and of tensor cores, whose 16-bit and TF32 products are summed in
 * fp32. 0: not available.
 */
struct device_limits {
    double bandwidth, fp32, half, tf32;
};

/*
 * Communication of processes with one such device each by the device's library, if
 * nothing else connects them. `open` connects to the others at address ("host:port") and
 * dies on failure; reduce() and broadcast() use host memory and wait: reduce() replaces n
 * 64-bit numbers, int64_t or double, by their sums or maxima, broadcast() broadcasts the bytes
 * of rank 0.
 */
struct backend_link {
    const char *name;
    void *(*open)(int index, int world, int rank, const char *address);
    void (*reduce)(void *link, void *x, int64_t n, bool doubles, bool largest);
    void (*broadcast)(void *link, void *x, int64_t bytes);
    void (*close)(void *link);
};

struct backend {
    const char *name; /* DEVICE */
    const char *help;

    /* Returns false and sets `why` if this machine cannot run it. May be NULL. */
    bool (*available)(int index, struct strbuf *why);
    /* Reports devices and versions, as lines or as one JSON object; NULL: describe() is
     * complete. */
    void (*report)(struct strbuf *s, bool json);
    /* Returns the names of devices that open() can describe without having them, one by
     * one, ended by NULL; it accepts a JSON file, too. NULL: no descriptions. */
    const char *(*described)(int i);
    struct device *(*open)(const struct device_options *o); /* dies on failure */
    void (*close)(struct device *dev);
    bool (*has_dtype)(struct device *dev, enum dtype d); /* fast in hardware */
    enum dtype preferred_half; /* for AMP.DTYPE auto, if has_dtype */
    /* Returns one line: "2 threads, AVX-512 BF16, oneDNN 2.6.3". */
    const char *(*describe)(struct device *dev);
    /* Returns measured choices of kernels that change the rounding of results, for
     * device_options.kernels of a resumed run, on the heap; NULL: none. May be NULL. */
    char *(*choices)(const struct device *dev);

    void *(*alloc)(struct device *dev, size_t size); /* zeroed, 64-byte aligned */
    void (*free)(struct device *dev, void *p);
    void (*copy_in)(struct device *dev, void *dst, const void *host, size_t size);
    void (*copy_out)(struct device *dev, void *host, const void *src, size_t size);
    void (*sync)(struct device *dev);
    size_t (*peak_memory)(struct device *dev); /* peak bytes of alloc() */
    /* Returns false if memory is the host's, whose size is not reported. May be NULL. */
    bool (*memory)(struct device *dev, struct device_memory *m);
    /* Returns false if unknown. May be NULL. */
    bool (*limits)(const struct device *dev, struct device_limits *l);
    /* Gets its JPEG decoder, valid until the device is closed; returns false with a
     * reason if there is none. May be NULL. */
    bool (*jpeg)(struct device *dev, struct jpeg_device *dst, struct strbuf *why);

    /* While on, claims decide without timing candidates on the device. Returns false if
     * they never time any. May be NULL. */
    bool (*hurry)(struct device *dev, bool enabled);
    bool folds_norms; /* its kernels of ops/norm_fold.h and of convolutions whose weights
                       * are computed are fast */
    void (*lower)(struct graph *g, struct device *dev); /* NULL if nothing is lowered */
    const struct kernel *const *kernels;                /* ended by NULL */

    /*
     * Records the launches of run() between begin and end, to be replayed as one. Begin
     * returns false if the device must run each step; end returns NULL if it must from
     * now on, because the launches cannot be recorded. All NULL: never records.
     */
    bool (*capture_begin)(struct device *dev);
    void *(*capture_end)(struct device *dev);
    void (*replay)(struct device *dev, void *captured);
    void (*capture_free)(struct device *dev, void *captured);

    /* For messages and profilers; both may be NULL. `mark`: announces the next step of a
     * program; NULL: the last one has ended. `range` names everything up to its NULL. */
    void (*mark)(struct device *dev, const struct step *s, int number);
    void (*range)(struct device *dev, const char *name);

    const struct backend_moves *moves; /* for benchmarks; NULL: copies are async->copy */
    const struct backend_async *async; /* NULL: calls are synchronous */
    const struct backend_link *link;   /* NULL: processes need MPI */
    struct device_waits (*waits)(struct device *dev); /* NULL if async is NULL */
};

#endif
