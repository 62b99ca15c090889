/*
 * A file of named tensors to read weights from, whatever wrote it: safetensors (ours or
 * anybody's) or PyTorch's torch.save (io/pth.h).
 *
 *   struct weights_file f;
 *   if (weights_file_open(&f, path, true, &why)) ...
 *   const struct safetensors_tensor *t = weights_file_find(&f, "conv1.weight");
 *   weights_file_read(&f, t, w, &why);
 *   weights_file_close(&f);                    also after a failed open
 *
 * -1 is returned with a reason appended that begins with the path.
 */
#ifndef IO_WEIGHTS_FILE_H
#define IO_WEIGHTS_FILE_H

#include "io/pth.h"
#include "io/safetensors.h"

struct weights_file {
    const char *path;
    const struct safetensors_tensor *tensor;
    size_t n;
    const char *part; /* the part of a PyTorch checkpoint: "state_dict_ema"; "": all */
    bool ours;        /* a checkpoint of trainc */
    bool torch;
    struct safetensors safetensors;
    struct pth pth;
};

/* `ema`: if a PyTorch checkpoint has EMA weights, those are read. */
int weights_file_open(struct weights_file *f, const char *path, bool ema,
                      struct strbuf *why);
void weights_file_close(struct weights_file *f);

/* Reads a file that trainc wrote whole and compares its checksum; others have none. */
int weights_file_verify(const struct weights_file *f, struct strbuf *why);

/* NULL: no such tensor, no such key (PyTorch's files have none). */
const struct safetensors_tensor *weights_file_find(const struct weights_file *f,
                                                   const char *name);
const char *weights_file_meta(const struct weights_file *f, const char *key);

/* The t->size bytes of one tensor, row-major. */
int weights_file_read(const struct weights_file *f, const struct safetensors_tensor *t,
                      void *data, struct strbuf *why);

#endif
