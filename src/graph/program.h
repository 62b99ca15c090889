/*
 * A program: the flat list of steps into which a graph is compiled, over one planned
 * arena.
 *
 *   struct program *p = program_compile(g, &backend_cpu, dev, &opts);
 *   program_need(p, MEMORY_ARENA)            bytes to allocate, for every memory
 *   program_bind(p, base);                   base[MEMORY_COUNT]; resolves all pointers
 *   program_refresh(p);                      after weights were loaded or rebound
 *   program_run(p);                          allocates nothing, does not wait for the host
 *   program_free(p);                         before the graph and the device
 *
 * Compilation allocates no tensor memory: arena size, lower bound, and claims can be
 * printed for a device that is not installed. Programs that never run at the same time
 * may share an arena.
 *
 * A backend that can capture does so from the second run on: the first runs step by step
 * (libraries load their kernels then), later ones replay the recording for this binding.
 * A program that alternates between a few bindings is recorded once for each. Callers see
 * no difference, and results are equal bit for bit.
 */
#ifndef GRAPH_PROGRAM_H
#define GRAPH_PROGRAM_H

#include "graph/backend.h"
#include "graph/graph.h"

struct region {
    const struct kernel *kernel;
    struct node *anchor, **node; /* taken nodes, graph order after the claim pass */
    int nnode, node_cap;
    struct node **copy; /* duplicated nodes */
    int ncopy, copy_cap;
    struct tensor **read, **write;
    int nread, read_cap, nwrite, write_cap;
    int *inplace; /* for each write, the read whose memory it may reuse, or -1 */
    int *derived, nderived, derived_cap;
    size_t workspace;
    void *state;
    int order; /* position in the program, set by the schedule pass */
    struct program *program;
};

/* Why a kernel did not claim a node: for summary, and for the error if none does. */
struct decline {
    const struct node *node;
    const struct kernel *kernel;
    const char *reason;
};

struct compile_options {
    /* Another program on the same weights, whose derived buffers are refreshed together
     * with this one's (gradient accumulation). */
    struct program *share;
    bool keep_declines;
    bool redzones; /* see below, DEBUG.REDZONES; debug builds (-DDEBUG): always */
};

/*
 * Memory checkers see the arena as one block, so an access beyond a tensor hits another
 * tensor unnoticed. Redzones surround each live tensor of the arena with NaN, so that a
 * stray read gives NaN; the first run waits for the device after each step and checks
 * that the NaN are intact (BUG). Costs 2 REDZONE bytes of the arena and two copies per
 * tensor and run.
 */
enum { REDZONE = 256 };

struct redzone {
    const struct tensor *tensor;
    size_t offset, size;
    int first, last; /* steps in which it is live */
};

/* The launches of one binding of a program, recorded by the backend. */
struct capture {
    void *what;                                      /* NULL: free */
    void *base[MEMORY_COUNT], *shared[MEMORY_COUNT]; /* of p->share */
    int64_t used;                                    /* number of the run that last
                                                      * replayed it */
};

enum { PROGRAM_CAPTURES = 4 }; /* maximum recorded bindings */

struct program {
    struct graph *graph;
    const struct backend *backend;
    struct device *device;
    struct region **region; /* claimed regions in execution order */
    int nregion, region_cap;
    struct step *step; /* one for each region */
    struct derived *derived;
    int nderived, derived_cap;
    struct program *share;
    struct decline *decline;
    int ndecline, decline_cap;
    size_t need[MEMORY_COUNT];
    size_t lower_bound; /* of the arena: maximum bytes live at once */
    struct redzone *redzone;
    int nredzone, redzone_cap;
    bool redzones;
    int refresh_at;     /* derived buffers are packed before this step */
    void *base[MEMORY_COUNT];
    bool bound;
    int64_t runs;
    struct capture capture[PROGRAM_CAPTURES];
    void (*trace)(const struct program *p, int step, double seconds, void *arg);
    void *trace_arg;
};

/* Dies if no kernel claims a node, with the node, its shapes, and every reason. */
struct program *program_compile(struct graph *g, const struct backend *backend,
                                struct device *dev, const struct compile_options *o);
void program_free(struct program *p);

size_t program_need(const struct program *p, enum memory m);
void program_bind(struct program *p, void *const base[MEMORY_COUNT]);
void program_refresh(struct program *p);
void program_run(struct program *p);

/*
 * Tracing wraps the loop over the steps, which are then never replayed: calls `fn` after
 * each with its seconds. Debug builds (-DDEBUG) also assert that no step allocates.
 */
void program_trace(struct program *p,
                   void (*fn)(const struct program *p, int step, double seconds,
                              void *arg),
                   void *arg);

/* Returns the pointer of a bound tensor. */
void *program_data(const struct program *p, const struct tensor *t);

#endif
