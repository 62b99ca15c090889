/*
 * A backend is a table: how to open a device, its memory, and its kernels, best first.
 * `struct device` is the backend's own; the graph only passes it through.
 */
#ifndef GRAPH_BACKEND_H
#define GRAPH_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "graph/kernel.h"
#include "graph/lanes.h"

struct jpeg_device;
struct strbuf;

/* All zero is what tests take: exact, nothing kept on disk. */
struct device_options {
    int index;               /* cuda:N */
    int threads;             /* CPU threads; 0: all */
    const char *description; /* a device that is not here: its name or JSON file; NULL */

    /* GPUs alone */
    bool grouped;       /* others train with it: their library takes memory, too */
    /* the keys CUDNN.* and CUDA.* */
    bool tf32;          /* fp32 GEMMs and convolutions may use TF32 */
    bool deterministic; /* no engine whose result changes from run to run */
    bool benchmark;     /* time the candidates instead of believing the heuristic */
    bool apart;         /* convolutions and layer norms alone, not what is beside them */
    bool eager;         /* do not capture programs */
    size_t workspace;   /* largest workspace of one engine, bytes; 0: 256 MiB */
    const char *cache;  /* folder for plans and choices; NULL or "": none */
};

/* How often the host has waited for the device: `sync` until nothing was left to do,
 * `await` for one event, while later work went on. */
struct device_waits {
    int64_t sync, await;
};

struct device_memory {
    size_t total, free; /* of the whole device, now */
    size_t held, peak;  /* by alloc(), now and at the highest */
    size_t library;     /* what the driver and libraries have taken for this program,
                         * and others since it began (the driver only says what is
                         * free; see session/fit.h); 0 if `shared` */
    bool shared;        /* others have given memory back: nobody knows who took what */
    size_t reserve;     /* what they are going to take beyond that */
};

/*
 * Loops that only move memory of the device: the floor of what kernels can do.
 * `streamed`: by non-temporal stores.
 */
struct backend_moves {
    void (*copy)(const struct device *dev, void *to, const void *from, size_t size,
                 bool streamed);
    void (*read)(const struct device *dev, const void *from, size_t size);
    void (*fill)(const struct device *dev, void *to, size_t size, bool streamed);
    double (*bandwidth)(struct device *dev); /* bytes per second of a large copy */
};

/*
 * What the device can do at the most, from its clocks and widths: bytes/s of its memory,
 * FLOP/s (a multiply-add is two) of plain fp32 and of tensor cores, whose 16-bit and TF32
 * products are summed in fp32. 0: it has none.
 */
struct device_limits {
    double bandwidth, fp32, half, tf32;
};

/*
 * Processes with such a device each, which their library can tie together where nothing
 * else does. `open` meets the others at address ("host:port") and dies if it cannot;
 * reduce() and tell() are of host memory and wait: n numbers of 64 bits, int64_t or double,
 * become their sums or the largest ones, bytes those of rank 0.
 */
struct backend_link {
    const char *name;
    void *(*open)(int index, int world, int rank, const char *address);
    void (*reduce)(void *link, void *x, int64_t n, bool doubles, bool largest);
    void (*tell)(void *link, void *x, int64_t bytes);
    void (*close)(void *link);
};

struct backend {
    const char *name; /* DEVICE */
    const char *help;

    /* False: this machine cannot; `why` gets one line. NULL: every machine can. */
    bool (*available)(int index, struct strbuf *why);
    /* What there is of it and with which versions, as lines or as one JSON object; NULL:
     * describe() says all. */
    void (*report)(struct strbuf *s, bool json);
    /* The names of devices that open() knows though they are not here, one by one, NULL
     * at the end; it takes a JSON file, too. NULL: it takes no descriptions. */
    const char *(*described)(int i);
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
    /* False: memory is the host's, and what there is of it is not asked. May be NULL. */
    bool (*memory)(struct device *dev, struct device_memory *m);

    /* False: not known. NULL: the same. */
    bool (*limits)(const struct device *dev, struct device_limits *l);

    /* Its decoder of JPEGs, good until it is closed; false and a reason: it has none. NULL:
     * the same. */
    bool (*jpeg)(struct device *dev, struct jpeg_device *to, struct strbuf *why);

    /* While on, claims decide without timing candidates on the device. False: they never
     * time any. NULL: the same. */
    bool (*hurry)(struct device *dev, bool on);
    void (*lower)(struct graph *g, struct device *dev); /* NULL: nothing to lower */
    const struct kernel *const *kernels;                /* ends with NULL */

    /*
     * Record what run() launches between begin and end, to be replayed as one. Begin
     * says false if the device is to run each step; end gives NULL if it is from now on,
     * as what was launched cannot be recorded. All NULL: it never records.
     */
    bool (*capture_begin)(struct device *dev);
    void *(*capture_end)(struct device *dev);
    void (*replay)(struct device *dev, void *captured);
    void (*capture_free)(struct device *dev, void *captured);

    /* For messages and profilers; both may be NULL. `mark`: this step of a program comes
     * now; NULL: that was the last. `range` names all that follows until its NULL. */
    void (*mark)(struct device *dev, const struct step *s, int number);
    void (*range)(struct device *dev, const char *name);

    const struct backend_moves *moves; /* for benchmarks; NULL: copies are async->copy */
    const struct backend_async *async; /* NULL: all is done when a call returns */
    const struct backend_link *link;   /* NULL: processes need MPI */
    struct device_waits (*waits)(struct device *dev); /* NULL where async is */
};

#endif
