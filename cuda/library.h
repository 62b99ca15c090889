/*
 * Libraries opened at run time: cuDNN, cuBLASLt, NCCL, nvJPEG. None is linked, so the
 * program starts without them, and a run only opens those that it uses (mapping each
 * takes 0.2 s or more).
 *
 * A library is searched for in this order; the first that opens is used:
 *   1. the path in TRAINC_CUDNN, TRAINC_CUBLASLT, TRAINC_NCCL or TRAINC_NVJPEG, if set, and
 *      nowhere else
 *   2. its soname, as the dynamic linker finds it (LD_LIBRARY_PATH, ldconfig)
 *   3. CUDA_HOME/lib64 and CUDA_HOME/lib (CUDA_HOME unset: /usr/local/cuda)
 *   4. the folder of the program, and its lib/
 *   5. nvidia/.../lib of a Python environment: cuda/python_library.h
 *
 * Opened libraries stay open until the program ends, because they have exit handlers and
 * threads. These functions may be called from any thread.
 */
#ifndef CUDA_LIBRARY_H
#define CUDA_LIBRARY_H

#include <stddef.h>

#include "base/strbuf.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cuda_library_id {
    CUDA_LIBRARY_CUDNN,
    CUDA_LIBRARY_CUBLASLT,
    CUDA_LIBRARY_NCCL,
    CUDA_LIBRARY_NVJPEG
};
enum { CUDA_LIBRARIES = CUDA_LIBRARY_NVJPEG + 1 };

struct cuda_library {
    const char *name; /* "cuDNN" */
    void *handle;     /* for dlsym */
    char *path;       /* path of the opened file */
    int version;      /* 91900 is 9.19.0; the same scheme for all */
    char text[320];   /* "cuDNN 9.19.0 (/usr/local/cuda/lib64/libcudnn.so.9)" */
};

/* Opens the library once. Returns NULL if that fails; `why` then gets one line with the
 * searched paths and a hint. */
const struct cuda_library *cuda_library_open(enum cuda_library_id id, struct strbuf *why);

/* Returns the address of a function; dies if the library does not have it. */
void *cuda_library_symbol(const struct cuda_library *l, const char *symbol);

const char *cuda_library_name(enum cuda_library_id id);

#ifdef __cplusplus
}
#endif

#endif
