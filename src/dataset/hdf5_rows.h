/*
 * The datasets of an HDF5 file, one sample per row. All functions require hdf5_lock.
 * Private to src/dataset.
 */
#ifndef DATASET_HDF5_ROWS_H
#define DATASET_HDF5_ROWS_H

#include "dataset/hdf5_library.h"
#include "dataset/samples.h"

/* id < 0: absent. */
struct rows {
    hdf5_id id;
    int rank;
    hdf5_size dims[4];
    bool files;    /* rows are encoded files of variable length, not pixels */
    bool bytes;    /* elements are unsigned bytes */
    bool variable; /* strings have variable length */
    int kind;      /* type class; for variable-length types, that of the elements */
    size_t size;   /* bytes per element */
};

/* Returns -1 and a reason if the name exists but cannot be opened as a dataset. If it
 * does not exist, r->id is < 0. */
int rows_open(const struct hdf5_library *lib, hdf5_id file, const char *name,
              struct rows *r, struct strbuf *why);

/* Appends a description such as "[120, 3, 32, 32] of floats". */
void rows_describe(const struct rows *r, struct strbuf *dst);

/* Returns -1 and a reason if libhdf5 lacks a filter that the rows are compressed with. */
int rows_check_filters(const struct hdf5_library *lib, const struct rows *r,
                       const char *name, struct strbuf *why);

/* Reads row i to `dst`, which has room for its elements or, if r->files, is a struct
 * hdf5_bytes. Returns a failure and a reason. */
int rows_read(const struct hdf5_library *lib, const struct rows *r, uint64_t i,
              hdf5_id type, void *dst, struct strbuf *why);

/* Returns the failure of the last library call, from its error stack. */
int rows_failure(const struct hdf5_library *lib, struct strbuf *why);

/* ---- hdf5_labels.c ---- */

/* True if the rows are the classes of n samples: numbers or strings ([n], [n, 1], ...),
 * or one-hot rows ([n, classes] of numbers or booleans). */
bool labels_fit(const struct rows *r, hdf5_size n);

/* Sets the labels of n samples at `dst`; marks samples with an invalid label as damaged.
 * Returns a failure and a reason. */
int labels_read(const struct hdf5_library *lib, const struct rows *r, struct samples *s,
                struct sample *dst, uint64_t n, struct strbuf *why);

#endif
