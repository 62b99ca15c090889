/*
 * State dicts written by torch.save: .pth, .pt, .pth.tar, and .bin, as zip archives
 * (since PyTorch 1.6) and as streams of pickles (before). Nothing in them is executed:
 * tensors are read as data of the pickle (io/pickle.h); objects of other classes are
 * skipped, or are an error in place of weights.
 *
 * Checkpoints contain more than weights. The state dict is searched for under the keys
 * that timm uses (timm/models/_helpers.py): `state_dict_ema` and `model_ema` (with
 * `ema`), `state_dict`, `model`, then `module` (DeepSpeed). Of `student` and `teacher`
 * (DINO), the teacher is used, or without `ema` the student. Otherwise it is the file
 * itself or, if that has no tensors, its only value that is a dict of tensors (`net`,
 * `model_state_dict`). Values that are not tensors are skipped. Names are as in the file.
 *
 *   struct pth p;
 *   if (pth_open(&p, path, true, &why)) ...
 *   pth_read(&p, &p.tensor[0], w, &why);
 *   pth_close(&p);                             also after a failed open
 *
 * Opening checks that each tensor is within its storage. Shared storages and any strides
 * are supported. Refused: TorchScript, whole modules, quantized and sparse tensors,
 * big-endian numbers, and archives from before PyTorch 0.2 (tar).
 */
#ifndef IO_PTH_H
#define IO_PTH_H

#include <stdbool.h>

#include "io/pickle.h"
#include "io/pth_file.h"
#include "io/safetensors.h"

struct pth {
    struct pth_file file;
    struct safetensors_tensor *tensor; /* in the order of the state dict; offset is
                                        * unused */
    size_t n;
    struct pth_view {
        struct pth_storage *storage;
        int64_t offset, stride[SAFETENSORS_MAX_DIMS]; /* in elements */
    } * view;                                         /* per tensor */
    uint64_t bytes;                                   /* of all tensors */
    struct strmap index;                              /* name -> tensor */
    const char *part;                                 /* "state_dict"; "": the whole
                                                       * file */
};

int pth_open(struct pth *p, const char *path, bool ema, struct strbuf *why);
/* The same for a zip archive in memory, which it frees: a part of the file `path`. It may
 * have no tensors. */
int pth_open_bytes(struct pth *p, const char *path, void *data, uint64_t size,
                   struct strbuf *why);
void pth_close(struct pth *p);

/* Reads the t->size bytes of a tensor of p->tensor, row-major. */
int pth_read(const struct pth *p, const struct safetensors_tensor *t, void *data,
             struct strbuf *why);

#endif
