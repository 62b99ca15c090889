/*
 * State dicts that torch.save wrote: .pth, .pt, .pth.tar, .bin, as zip archives (since
 * PyTorch 1.6) and as streams of pickles (before). Nothing in them is run: tensors are
 * found in the pickle as data (io/pickle.h), and what is made of any other class is
 * passed over, or an error where weights are expected.
 *
 * Checkpoints hold more than weights. The state dict is looked for under the keys that
 * timm looks for (timm/models/_helpers.py), `state_dict_ema` and `model_ema` (if
 * `ema` says so), `state_dict`, `model`, then `module` (DeepSpeed); of `student` and
 * `teacher` (DINO) it is the teacher, or without `ema` the student; else it is the file
 * itself or, if that has no tensors, its only value that is a dict of them (`net`,
 * `model_state_dict`). Its values that are no tensors are left out. Names are as they are
 * in the file.
 *
 *   struct pth p;
 *   if (pth_open(&p, path, true, &why)) ...
 *   pth_read(&p, &p.tensor[0], w, &why);
 *   pth_close(&p);                             also after a failed open
 *
 * Opening checks that each tensor lies within its storage; shared storages and any
 * strides are read. Refused: TorchScript, whole modules, quantized and sparse tensors,
 * numbers with the high byte first, archives from before PyTorch 0.2 (tar).
 */
#ifndef IO_PTH_H
#define IO_PTH_H

#include <stdbool.h>

#include "io/pickle.h"
#include "io/pth_file.h"
#include "io/safetensors.h"

struct pth {
    struct pth_file file;
    struct safetensors_tensor *tensor; /* in the order of the state dict; no offset */
    size_t n;
    struct pth_view {
        struct pth_storage *storage;
        int64_t offset, stride[SAFETENSORS_MAX_DIMS]; /* elements */
    } * view;                                         /* of each tensor */
    uint64_t bytes;                                   /* of all tensors */
    struct strmap index;                              /* name to tensor */
    const char *part;                                 /* "state_dict"; "": the file */
};

int pth_open(struct pth *p, const char *path, bool ema, struct strbuf *why);
void pth_close(struct pth *p);

/* The t->size bytes of one of p->tensor, row-major. */
int pth_read(const struct pth *p, const struct safetensors_tensor *t, void *data,
             struct strbuf *why);

#endif
