/*
 * Work that is not run yet: operations, the streams that queue them, the captures that
 * record them, and the graphs that come of these.
 */
#ifndef EMULATOR_WORK_H
#define EMULATOR_WORK_H

#include "tests/emulator/internal.h"

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
