/*
 * The GPUs of this machine, for `trainc devices` and for opening one. The driver applies
 * CUDA_VISIBLE_DEVICES: indices count the visible GPUs.
 */
#ifndef CUDA_GPUS_H
#define CUDA_GPUS_H

#include "base/strbuf.h"
#include "cuda/description.h"

struct gpu {
    struct description what; /* released by gpu_release */
    size_t free;             /* bytes; 0: not queried */
    char pci[32];            /* "0000:1b:00.0" */
};

/* Returns the number of GPUs; if it is 0, `why` gets the reason in one line. */
int gpu_count(struct strbuf *why);

/*
 * Reads the properties of GPU `index`. With `memory`, also its free memory, which starts
 * the driver on it. Returns false with the reason in `why`.
 */
bool gpu_read(struct gpu *g, int index, bool memory, struct strbuf *why);
void gpu_release(struct gpu *g);

/* Versions of the driver (0 if there is none) and of the runtime: 13000 is 13.0. */
int gpu_driver_version(void);
int gpu_runtime_version(void);

#endif
