/*
 * The GPUs of this machine, for `trainc devices` and for opening one.
 * CUDA_VISIBLE_DEVICES is the driver's to honour: indices count what it leaves.
 */
#ifndef CUDA_GPUS_H
#define CUDA_GPUS_H

#include "base/strbuf.h"
#include "cuda/description.h"

struct gpu {
    struct description what; /* released by gpu_release */
    size_t free;             /* bytes; 0: not asked */
    char pci[32];            /* "0000:1b:00.0" */
};

/* How many there are. None: 0, and `why` gets one line that says why. */
int gpu_count(struct strbuf *why);

/*
 * What GPU `index` is. With `memory`, its free memory too, which starts the driver on it.
 * False: `why` gets one line.
 */
bool gpu_read(struct gpu *g, int index, bool memory, struct strbuf *why);
void gpu_release(struct gpu *g);

/* Versions of the driver (0: none) and of the runtime: 13000 is 13.0. */
int gpu_driver_version(void);
int gpu_runtime_version(void);

#endif
