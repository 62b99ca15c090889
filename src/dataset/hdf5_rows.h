/*
 * The datasets of an HDF5 file, a sample in each row. All functions are called with
 * hdf5_lock.
 *
 * Private to src/dataset.
 */
#ifndef DATASET_HDF5_ROWS_H
#define DATASET_HDF5_ROWS_H

#include "dataset/hdf5_library.h"
#include "dataset/samples.h"

/* id < 0: it is not there. */
struct rows {
    hdf5_id id;
    int rank;
    hdf5_size dims[4];
    bool files;    /* a row is an encoded file of variable length, not pixels */
    bool bytes;    /* of unsigned bytes */
    bool variable; /* strings of variable length */
    int kind;    /* class of its type, of what has variable length that of its elements */
    size_t size; /* bytes of an element */
};

/* -1 and a reason: the name is there, and no dataset that can be opened. */
int rows_open(const struct hdf5_library *lib, hdf5_id file, const char *name,
              struct rows *r, struct strbuf *why);

/* "[120, 3, 32, 32] of floats" */
void rows_describe(const struct rows *r, struct strbuf *to);

/* -1 and a reason: libhdf5 lacks a filter by which the rows are compressed. */
int rows_check_filters(const struct hdf5_library *lib, const struct rows *r,
                       const char *name, struct strbuf *why);

/* Row i into `to`: room for its elements or, if r->files, a struct hdf5_bytes. A failure
 * and a reason. */
int rows_read(const struct hdf5_library *lib, const struct rows *r, uint64_t i,
              hdf5_id type, void *to, struct strbuf *why);

/* What the last call of the library failed of, by its error stack. */
int rows_failure(const struct hdf5_library *lib, struct strbuf *why);

/* ---- hdf5_labels.c ---- */

/* True for n classes: numbers or strings ([n], [n, 1] and so on), or one-hot rows
 * ([n, classes] of numbers or booleans). */
bool labels_fit(const struct rows *r, hdf5_size n);

/* The classes of the n samples at `to`, those that are none damaged. A failure and a
 * reason. */
int labels_read(const struct hdf5_library *lib, const struct rows *r, struct samples *s,
                struct sample *to, uint64_t n, struct strbuf *why);

#endif
