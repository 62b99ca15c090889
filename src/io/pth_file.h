/*
 * The containers of torch.save: where a file has its pickle, and the bytes of the
 * storages that the pickle speaks of.
 *
 *   zip      NAME/data.pkl, NAME/data/KEY for each storage, NAME/byteorder
 *   stream   pickles of a magic number, a version, a description of the machine, the
 *            object, and the keys of its storages; then, for each key, a count in 64 bits
 *            and so many elements
 *
 * A storage is what the pickle refers to as ('storage', type, key, place, elements). All
 * functions append a reason that begins with the path.
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
    bool untyped; /* its elements are bytes */
    int64_t n;    /* elements */
    uint64_t at;  /* stream: of its first byte; zip: its index */
};

struct pth_file {
    struct input in; /* of a zip, the archive has it */
    struct zip *zip; /* zip, else NULL */
    char *folder;    /* zip: "NAME/" */
    struct pickle object;
    uint64_t inflated;     /* zip: bytes of the compressed storages */
    struct strmap storage; /* key to struct pth_storage */
};

/*
 * What compressed storages, and what all tensors, may take together: so many times the
 * file's size, and 64 MiB. A small file must not become a large one.
 */
enum { PTH_FILE_TIMES = 16 };
uint64_t pth_file_limit(const struct pth_file *f);

int pth_file_open(struct pth_file *f, const char *path, struct strbuf *why);
void pth_file_close(struct pth_file *f);

/* The storage of a PICKLE_REF, and in *first where a view of it begins; NULL: none. */
struct pth_storage *pth_file_storage(const struct pth_file *f,
                                     const struct pickle_value *ref, int64_t *first);

/* Bytes [offset, offset + size) of a storage; all of a zip's are checked by their sum. */
int pth_file_read(const struct pth_file *f, const struct pth_storage *s, uint64_t offset,
                  uint64_t size, void *data, struct strbuf *why);

#endif
