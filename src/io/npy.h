/*
 * NumPy's .npy (one array) and .npz (a zip of arrays): format version 1.0 of
 * numpy/lib/_format_impl.py, row-major, little endian, uncompressed in .npz. Writing is
 * atomic. Returns -1 with the reason, including the path, in `why` on errors.
 */
#ifndef IO_NPY_H
#define IO_NPY_H

#include <stdint.h>

#include "base/strbuf.h"

enum { NPY_DIMS = 4 };

#define NPY_MARK "# trainc\n" /* end of trainc's headers: a Python comment */

struct npy_array {
    const char *name; /* in .npz, without .npy */
    int text;         /* bytes per element for text; 0: float */
    int ndim;
    int64_t dim[NPY_DIMS];
    const void *data;
};

int npy_write(const char *path, const struct npy_array *a, struct strbuf *why);
int npz_write(const char *path, const struct npy_array *a, int n, struct strbuf *why);

#endif
