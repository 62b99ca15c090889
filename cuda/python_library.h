/* Libraries in NVIDIA's Python packages, which PyTorch installs. */
#ifndef CUDA_PYTHON_LIBRARY_H
#define CUDA_PYTHON_LIBRARY_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns the path of nvidia/PACKAGE/lib/`soname` in the packages of a Python
 * environment, on the heap, or NULL. The environments, in order: VIRTUAL_ENV,
 * CONDA_PREFIX, that of each python3 in PATH, the user's own (~/.local). Python is not
 * run.
 */
char *python_library(const char *soname);

#ifdef __cplusplus
}
#endif

#endif
