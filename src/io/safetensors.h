/*
 * safetensors: named tensors in one file, for weights and checkpoints. The format is that
 * of github.com/huggingface/safetensors: u64 little-endian header length, JSON header,
 * data, row-major and little endian.
 *
 * Opening checks everything before the first tensor is returned: a header of at most
 * 100,000,000 bytes, unique names, known dtypes, shapes that match their bytes, and data
 * without gaps, overlap, or extra bytes. Functions return -1 and append a reason that
 * begins with the path, so that the caller can try an older file.
 *
 *   struct safetensors s;
 *   if (safetensors_open(&s, path, &why) || safetensors_verify(&s, &why)) ...
 *   const struct safetensors_tensor *t = safetensors_find(&s, "conv1.weight");
 *   safetensors_read(&s, t, w, &why);
 *   safetensors_close(&s);                     also after a failed open
 *
 * Writing streams: each tensor's bytes are requested once, in the order in which the
 * tensors were added, so a checkpoint needs no second copy in memory. Writing is atomic
 * (base/atomic.h); the first data byte is at a multiple of 64.
 *
 *   struct safetensors_writer w = {0};
 *   safetensors_writer_meta(&w, "epoch", "12");
 *   safetensors_writer_add(&w, "conv1.weight", SAFETENSORS_F32, 4, dims, data);
 *   if (safetensors_writer_commit(&w, path, &why)) ...       the old file is intact
 *   safetensors_writer_release(&w);
 *
 * Checksum: our files have the metadata key "xxh3", 16 hexadecimal digits: XXH3-64 of the
 * whole file, header included, with these digits read as zeros.
 */
#ifndef IO_SAFETENSORS_H
#define IO_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/strmap.h"
#include "io/input.h"

enum safetensors_dtype {
    SAFETENSORS_BOOL,
    SAFETENSORS_U8,
    SAFETENSORS_I8,
    SAFETENSORS_F8_E5M2,
    SAFETENSORS_F8_E4M3,
    SAFETENSORS_U16,
    SAFETENSORS_I16,
    SAFETENSORS_F16,
    SAFETENSORS_BF16,
    SAFETENSORS_U32,
    SAFETENSORS_I32,
    SAFETENSORS_F32,
    SAFETENSORS_U64,
    SAFETENSORS_I64,
    SAFETENSORS_F64,
    SAFETENSORS_C64,
    SAFETENSORS_DTYPES
};

enum { SAFETENSORS_MAX_DIMS = 8 };

struct safetensors_tensor {
    char *name;
    enum safetensors_dtype dtype;
    int ndim; /* 0: scalar */
    int64_t dims[SAFETENSORS_MAX_DIMS];
    uint64_t offset, size; /* in bytes; offset: from the first data byte */
};

const char *safetensors_dtype_name(enum safetensors_dtype dtype); /* "BF16" */
size_t safetensors_dtype_size(enum safetensors_dtype dtype);      /* bytes */

struct safetensors {
    struct input in;
    struct safetensors_tensor *tensor; /* in the order of the data */
    size_t n;
    struct strmap meta;  /* values are char *; the file's __metadata__ */
    struct strmap index; /* name -> tensor */
    char *header;
    uint64_t header_size, data_size;
};

int safetensors_open(struct safetensors *s, const char *path, struct strbuf *why);
void safetensors_close(struct safetensors *s);

/* Return NULL if there is no such tensor or key. Results are valid until close. */
const struct safetensors_tensor *safetensors_find(const struct safetensors *s,
                                                  const char *name);
const char *safetensors_meta(const struct safetensors *s, const char *key);

/* Reads the t->size bytes of one tensor. Thread-safe. */
int safetensors_read(const struct safetensors *s, const struct safetensors_tensor *t,
                     void *data, struct strbuf *why);

/* Reads the whole file and compares the checksum. Fails if the file has none. */
int safetensors_verify(const struct safetensors *s, struct strbuf *why);

/*
 * Returns the t->size bytes of tensor `t`, valid until the next call. Called once per
 * tensor during commit, so it may reorder or convert into one scratch buffer.
 */
typedef const void *safetensors_source(const struct safetensors_tensor *t, void *arg);

struct safetensors_writer {
    struct safetensors_writer_item {
        struct safetensors_tensor tensor;
        const void *data; /* if NULL, source(arg) is called */
        safetensors_source *source;
        void *arg;
    } * item;
    size_t n, cap;
    struct strmap meta, names;
    uint64_t data_size;
};

/* Copies strings. A repeated name or key is a BUG. */
void safetensors_writer_meta(struct safetensors_writer *w, const char *key,
                             const char *value);
/* `data` must stay valid until commit. */
void safetensors_writer_add(struct safetensors_writer *w, const char *name,
                            enum safetensors_dtype dtype, int ndim, const int64_t *dims,
                            const void *data);
void safetensors_writer_add_source(struct safetensors_writer *w, const char *name,
                                   enum safetensors_dtype dtype, int ndim,
                                   const int64_t *dims, safetensors_source *source,
                                   void *arg);
int safetensors_writer_commit(const struct safetensors_writer *w, const char *path,
                              struct strbuf *why);
void safetensors_writer_release(struct safetensors_writer *w);

#endif
