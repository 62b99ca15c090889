/*
 * Pending work: operations, the streams that queue them, the captures that record them,
 * and the resulting graphs.
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
    void (*release)(void *arg); /* frees what arg holds; may be NULL */
    int references;
    bool host;   /* a host function, which must not touch device memory */
    bool kernel; /* counted as a launch */
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

/* The point that cudaEventRecord marks, outside of captures. */
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
    struct capture *capture; /* capture that records the stream, */
    struct nodes last;       /* after these */
};

struct CUevent_st {
    bool polled;
    struct mark *mark;
    struct capture *capture; /* recorded in a capture, */
    struct nodes last;       /* after these */
};

/* All streams except the legacy one (NULL). */
extern cudaStream_t stream_list;

bool stream_valid(cudaStream_t s);
bool stream_captures(cudaStream_t s);
/* Takes ownership of the operation: runs it, queues it, or adds it to a graph. */
cudaError_t stream_submit(cudaStream_t s, struct operation *o);
void stream_drain(cudaStream_t s);   /* runs all queued work */
void stream_drain_all(void);         /* of the current device */
int stream_device(cudaStream_t s);

/* ---- capture.c ---- */

struct capture {
    struct capture *next; /* list of active captures */
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
/* A call that breaks the captures of all threads. */
cudaError_t capture_break_all(cudaError_t e);
cudaError_t capture_break(struct capture *c, cudaError_t e);
struct capture *capture_take(struct capture *c); /* adds a reference */
void capture_drop(struct capture *c);            /* accepts NULL */
void stream_leave(cudaStream_t s);               /* leaves its capture */
cudaError_t capture_add(cudaStream_t s, struct operation *o);

void nodes_add(struct nodes *dst, int node);
void nodes_merge(struct nodes *dst, const struct nodes *src);
void nodes_release(struct nodes *n);

/* ---- graph.c ---- */

struct CUgraph_st *emulated_graph_new(void);
void emulated_graph_free(struct CUgraph_st *g);
int emulated_graph_add(struct CUgraph_st *g, struct operation *o,
                       const struct nodes *after);
/* True if every node of the graph precedes one of these. */
bool emulated_graph_joined(const struct CUgraph_st *g, const struct nodes *last);

#endif
