/*
 * What the parts of the emulated runtime share:
 *
 *   block.c    runs a launch              fiber.c   its threads
 *   shared.c   shared memory              memory.c  device and pinned memory, copies
 *   stream.c   streams and events         capture.c captures of streams
 *   graph.c    graphs                     copy.c    copies and fills
 *   device.c   what the device is         error.c   error codes, settings, counters
 *   launch.c   launches                   libraries.c which cuDNN is opened
 *
 * Calls of the runtime hold one lock; what they run, they run on the calling thread.
 */
#ifndef EMULATOR_INTERNAL_H
#define EMULATOR_INTERNAL_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/emulator/block.h"
#include "tests/emulator/counters.h"

/* ---- error.c ---- */

enum order { ORDER_FORWARD, ORDER_REVERSE, ORDER_SHUFFLE };

struct settings {
    enum order order;
    uint64_t seed;
    bool ahead;    /* a warp goes on as far as it can before another one does */
    bool lazy;     /* streams run when somebody waits */
    bool busy;     /* who only asks brings nothing on, however often */
    bool protect;  /* host code that touches device memory crashes */
    size_t memory; /* of the device, bytes */
    size_t cache;  /* its second one, bytes */
    int multiprocessors;
};

extern struct settings emulator_settings; /* after emulator_lock */
extern struct emulator_counters emulator_counters;

void emulator_lock(void); /* as often as one likes */
void emulator_unlock(void);

/* Our own "no": one line on stderr, then abort. */
__attribute__((format(printf, 1, 2), noreturn)) void emulator_abort(const char *fmt, ...);

/* Unlocks, remembers the error for cudaGetLastError, and gives it. */
cudaError_t emulator_return(cudaError_t e);

/* Element i of 0..n-1 in the order that is set; `salt` varies what shuffle does. */
struct permutation {
    unsigned n, step, first;
};
struct permutation permutation(unsigned n, uint64_t salt);
static inline unsigned permuted(const struct permutation *p, unsigned i)
{
    return (unsigned)(((uint64_t)p->step * i + p->first) % p->n);
}

/* ---- device.c ---- */

int device_current(void); /* of this thread, as the program numbers them */

/* ---- libraries.c ---- */

void libraries_choose(void);

/* ---- shared.c ---- */

void *shared_dynamic(size_t size); /* that many bytes, 16-byte aligned, poisoned after */
void shared_poison(void);          /* before a block */
void shared_select(const void *function); /* the kernel whose static memory is meant */
size_t shared_static(void);               /* bytes of it */
const char *shared_kernel_symbol(void);   /* its mangled name, or "" */

/* ---- block.c ---- */

void block_run_launch(const emulator_launch_t *l, const void *closure);
void block_check_pointers(const emulator_launch_t *l);
const char *block_kernel(void); /* the one that runs, or NULL */

/* ---- memory.c ---- */

/* The live device or pinned memory around p: its bytes from p on; 0: there is none. */
size_t memory_device(const void *p);
size_t memory_pinned(const void *p);
bool memory_freed(const void *p);     /* was device memory once */
int memory_device_of(const void *p); /* whose memory it is; -1: nobody's */
void memory_open(void);           /* device memory may be touched, until ... */
void memory_close(void);

/* ---- stream.c ---- */

/* A piece of work: run(arg), with arg copied after it. */
struct operation {
    struct operation *next; /* in a stream */
    const char *name;
    void (*run)(void *arg);
    void (*release)(void *arg); /* of what arg holds; may be NULL */
    int references;
    bool host;   /* a function of the host: may not touch device memory */
    bool kernel; /* to be counted as a launch */
    _Alignas(16) unsigned char arg[];
};

struct operation *operation_new(const char *name, void (*run)(void *arg), const void *arg,
                                size_t size);
void operation_drop(struct operation *o);
void operation_run(struct operation *o);

/* Nodes of a graph, by index. */
struct nodes {
    int *index;
    int n, cap;
};

/* The moment that cudaEventRecord names, outside of captures. */
struct mark {
    int references;
    bool done;
    cudaStream_t stream;
    double time;
};

struct CUstream_st {
    cudaStream_t next;
    int device;
    bool blocking; /* with the legacy stream */
    struct operation *head, **tail;
    struct capture *capture; /* what the stream is recorded into, */
    struct nodes last;       /* after these */
};

struct CUevent_st {
    bool polled;
    struct mark *mark;
    struct capture *capture; /* recorded in a capture, */
    struct nodes last;       /* after these */
};

/* All streams but the legacy one, which NULL stands for. */
extern cudaStream_t stream_list;

bool stream_valid(cudaStream_t s);
bool stream_captures(cudaStream_t s);
/* Takes the operation over: runs it, queues it or adds it to a graph. */
cudaError_t stream_submit(cudaStream_t s, struct operation *o);
void stream_drain(cudaStream_t s); /* runs all that is queued */
void stream_drain_all(void);         /* of the current device */
int stream_device(cudaStream_t s);

/* ---- capture.c ---- */

struct capture {
    struct capture *next; /* of those that are not ended */
    int references;
    struct CUgraph_st *graph;
    cudaStream_t origin;
    enum cudaStreamCaptureMode mode;
    unsigned long thread;
    unsigned long long id;
    bool broken, ended;
};

/* An unsafe call such as cudaMalloc: breaks the captures that forbid it. */
cudaError_t capture_forbids(void);
/* A call that no capture of any thread bears. */
cudaError_t capture_break_all(cudaError_t e);
cudaError_t capture_break(struct capture *c, cudaError_t e);
struct capture *capture_take(struct capture *c); /* one more reference */
void capture_drop(struct capture *c);            /* NULL is fine */
void stream_leave(cudaStream_t s);               /* its capture */
cudaError_t capture_add(cudaStream_t s, struct operation *o);

void nodes_add(struct nodes *to, int node);
void nodes_merge(struct nodes *to, const struct nodes *from);
void nodes_release(struct nodes *n);

/* ---- graph.c ---- */

struct CUgraph_st *emulated_graph_new(void);
void emulated_graph_free(struct CUgraph_st *g);
int emulated_graph_add(struct CUgraph_st *g, struct operation *o,
                       const struct nodes *after);
/* Does everything in the graph come before one of these? */
bool emulated_graph_joined(const struct CUgraph_st *g, const struct nodes *last);

#endif
