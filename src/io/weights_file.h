/*
 * A file of named tensors to read weights from: safetensors (of any writer) or PyTorch's
 * torch.save (io/pth.h) or torch.export.save (io/pt2_file.h).
 *
 *   struct weights_file f;
 *   if (weights_file_open(&f, path, true, &why)) ...
 *   const struct safetensors_tensor *t = weights_file_find(&f, "conv1.weight");
 *   weights_file_read(&f, t, w, &why);
 *   weights_file_close(&f);                    also after a failed open
 *
 * Functions return -1 and append a reason that begins with the path on errors.
 */
#ifndef IO_WEIGHTS_FILE_H
#define IO_WEIGHTS_FILE_H

#include "io/pt2_file.h"
#include "io/pth.h"
#include "io/safetensors.h"

struct weights_file {
    const char *path;
    const struct safetensors_tensor *tensor;
    size_t n;
    const char *part; /* the part of a PyTorch checkpoint that is read: "state_dict_ema";
                       * "": the whole file */
    bool by_trainc;   /* written by trainc */
    bool torch, pt2;  /* of torch.save, of torch.export.save */
    struct safetensors safetensors;
    struct pth pth;
    struct pt2_file archive;
};

/* `ema`: reads the EMA weights of a PyTorch checkpoint, if present. */
int weights_file_open(struct weights_file *f, const char *path, bool ema,
                      struct strbuf *why);
void weights_file_close(struct weights_file *f);

/* Reads the whole file and compares its checksum. Succeeds without reading if the file
 * has none, unless trainc wrote it. */
int weights_file_verify(const struct weights_file *f, struct strbuf *why);

/* Return NULL if there is no such tensor or key. PyTorch files have no keys, archives
 * of torch.export.save at most "classes". */
const struct safetensors_tensor *weights_file_find(const struct weights_file *f,
                                                   const char *name);
const char *weights_file_meta(const struct weights_file *f, const char *key);

/* Reads the t->size bytes of one tensor, row-major. */
int weights_file_read(const struct weights_file *f, const struct safetensors_tensor *t,
                      void *data, struct strbuf *why);

#endif
