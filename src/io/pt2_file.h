/*
 * The archives of torch.export.save (.pt2): the members, and the weights among them as named
 * tensors. The graph is read by pt2/program.h.
 *
 *   NAME/archive_format                              "pt2"
 *   NAME/models/model.json                           the exported program
 *   NAME/data/weights/model_weights_config.json      names, dims, strides
 *   NAME/data/weights/weight_N                       the bytes of a storage
 *   NAME/data/constants/...                          the same for tensors that are no weights
 *
 * PyTorch 2.8 writes NAME/data/weights/model.pt, a file of torch.save (io/pth.h), in place of
 * the configuration and the storages; PyTorch 2.6 and 2.7 write no folder:
 *
 *   serialized_exported_program.json, serialized_state_dict.pt, serialized_constants.pt
 *
 * Nothing in them is executed. Tensors may have any strides and may share a storage;
 * opening checks that each is within its own. Refused: single weights that are pickles,
 * big-endian numbers, and dtypes that other files of weights lack.
 *
 *   struct pt2_file p;
 *   if (pt2_file_open(&p, path, &why)) ...
 *   pt2_file_program(&p, &text, &why);
 *   pt2_file_read(&p, &p.tensor[0], w, &why);
 *   pt2_file_close(&p);                        also after a failed open
 *
 * Functions return -1 and append a reason that begins with the path on errors.
 */
#ifndef IO_PT2_FILE_H
#define IO_PT2_FILE_H

#include <stdbool.h>

#include "io/input.h"
#include "io/pth.h"
#include "io/safetensors.h"

struct zip;

struct pt2_file {
    struct input in; /* owned by the archive */
    struct zip *zip;
    char *folder;   /* "NAME/"; "" for PyTorch 2.6 and 2.7 */
    struct pth pth; /* the tensors, if they are in a file of torch.save */
    struct safetensors_tensor *tensor; /* in the order of the state dict */
    size_t n;
    struct pt2_file_view {
        int64_t entry;                                /* the storage's member */
        int64_t offset, stride[SAFETENSORS_MAX_DIMS]; /* in elements */
    } * view;                                         /* per tensor */
    struct strmap index;                              /* name -> tensor */
    char *classes; /* the extra file of that name, or NULL */
};

/* True if the file is a zip archive with a member NAME/archive_format, or one of PyTorch 2.6. */
bool pt2_file_is(const char *path);

int pt2_file_open(struct pt2_file *p, const char *path, struct strbuf *why);
/* The same with the constants of the archive as the tensors. */
int pt2_file_open_constants(struct pt2_file *p, const char *path, struct strbuf *why);
void pt2_file_close(struct pt2_file *p);

/* Returns the first tensor whose elements another one, *other, may share in another shape,
 * or NULL. */
const struct safetensors_tensor *pt2_file_shared(const struct pt2_file *p,
                                                 const struct safetensors_tensor **other);

/* Returns the name of the first tensor before t with the same elements in the same shape,
 * or NULL. */
const char *pt2_file_tied(const struct pt2_file *p, const struct safetensors_tensor *t);

/* Appends the text of the member `name`, which is below the archive's folder. */
int pt2_file_text(const struct pt2_file *p, const char *name, struct strbuf *text,
                  struct strbuf *why);

/* Appends the text of a file of save(..., extra_files={NAME: ...}), or nothing if it is absent.
 * scripts/export_pt2.py writes "classes" and "input". */
int pt2_file_extra(const struct pt2_file *p, const char *name, struct strbuf *text,
                   struct strbuf *why);

/* Appends the exported program, as JSON. Infinities and NaNs, which PyTorch 2.6 writes as bare
 * words, become texts, as later versions write them. */
int pt2_file_program(const struct pt2_file *p, struct strbuf *text, struct strbuf *why);

/* Reads the t->size bytes of a tensor of p->tensor, row-major. */
int pt2_file_read(const struct pt2_file *p, const struct safetensors_tensor *t,
                  void *data, struct strbuf *why);

#endif
