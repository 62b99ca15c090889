/*
 * libhdf5, loaded at run time when a data set needs it. Declares only the functions that
 * trainc uses, as in the HDF5 reference manual (1.10 and later, where hid_t has 64 bits).
 *
 * DATA.DATASET hdf5 reads these datasets of a file; row i is sample i:
 *   images      encoded files (variable-length uint8), or pixels (uint8 [n, h, w, 3], or
 *               gray [n, h, w, 1] or [n, h, w])
 *   labels      classes: n numbers or strings, or one-hot rows [n, classes]
 *   label_maps  encoded files, or values (uint8 [n, h, w])
 *
 * The library is not thread-safe: all calls require hdf5_lock.
 */
#ifndef DATASET_HDF5_LIBRARY_H
#define DATASET_HDF5_LIBRARY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

typedef int64_t hdf5_id; /* hid_t; < 0: error */
typedef unsigned long long hdf5_size;

enum { HDF5_SELECT_SET = 0, HDF5_READ_ONLY = 0, HDF5_TRUNCATE = 2 };

/* H5T_class_t */
enum {
    HDF5_INTEGER,
    HDF5_FLOAT,
    HDF5_STRING = 3,
    HDF5_OPAQUE = 5,
    HDF5_ENUM = 8,
    HDF5_VLEN = 9
};

struct hdf5_bytes { /* hvl_t */
    size_t len;
    void *p;
};

struct hdf5_error { /* H5E_error2_t: an entry of the error stack */
    hdf5_id class, major, minor;
    unsigned line;
    const char *function, *file, *description;
};

struct hdf5_library {
    int (*open)(void);
    int (*get_libversion)(unsigned *major, unsigned *minor, unsigned *release);
    int (*Eset_auto2)(hdf5_id stack, void *fn, void *arg);
    int (*Ewalk2)(hdf5_id stack, int direction,
                  int (*fn)(unsigned depth, const struct hdf5_error *e, void *arg),
                  void *arg);
    hdf5_id (*Fopen)(const char *path, unsigned flags, hdf5_id access);
    hdf5_id (*Fcreate)(const char *path, unsigned flags, hdf5_id create, hdf5_id access);
    int (*Fclose)(hdf5_id file);
    int (*Lexists)(hdf5_id location, const char *name, hdf5_id access);
    hdf5_id (*Dopen2)(hdf5_id location, const char *name, hdf5_id access);
    hdf5_id (*Dcreate2)(hdf5_id location, const char *name, hdf5_id type, hdf5_id space,
                        hdf5_id link, hdf5_id create, hdf5_id access);
    hdf5_id (*Dget_space)(hdf5_id data);
    hdf5_id (*Dget_type)(hdf5_id data);
    int (*Dset_extent)(hdf5_id data, const hdf5_size *dims);
    int (*Dread)(hdf5_id data, hdf5_id type, hdf5_id mem, hdf5_id file, hdf5_id xfer,
                 void *dst);
    int (*Dwrite)(hdf5_id data, hdf5_id type, hdf5_id mem, hdf5_id file, hdf5_id xfer,
                  const void *src);
    int (*Dvlen_reclaim)(hdf5_id type, hdf5_id space, hdf5_id xfer, void *bytes);
    int (*Dclose)(hdf5_id data);
    hdf5_id (*Screate_simple)(int rank, const hdf5_size *dims, const hdf5_size *max_dims);
    int (*Sget_simple_extent_ndims)(hdf5_id space);
    int (*Sget_simple_extent_dims)(hdf5_id space, hdf5_size *dims, hdf5_size *max_dims);
    int (*Sselect_hyperslab)(hdf5_id space, int how, const hdf5_size *start,
                             const hdf5_size *stride, const hdf5_size *count,
                             const hdf5_size *block);
    int (*Sclose)(hdf5_id space);
    int (*Tget_class)(hdf5_id type);
    size_t (*Tget_size)(hdf5_id type);
    int (*Tget_sign)(hdf5_id type); /* 0: unsigned */
    hdf5_id (*Tget_super)(hdf5_id type);
    hdf5_id (*Tvlen_create)(hdf5_id type);
    int (*Tclose)(hdf5_id type);
    hdf5_id (*Pcreate)(hdf5_id kind);
    int (*Pset_chunk)(hdf5_id list, int rank, const hdf5_size *dims);
    int (*Pset_obj_track_times)(hdf5_id list, bool enabled);
    int (*Pclose)(hdf5_id list);
    hdf5_id (*Dget_create_plist)(hdf5_id data);
    int (*Pget_nfilters)(hdf5_id list);
    int (*Pget_filter2)(hdf5_id list, unsigned i, unsigned *flags, size_t *nvalue,
                        unsigned *value, size_t nname, char *name, unsigned *config);
    int (*Zfilter_avail)(int id);
    int (*Tis_variable_str)(hdf5_id type);
    hdf5_id (*Gopen2)(hdf5_id location, const char *name, hdf5_id access);
    int (*Gclose)(hdf5_id group);
    const hdf5_id *uint8, *int64, *real64,
        *dataset_create; /* variables of the library; valid after open() */
};

extern pthread_mutex_t hdf5_lock;

/* Returns NULL and a reason if the library is missing or too old. */
const struct hdf5_library *hdf5_library(struct strbuf *why);

#endif
