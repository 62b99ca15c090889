/*
 * What a GPU is, in numbers: read from the driver, or from a JSON file about a GPU that
 * is not here. The keys are cuDNN's own (its device property descriptor), so one file
 * serves cuDNN's heuristics, the memory plan and the kernels' launch sizes.
 *
 *   {"deviceName":"NVIDIA H200","deviceVer":900,"multiProcessorCount":132, ...}
 *
 * Ours beside them, and optional: "memoryBusWidth", in bits.
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
    int compute; /* capability: 900 is 9.0 */
    int multiprocessors;
    size_t memory;        /* bytes, all of it */
    size_t l2;            /* bytes */
    int shared_per_block; /* bytes that a kernel may opt into */
    int threads_per_multiprocessor;
    double clock, memory_clock; /* Hz, at the highest; 0: not told */
    int memory_width;           /* of the memory's bus, bits; 0: not told */
    char *json;                 /* the whole text, for cuDNN; owned */
};

/* What the user may set about libraries; from the keys CUDNN.*. */
struct cuda_options {
    bool tf32;          /* fp32 GEMMs and convolutions may use TF32 */
    bool deterministic; /* no engine whose result changes from run to run */
    bool benchmark;     /* time the candidates instead of believing the heuristic */
    bool apart;         /* convolutions and layer norms without what is beside them */
    size_t workspace;   /* largest workspace of an engine, bytes */
    const char *cache;  /* folder for plans; "": none */
};

/*
 * `source` is the name of a built-in description ("h200") or a JSON file: one object, or
 * what `trainc devices --json` prints, of which the first GPU is taken. Dies with the
 * file's name and what is wrong.
 */
const char *description_name(int i); /* of the built-in ones; NULL: beyond the last */
void description_read(struct description *d, const char *source);
void description_release(struct description *d);

#ifdef __cplusplus
}
#endif

#endif
