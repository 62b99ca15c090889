/*
 * NumPy's .npy, one array in a file, and .npz, a zip of them: format version 1.0 of
 * numpy/lib/_format_impl.py, row-major, little-endian, in .npz stored as they are. The
 * file appears whole or not at all. -1 with the reason, with the path, in `why`.
 */
#ifndef IO_NPY_H
#define IO_NPY_H

#include <stdint.h>

#include "base/strbuf.h"

enum { NPY_DIMS = 4 };

#define NPY_MARK "# trainc\n" /* the end of our headers: a comment in Python's terms */

struct npy_array {
    const char *name; /* in .npz, without .npy */
    int text;         /* bytes of each element, which is a text; 0: it is a float */
    int ndim;
    int64_t dim[NPY_DIMS];
    const void *data;
};

int npy_write(const char *path, const struct npy_array *a, struct strbuf *why);
int npz_write(const char *path, const struct npy_array *a, int n, struct strbuf *why);

#endif
