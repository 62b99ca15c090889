/*
 * The containers of torch.save: locates the pickle and the bytes of the storages that it
 * refers to.
 *
 *   zip      NAME/data.pkl, NAME/data/KEY for each storage, NAME/byteorder
 *   stream   pickles of a magic number, a version, a description of the machine, the
 *            object, and the keys of its storages; then, for each key, a 64-bit count and
 *            that many elements
 *
 * The pickle refers to a storage as ('storage', type, key, device, elements). All
 * functions append a reason that begins with the path on errors.
 */
#ifndef IO_PTH_FILE_H
#define IO_PTH_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/strmap.h"
#include "io/input.h"
#include "io/pickle.h"
#include "io/safetensors.h"

struct pth_storage {
    enum safetensors_dtype dtype;
    bool untyped;    /* elements are bytes */
    int64_t n;       /* elements */
    uint64_t offset; /* stream: offset of its first byte; zip: index of its entry */
};

struct pth_file {
    struct input in; /* for a zip: owned by the archive */
    struct zip *zip; /* NULL for a stream */
    char *folder;    /* zip: "NAME/" */
    struct pickle object;
    uint64_t inflated;     /* zip: bytes of the compressed storages */
    struct strmap storage; /* key -> struct pth_storage */
};

/*
 * Limits the inflated size of compressed storages, and the size of all tensors, to this
 * many times the file's size plus 64 MiB, so that a small file cannot expand to a large
 * one.
 */
enum { PTH_FILE_TIMES = 16 };
uint64_t pth_file_limit(const struct pth_file *f);

int pth_file_open(struct pth_file *f, const char *path, struct strbuf *why);
/* The same for a zip archive in memory, which it frees. */
int pth_file_open_bytes(struct pth_file *f, const char *path, void *data, uint64_t size,
                        struct strbuf *why);
void pth_file_close(struct pth_file *f);

/* Returns the storage of a PICKLE_REF, or NULL, and sets *first to the offset of its
 * view. */
struct pth_storage *pth_file_storage(const struct pth_file *f,
                                     const struct pickle_value *ref, int64_t *first);

/* Reads bytes [offset, offset + size) of a storage. Reads to the end of a zip's storage
 * verify its checksum. */
int pth_file_read(const struct pth_file *f, const struct pth_storage *s, uint64_t offset,
                  uint64_t size, void *data, struct strbuf *why);

#endif
