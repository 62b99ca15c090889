/*
 * A GPU's properties: read from the driver, or from a JSON file about a GPU that is not
 * present. The keys are cuDNN's own (its device property descriptor), so one file serves
 * cuDNN's heuristics, the memory plan, and the kernels' launch sizes.
 *
 *   {"deviceName":"NVIDIA H200","deviceVer":900,"multiProcessorCount":132, ...}
 *
 * One optional key is our own: "memoryBusWidth", in bits.
 */
#ifndef CUDA_DESCRIPTION_H
#define CUDA_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct description {
    char name[96];
    int compute; /* compute capability: 900 is 9.0 */
    int multiprocessors;
    size_t memory;        /* total bytes */
    size_t l2;            /* bytes */
    int shared_per_block; /* largest opt-in shared memory, bytes */
    int threads_per_multiprocessor;
    double clock, memory_clock; /* maximum, Hz; 0: unknown */
    int memory_width;           /* memory bus, bits; 0: unknown */
    char *json;                 /* the whole text, for cuDNN; owned */
};

/* User options for libraries, from the keys CUDNN.*. */
struct cuda_options {
    bool tf32;          /* fp32 GEMMs and convolutions may use TF32 */
    bool deterministic; /* no engines whose results change from run to run */
    bool benchmark;     /* time the candidates instead of trusting the heuristic */
    bool apart;         /* do not fuse convolutions and layer norms */
    size_t workspace;   /* largest workspace of an engine, bytes */
    const char *cache;  /* folder for plans; "": none */
};

/*
 * `source`: a built-in description ("h200") or a JSON file with one object, or with the
 * output of `trainc devices --json`, whose first GPU is used. Dies with the file's name
 * and the error.
 */
const char *description_name(int i); /* of built-in descriptions; NULL beyond the last */
void description_read(struct description *d, const char *source);
void description_release(struct description *d);

#ifdef __cplusplus
}
#endif

#endif
